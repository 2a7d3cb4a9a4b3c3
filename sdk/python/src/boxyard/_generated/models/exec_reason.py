from enum import StrEnum


class ExecReason(StrEnum):
    PROCESS_LIMIT_REACHED = "process_limit_reached"

    def __str__(self) -> str:
        return str(self.value)
