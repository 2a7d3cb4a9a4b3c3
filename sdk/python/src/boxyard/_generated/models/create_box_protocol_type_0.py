from enum import StrEnum


class CreateBoxProtocolType0(StrEnum):
    H2C = "h2c"
    HTTP = "http"

    def __str__(self) -> str:
        return str(self.value)
