"""Commands: run to their end over HTTP, and followed from an offset on."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, TypeVar
from uuid import uuid4

import httpx

from ._answers import check_id
from ._calls import Call
from ._errors import ApiError, ConnectionError
from ._flows import Exchange, Flow, Pace, Pause, Session, Steps, ask
from ._generated.api.exec_.create_exec import create_exec
from ._generated.api.exec_.get_exec import get_exec
from ._generated.api.exec_.get_exec_output import get_exec_output
from ._generated.api.exec_.signal_exec import signal_exec
from ._generated.models.exec_ import Exec
from ._generated.models.exec_request import ExecRequest
from ._generated.models.exec_signal import ExecSignal
from ._generated.models.exec_signal_signal import ExecSignalSignal
from ._generated.models.exec_status import ExecStatus
from ._generated.models.get_exec_encoding import GetExecEncoding
from ._generated.models.get_exec_output_encoding import GetExecOutputEncoding
from ._generated.models.get_exec_output_stream import GetExecOutputStream
from ._generated.types import UNSET, Unset
from ._problems import unexpected
from ._terminal import ExecEnd, OutputPiece, StreamName, end_by_code

T = TypeVar("T")

#: Effect of a cancellation on a command: ``end`` stops it, ``detach`` leaves it running.
OnCancel = Literal["end", "detach"]

_AWAY = frozenset({502, 503, 504})
#: Statuses of a service that has not started the command.
_WITHOUT_EFFECT = frozenset({429, 503})
#: Short, so that the id for ending the command arrives soon. Most commands have ended by then.
_FIRST_WAIT_SECONDS = 1
_REPEATS = 20
#: Reads during an outage of the service, a second apart, for some minutes.
_PATIENCE = 120


class ExecRun:
    """A command that runs to its end, however long it takes, and that an interrupted caller can end."""

    def __init__(self, session: Session, project: str, name: str, body: ExecRequest) -> None:
        """Sends no request yet."""
        self._session = session
        self._box = (project, name)
        self._encoding = UNSET if isinstance(body.encoding, Unset) else GetExecEncoding(str(body.encoding))
        call = create_exec(project, name, body=body, wait_seconds=_FIRST_WAIT_SECONDS)
        # A repeat with the same key finds the command that the first one started.
        headers = {**call.request.get("headers", {}), "Idempotency-Key": str(uuid4())}
        self._call = replace(call, request={**call.request, "headers": headers})
        self._may_run = False
        self._found: Exec | None = None

    def run(self) -> Flow[Exec]:
        """Starts the command, and waits for its end."""
        found = self._found = yield from self._start()
        exec_id = check_id(found.id)
        pace = Pace()
        while found.status == ExecStatus.RUNNING:
            yield from pace.wait()
            found = yield from ask(self._session, get_exec(*self._box, exec_id, wait_seconds=25, encoding=self._encoding))
        return found

    def _start(self) -> Flow[Exec]:
        """Starts the command, and notes whether it may be running. It is not if the request had no effect, or never reached the service."""
        steps = Steps(ask(self._session, self._call))
        while (effect := steps.next()) is not None:
            before = self._may_run
            self._may_run = before or isinstance(effect, Exchange)
            try:
                given = yield effect
            except ConnectionError as error:
                if isinstance(error.__cause__, httpx.ConnectError | httpx.ConnectTimeout):
                    self._may_run = before
                steps.fail(error)
            else:
                if isinstance(effect, Exchange) and given.status_code in _WITHOUT_EFFECT:
                    self._may_run = before
                steps.give(given)
        return steps.result

    def end(self) -> Flow[None]:
        """Ends the command, even if the answer to its start has not arrived."""
        if not self._may_run:
            return
        session = replace(self._session, attempts=1)
        found = self._found
        for attempt in range(_REPEATS):
            try:
                found = found or (yield from ask(session, self._call))
            except ApiError as error:
                if error.code != "idempotency_in_progress" or attempt == _REPEATS - 1:
                    raise
                yield Pause(0.2)
        if found is not None and found.status == ExecStatus.RUNNING:
            yield from end_exec(session, *self._box, check_id(found.id))


def end_exec(session: Session, project: str, name: str, exec_id: str) -> Flow[None]:
    """Ends a command. Sends SIGTERM, and kills the rest after 2 s."""
    yield from ask(session, signal_exec(project, name, exec_id, body=ExecSignal(ExecSignalSignal.SIGTERM)))
    found = yield from ask(session, get_exec(project, name, exec_id, wait_seconds=2))
    if found.status == ExecStatus.RUNNING:
        yield from ask(session, signal_exec(project, name, exec_id, body=ExecSignal(ExecSignalSignal.SIGKILL)))


class ExecFollower:
    """Follows a command over HTTP from these offsets to its end, across restarts of the service."""

    def __init__(self, session: Session, box: tuple[str, str], exec_id: str, offsets: Mapping[StreamName, int]) -> None:
        """Starts at ``offsets``, in bytes. Sends no request yet."""
        self._session = session
        self._path = (*box, check_id(exec_id))
        self._open = dict(offsets)
        self._wait_seconds = 0
        self._pace = Pace()
        #: How the command ended, once all its output was read.
        self.end: ExecEnd | None = None

    def step(self) -> Flow[list[OutputPiece]]:
        """Returns the available output, or waits a second or two for some. Sets ``end`` after the last of it."""
        pieces: list[OutputPiece] = []
        was_open = len(self._open)
        for stream, offset in list(self._open.items()):
            page = yield from self._persist(
                get_exec_output(
                    *self._path,
                    stream=GetExecOutputStream(stream),
                    offset=offset,
                    encoding=GetExecOutputEncoding.BASE64,
                    wait_seconds=self._wait_seconds,
                )
            )
            data = _bytes_of(page.data)
            # Otherwise the same bytes would repeat forever.
            if page.next_offset < offset + len(data):
                raise unexpected(200, f"The service sent {len(data)} bytes from offset {offset}, and the next offset {page.next_offset}.")
            self._open[stream] = page.next_offset
            if data:
                pieces.append(OutputPiece(stream, data))
            if page.end:
                del self._open[stream]
        # While both streams are empty, waits for one and the other alternately.
        if pieces or len(self._open) < was_open:
            self._pace.reset()
        else:
            yield from self._pace.wait()
        self._wait_seconds = 0 if pieces else 1
        if not self._open:
            self.end = yield from self._find_end()
        return pieces

    def _find_end(self) -> Flow[ExecEnd]:
        while True:
            yield from self._pace.wait()
            found = yield from self._persist(get_exec(*self._path, wait_seconds=25))
            if found.status != ExecStatus.RUNNING:
                return end_of(found)

    def _persist(self, call: Call[T]) -> Flow[T]:
        for _ in range(_PATIENCE):
            try:
                return (yield from ask(self._session, call))
            except ConnectionError:
                yield Pause(1)
            except ApiError as error:
                if error.status not in _AWAY:
                    raise
                yield Pause(1)
        return (yield from ask(self._session, call))


def end_of(found: Exec) -> ExecEnd:
    """How the command of a record ended. An unknown code is None, never a guess."""
    # A status that a newer service added is plain text.
    reason = None if found.reason is None else str(found.reason)
    shortage = f"Out of memory: {found.oom_kills} processes were killed." if found.oom_kills > 0 else None
    if found.exit_code is not None:
        return replace(end_by_code(found.exit_code, shortage), reason=reason, oom_kills=found.oom_kills)
    if found.signal is None:
        return ExecEnd(None, f"The command is {found.status}.")
    number = _SIGNALS.get(found.signal)
    return ExecEnd(None if number is None else 128 + number, shortage or found.signal, reason, found.oom_kills)


def _bytes_of(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise unexpected(200, "The service sent output that is not base64.") from error


#: Signals that end commands, with Linux numbers. The platform of this program may number them differently.
_SIGNALS: Mapping[str, int] = {
    "SIGHUP": 1,
    "SIGINT": 2,
    "SIGQUIT": 3,
    "SIGILL": 4,
    "SIGTRAP": 5,
    "SIGABRT": 6,
    "SIGBUS": 7,
    "SIGFPE": 8,
    "SIGKILL": 9,
    "SIGUSR1": 10,
    "SIGSEGV": 11,
    "SIGUSR2": 12,
    "SIGPIPE": 13,
    "SIGALRM": 14,
    "SIGTERM": 15,
    "SIGXCPU": 24,
    "SIGXFSZ": 25,
    "SIGSYS": 31,
}
