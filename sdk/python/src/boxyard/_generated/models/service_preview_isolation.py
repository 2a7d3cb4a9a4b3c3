from enum import StrEnum


class ServicePreviewIsolation(StrEnum):
    FORK = "fork"
    PROCESS = "process"

    def __str__(self) -> str:
        return str(self.value)
