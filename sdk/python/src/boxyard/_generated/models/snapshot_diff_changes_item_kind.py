from enum import StrEnum


class SnapshotDiffChangesItemKind(StrEnum):
    ADDED = "added"
    DELETED = "deleted"
    MODIFIED = "modified"
    RENAMED = "renamed"

    def __str__(self) -> str:
        return str(self.value)
