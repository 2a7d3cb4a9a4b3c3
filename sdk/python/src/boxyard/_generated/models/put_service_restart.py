from enum import StrEnum


class PutServiceRestart(StrEnum):
    ALWAYS = "always"
    NEVER = "never"
    ON_FAILURE = "on-failure"

    def __str__(self) -> str:
        return str(self.value)
