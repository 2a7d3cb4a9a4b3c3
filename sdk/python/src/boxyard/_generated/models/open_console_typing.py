from enum import StrEnum


class OpenConsoleTyping(StrEnum):
    ALL = "all"
    NONE = "none"
    ONE = "one"

    def __str__(self) -> str:
        return str(self.value)
