from enum import StrEnum


class TicketRequestOperation(StrEnum):
    GETSERVICELOGS = "getServiceLogs"
    LISTFILES = "listFiles"
    OPENCONSOLE = "openConsole"
    OPENPORT = "openPort"
    READARCHIVE = "readArchive"
    READFILE = "readFile"
    STREAMEXEC = "streamExec"
    WRITEARCHIVE = "writeArchive"
    WRITEFILE = "writeFile"

    def __str__(self) -> str:
        return str(self.value)
