from enum import StrEnum


class StreamExecStart(StrEnum):
    MESSAGE = "message"
    QUERY = "query"

    def __str__(self) -> str:
        return str(self.value)
