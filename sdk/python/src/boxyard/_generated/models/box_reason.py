from enum import StrEnum


class BoxReason(StrEnum):
    CREATING = "creating"
    DELETING = "deleting"
    EXITED = "exited"
    FAILED = "failed"
    HOST_LOST = "host_lost"
    IDLE = "idle"
    OUT_OF_MEMORY = "out_of_memory"
    READY = "ready"
    RESIZING = "resizing"
    RESTORING = "restoring"
    STARTING = "starting"
    STOPPED_BY_REQUEST = "stopped_by_request"
    STOPPING = "stopping"

    def __str__(self) -> str:
        return str(self.value)
