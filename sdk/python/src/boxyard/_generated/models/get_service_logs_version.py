from enum import StrEnum


class GetServiceLogsVersion(StrEnum):
    ACTIVE = "active"
    PREVIEW = "preview"
    PREVIOUS = "previous"

    def __str__(self) -> str:
        return str(self.value)
