"""The client for programs that block."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Literal, Self, TypeVar

import httpx

from ._calls import Answer, Call, P, PagedCall
from ._flows import Flow, ask, ask_fully, open_session, send
from ._generated.models.create_box import CreateBox
from ._generated.models.event import Event
from ._generated.models.operation import Operation
from ._sync_box import BoxHandle
from ._sync_driver import ByteStream, Driver
from ._waits import Deadline, create_box, next_events, wait_for_operation

T = TypeVar("T")
I = TypeVar("I")  # noqa: E741


class Boxyard:
    """A client of one service with one token. Threads may share it."""

    def __init__(
        self,
        url: str,
        token: str | Callable[[], str | None] | None = None,
        *,
        tickets: Literal["auto", "always"] = "auto",
        attempts: int = 6,
        ssl_context: ssl.SSLContext | None = None,
        http_client: httpx.Client | None = None,
    ) -> None:
        """
        Sends no request yet.

        ``url`` is the origin of the service, such as ``http://127.0.0.1:8080``. Without a scheme it means HTTPS, except for this machine.
        Raises ``ValueError`` for other URLs. ``token`` is an access token, or a function that returns the current one for each request.
        White space around it is ignored. With ``tickets="auto"`` the client uses tickets where the front cannot stream. With ``always`` it
        streams only through the data address. ``attempts`` is how often it sends a request until it gets an answer, with pauses that double
        from 0.1 s. ``http_client`` replaces its own HTTP client, and ``close`` leaves it open.
        """
        self._session = open_session(url, token, tickets, attempts)
        self._driver = Driver(http_client, ssl_context)

    def call(self, call: Call[T]) -> T:
        """Sends a request of ``boxyard.operations``. Raises ``ApiError``, ``ConnectionError``."""
        return self._driver.run(ask(self._session, call))

    def call_fully(self, call: Call[T]) -> Answer[T]:
        """The same, with status and headers of the answer."""
        return self._driver.run(ask_fully(self._session, call))

    def transfer(self, call: Call[object]) -> ByteStream:
        """Sends a request whose answer is bytes, which are not held in memory."""
        return ByteStream(self._driver.run(send(self._session, call, is_streamed=True)))

    def list(self, call: PagedCall[P, I]) -> Iterator[I]:
        """Iterates over a list of any length, such as ``list_boxes(project)``, one page at a time on demand."""
        return self._driver.list(self._session, call)

    def events(
        self,
        project: str,
        *,
        since: str | None = None,
        types: Sequence[str] | None = None,
        on_cursor: Callable[[str], None] | None = None,
    ) -> Iterator[Event]:
        """
        Follows the events of a project (``-`` for all) without end, across fronts and restarts of the service.

        ``since`` is a cursor, a time or ``now``. By default it is the oldest event that the service keeps. ``types`` are such as
        ``box.created`` or ``box.*``. The client calls ``on_cursor`` after each page with the cursor from which to resume later. Raises
        ``CursorExpiredError``. Then list the current resources, and continue from ``now``.
        """
        forever = Deadline(None)
        while True:
            page = self._run(next_events(self._session, project, since, types, forever))
            yield from page.events
            since = page.next_cursor
            if on_cursor is not None:
                on_cursor(since)

    def wait_for_operation(self, operation: str, *, timeout: float | None = None) -> Operation:
        """
        Waits for the end of an operation, given by its id or ``Operation-Location``.

        Raises ``ApiError`` with its problem if it failed, and ``TimeoutError`` after ``timeout`` seconds.
        """
        return self._run(wait_for_operation(self._session, operation, timeout))

    def create_box(self, project: str, body: CreateBox) -> BoxHandle:
        """Creates a box, and waits until it runs or failed to start."""
        self._run(create_box(self._session, project, body))
        return self.box(project, body.name)

    def box(self, project: str, name: str) -> BoxHandle:
        """Returns a handle of an existing box. Sends no request."""
        return BoxHandle(self._driver, self._session, project, name)

    def close(self) -> None:
        """Closes idle connections. Open streams stay open."""
        self._driver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        self.close()

    def _run(self, flow: Flow[T]) -> T:
        return self._driver.run(flow)
