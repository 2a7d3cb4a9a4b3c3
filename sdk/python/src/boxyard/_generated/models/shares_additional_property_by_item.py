from enum import StrEnum


class SharesAdditionalPropertyByItem(StrEnum):
    BOX = "box"
    PROJECT = "project"
    TOKEN = "token"

    def __str__(self) -> str:
        return str(self.value)
