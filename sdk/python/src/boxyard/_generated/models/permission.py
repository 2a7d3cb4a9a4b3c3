from enum import StrEnum


class Permission(StrEnum):
    ADMIN = "admin"
    EXEC = "exec"
    PORTS = "ports"
    READ = "read"
    WRITE = "write"

    def __str__(self) -> str:
        return str(self.value)
