"""Waits for operations and states of boxes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from time import monotonic

from ._answers import check_id
from ._calls import Call
from ._flows import Flow, Pace, Session, ask, ask_fully
from ._generated.api.boxes.create_box import create_box as create_box_call
from ._generated.api.boxes.get_box import get_box
from ._generated.api.events.list_events import list_events
from ._generated.api.system.get_operation import get_operation
from ._generated.models.box import Box
from ._generated.models.box_status import BoxStatus
from ._generated.models.create_box import CreateBox
from ._generated.models.event_list import EventList
from ._generated.models.operation import Operation
from ._generated.models.operation_status import OperationStatus
from ._generated.types import UNSET
from ._problems import error_of

_LONGEST_WAIT_SECONDS = 25


class Deadline:
    """The time limit of a wait."""

    def __init__(self, timeout: float | None) -> None:
        """Starts now. ``timeout`` is in seconds, or None for no limit."""
        self._end = math.inf if timeout is None else monotonic() + timeout

    def next_wait(self) -> int:
        """Whole seconds that the next request can wait. Raises ``TimeoutError`` once none are left."""
        left = self._end - monotonic()
        if left <= 0:
            raise TimeoutError("The wait timed out.")
        return _LONGEST_WAIT_SECONDS if left > _LONGEST_WAIT_SECONDS else math.ceil(left)


def create_box(session: Session, project: str, body: CreateBox) -> Flow[None]:
    """Creates a box, and waits until it runs or failed to start."""
    answer = yield from ask_fully(session, create_box_call(project, body=body))
    operation = answer.headers.get("operation-location")
    if operation is not None:
        yield from wait_for_operation(session, _id_in(operation), None)


def settle_box(session: Session, call: Call[Box], project: str, name: str) -> Flow[Box]:
    """Sends the request that stops or resumes a box, and waits until that is done."""
    answer = yield from ask_fully(session, call)
    operation = answer.headers.get("operation-location")
    if answer.status != 202 or operation is None:
        return answer.body
    yield from wait_for_operation(session, _id_in(operation), None)
    return (yield from ask(session, get_box(project, name)))


def wait_for_operation(session: Session, operation: str, timeout: float | None) -> Flow[Operation]:
    """Waits for the end of an operation, given by its id or ``Operation-Location``. Raises ``ApiError`` with its problem if it failed."""
    deadline = Deadline(timeout)
    pace = Pace()
    while True:
        yield from pace.wait()
        found = yield from ask(session, get_operation(operation.rpartition("/")[2], wait_seconds=deadline.next_wait()))
        if found.status == OperationStatus.FAILED:
            problem = {} if found.error is None else found.error.to_dict()
            raise error_of(409, problem, problem)
        if found.status == OperationStatus.DONE:
            return found


def wait_for_box(session: Session, project: str, name: str, status: BoxStatus, timeout: float | None) -> Flow[Box]:
    """Waits until a box has a status. Raises ``BoxNotFoundError`` once it is gone."""
    deadline = Deadline(timeout)
    pace = Pace()
    events = yield from ask(session, list_events(project, since="now"))
    while True:
        box = yield from ask(session, get_box(project, name))
        if box.status == status:
            return box
        has_changed = False
        while not has_changed:
            yield from pace.wait()
            events = yield from next_events(session, project, events.next_cursor, ("box.*",), deadline)
            if events.events:
                pace.reset()
            has_changed = any(event.resource.endswith(f"/boxes/{name}") for event in events.events)


def next_events(session: Session, project: str, since: str | None, types: Sequence[str] | None, deadline: Deadline) -> Flow[EventList]:
    """Returns the events after a cursor, or none after some seconds. Returns at once for the cursor ``now``."""
    wait_seconds = 0 if since == "now" else deadline.next_wait()
    call = list_events(
        project,
        since=UNSET if since is None else since,
        type_=UNSET if types is None else list(types),
        wait_seconds=wait_seconds,
    )
    return (yield from ask(session, call))


def _id_in(location: str) -> str:
    return check_id(location.rpartition("/")[2])
