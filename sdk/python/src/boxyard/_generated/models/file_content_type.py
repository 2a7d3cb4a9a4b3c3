from enum import StrEnum


class FileContentType(StrEnum):
    BLOCK = "block"
    CHARACTER = "character"
    DIRECTORY = "directory"
    FIFO = "fifo"
    FILE = "file"
    SOCKET = "socket"
    SYMLINK = "symlink"

    def __str__(self) -> str:
        return str(self.value)
