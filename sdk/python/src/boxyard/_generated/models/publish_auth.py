from enum import StrEnum


class PublishAuth(StrEnum):
    PUBLIC = "public"
    TOKEN = "token"

    def __str__(self) -> str:
        return str(self.value)
