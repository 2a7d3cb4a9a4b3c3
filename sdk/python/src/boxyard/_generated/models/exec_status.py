from enum import StrEnum


class ExecStatus(StrEnum):
    EXITED = "exited"
    KILLED = "killed"
    LOST = "lost"
    OUT_OF_MEMORY = "out_of_memory"
    RUNNING = "running"
    TIMED_OUT = "timed_out"

    def __str__(self) -> str:
        return str(self.value)
