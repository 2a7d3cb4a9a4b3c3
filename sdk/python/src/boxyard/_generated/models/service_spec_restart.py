from enum import StrEnum


class ServiceSpecRestart(StrEnum):
    ALWAYS = "always"
    NEVER = "never"
    ON_FAILURE = "on-failure"

    def __str__(self) -> str:
        return str(self.value)
