from enum import StrEnum


class DeployServiceIsolation(StrEnum):
    FORK = "fork"
    PROCESS = "process"

    def __str__(self) -> str:
        return str(self.value)
