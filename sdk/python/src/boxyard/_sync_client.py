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
        Sends nothing yet.

        ``url`` is the origin of the service, such as ``http://127.0.0.1:8080``; ``token`` an access token, or where to read it anew
        for each request. ``tickets``: ``auto`` takes them where the front cannot stream, ``always`` streams by the data address alone.
        ``attempts``: how often a request is sent until it is answered, with pauses that double from 0.1 s. ``http_client`` replaces the
        client that is made here, and is left open by ``close``.
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
        """Goes through a list of any length, such as ``list_boxes(project)``, a page at a time as it is read."""
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
        Follows the events of a project, ``-`` for all, without an end, over every front and every restart of the service.

        ``since`` is a cursor, a time or ``now``; left out: from the oldest event that is kept.
        ``types``: such as ``box.created`` or ``box.*``. ``on_cursor`` is told after each page, for a program that goes on later.
        Raises ``CursorExpiredError``: list what there is, and go on from ``now``.
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
        Waits for the end of an operation, an id or what ``Operation-Location`` says.

        Raises ``ApiError`` with its problem if it failed, ``TimeoutError`` after ``timeout`` seconds.
        """
        return self._run(wait_for_operation(self._session, operation, timeout))

    def create_box(self, project: str, body: CreateBox) -> BoxHandle:
        """Makes a box, and waits until it runs or could not be started."""
        self._run(create_box(self._session, project, body))
        return self.box(project, body.name)

    def box(self, project: str, name: str) -> BoxHandle:
        """A box that is there already; asks nothing."""
        return BoxHandle(self._driver, self._session, project, name)

    def close(self) -> None:
        """Closes the connections that are kept; streams that are open stay so."""
        self._driver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        self.close()

    def _run(self, flow: Flow[T]) -> T:
        return self._driver.run(flow)
