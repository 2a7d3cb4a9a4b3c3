from enum import StrEnum


class SharesAdditionalPropertyRule(StrEnum):
    AT_MOST_FREE = "at_most_free"
    EVICT_OLDEST = "evict_oldest"
    FAIR_QUEUE = "fair_queue"
    PER_ACCOUNT = "per_account"

    def __str__(self) -> str:
        return str(self.value)
