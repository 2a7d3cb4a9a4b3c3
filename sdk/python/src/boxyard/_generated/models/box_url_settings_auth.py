from enum import StrEnum


class BoxUrlSettingsAuth(StrEnum):
    PUBLIC = "public"
    TOKEN = "token"

    def __str__(self) -> str:
        return str(self.value)
