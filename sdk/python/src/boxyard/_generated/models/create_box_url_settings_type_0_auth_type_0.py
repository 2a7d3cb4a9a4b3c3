from enum import StrEnum


class CreateBoxUrlSettingsType0AuthType0(StrEnum):
    PUBLIC = "public"
    TOKEN = "token"

    def __str__(self) -> str:
        return str(self.value)
