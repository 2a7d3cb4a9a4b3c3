from enum import StrEnum


class ProjectTicketRequestOperation(StrEnum):
    CREATEBASE = "createBase"
    LISTEVENTS = "listEvents"

    def __str__(self) -> str:
        return str(self.value)
