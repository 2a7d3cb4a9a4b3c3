from enum import IntEnum


class GetBoxMetricsHistoryStepSeconds(IntEnum):
    VALUE_60 = 60
    VALUE_600 = 600

    def __str__(self) -> str:
        return str(self.value)
