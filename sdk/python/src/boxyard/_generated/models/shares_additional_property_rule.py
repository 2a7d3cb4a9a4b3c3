from enum import StrEnum


class SharesAdditionalPropertyRule(StrEnum):
    EACH = "each"
    LEFT_FREE = "left_free"
    OLDEST_GO = "oldest_go"
    TURNS = "turns"

    def __str__(self) -> str:
        return str(self.value)
