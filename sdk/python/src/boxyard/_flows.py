"""
The client's logic without input and output. A flow yields what to do next (an effect), and is sent the result. Drivers run the effects. One
driver blocks and the other awaits, with the same flows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from itertools import count
from time import monotonic
from typing import Any, Generic, Literal, TypeAlias, TypeVar
from urllib.parse import urljoin
from uuid import uuid4

import httpx

from ._addresses import HTTP, check_address, has_same_origin, origin_of, service_origin
from ._answers import parse_answer
from ._calls import Answer, Call
from ._errors import ConnectionError
from ._generated.marks import OPERATIONS
from ._problems import to_api_error, unexpected
from ._retries import pause_after_answer, pause_after_silence

T = TypeVar("T")


@dataclass(frozen=True)
class Exchange:
    """Sends a request, and returns its ``httpx.Response``. Raises ``ConnectionError`` if none came."""

    #: Arguments of ``httpx.Client.build_request``.
    request: Mapping[str, Any] = field(repr=False)
    #: Leaves the body of a successful answer unread.
    is_streamed: bool = False


@dataclass(frozen=True)
class Pause:
    """Waits."""

    seconds: float


@dataclass(frozen=True)
class OpenSocket:
    """Opens a WebSocket. Raises the ``ApiError`` of a refusal, and ``ConnectionError``."""

    #: The URL may hold a ticket, and the headers a token.
    url: str = field(repr=False)
    protocol: str
    headers: Mapping[str, str] = field(repr=False)


Effect: TypeAlias = Exchange | Pause | OpenSocket
Flow: TypeAlias = Generator[Effect, Any, T]


class Steps(Generic[T]):
    """A flow as a driver runs it. The driver runs each effect of ``next``, and reports its result."""

    #: Result of the flow, once ``next`` has returned None.
    result: T

    def __init__(self, flow: Flow[T]) -> None:
        """Starts before the first effect."""
        self._flow = flow
        self._given: Any = None
        self._error: Exception | None = None

    def next(self) -> Effect | None:
        """Returns the next effect, or None at the end. Raises the errors of the flow."""
        given, error, self._given, self._error = self._given, self._error, None, None
        try:
            return self._flow.send(given) if error is None else self._flow.throw(error)
        except StopIteration as end:
            self.result = end.value
            return None

    def give(self, given: object) -> None:
        """Reports the result of an effect."""
        self._given = given

    def fail(self, error: Exception) -> None:
        """Reports the error of an effect."""
        self._error = error


@dataclass
class Session:
    """A service, from the view of one client."""

    #: Origin of the service, without a final slash.
    url: str
    #: Called for each request, so that a renewed token takes effect.
    token: Callable[[], str | None]
    #: How often a request is sent until it gets a final answer.
    attempts: int
    #: Whether streams need tickets. The first refused stream determines it.
    needs_tickets: bool

    def authorization(self) -> dict[str, str]:
        """
        The authorization header of a token. Ignores white space around it, because files and variables often end with a line break. Raises
        ``ValueError``, without the token, if it is empty or no header can hold it.
        """
        given = self.token()
        if given is None:
            return {}
        token = given.strip()
        if not token:
            raise ValueError("The token is empty. Check the file or variable that it comes from.")
        if not _TOKEN.fullmatch(token):
            raise ValueError("The token contains an invalid character, such as a line break.")
        return {"Authorization": f"Bearer {token}"}


def open_session(url: str, token: str | Callable[[], str | None] | None, tickets: Literal["auto", "always"], attempts: int) -> Session:
    """Starts without knowledge of the service. Sends no request. Raises ``ValueError`` for a URL that is not an origin."""
    return Session(service_origin(url), token if callable(token) else lambda: token, attempts, tickets == "always")


def send(session: Session, call: Call[object], *, is_streamed: bool = False) -> Flow[httpx.Response]:
    """Sends a request until it gets a final answer. Sends a body other than ``bytes`` once. Raises ``ApiError``, ``ConnectionError``."""
    _, mark = OPERATIONS[call.operation]
    headers = {**({"Idempotency-Key": str(uuid4())} if mark == "key" else {}), **call.request.get("headers", {})}
    attempts = session.attempts if can_repeat(call) else 1
    for attempt in count(1):
        request = {**call.request, "url": session.url + call.request["url"], "headers": {**session.authorization(), **headers}}
        try:
            response = yield from _exchange(request, is_streamed)
        except ConnectionError:
            pause = pause_after_silence(mark, attempt)
            if attempt >= attempts or pause is None:
                raise
        else:
            if response.is_success:
                return response
            pause = pause_after_answer(response, mark, attempt)
            if attempt >= attempts or pause is None:
                raise to_api_error(response.status_code, response.content)
        yield Pause(pause)
    raise AssertionError("attempts end by an answer or an error")


def _exchange(request: Mapping[str, Any], is_streamed: bool) -> Flow[httpx.Response]:
    """Sends a request. Follows the redirect of a read whose answer the front cannot carry. Sends nothing else to another origin."""
    url = str(httpx.URL(request["url"], params=request.get("params") or {}))
    following = request
    for _ in range(1 + _REDIRECTS):
        response: httpx.Response = yield Exchange(following, is_streamed)
        if not response.has_redirect_location:
            return response
        target = urljoin(url, response.headers["location"])
        if response.status_code != 307 or request["method"] != "GET":
            raise unexpected(response.status_code, f"The service redirects to {origin_of(target)}, which this client does not follow.")
        check_address(url, target, HTTP)
        headers = dict(following.get("headers", {}))
        if not has_same_origin(url, target):
            headers = {key: value for key, value in headers.items() if key.lower() in _SENT_ELSEWHERE}
        following = {"method": "GET", "url": target, "headers": headers}
        url = target
    raise unexpected(307, f"The service redirects more than {_REDIRECTS} times.")


class Pace:
    """Spaces long-poll requests. If the service answers at once with nothing, the client asks once a second."""

    def __init__(self) -> None:
        """Starts with the first request."""
        self._next = 0.0

    def reset(self) -> None:
        """Reports that something arrived. The next request then goes out at once."""
        self._next = 0.0

    def wait(self) -> Flow[None]:
        """Waits until a second after the last request that it allowed."""
        left = self._next - monotonic()
        if left > 0:
            yield Pause(left)
        self._next = monotonic() + 1


def can_repeat(call: Call[object]) -> bool:
    """Whether the body of a request can be sent again."""
    return isinstance(call.request.get("content", b""), bytes)


def ask_fully(session: Session, call: Call[T]) -> Flow[Answer[T]]:
    """Sends a request, and reads its answer with status and headers."""
    response = yield from send(session, call)
    return Answer(response.status_code, response.headers, parse_answer(call, response))


def ask(session: Session, call: Call[T]) -> Flow[T]:
    """Sends a request, and reads its answer."""
    answer = yield from ask_fully(session, call)
    return answer.body


#: One redirect to the data address, and one to its new location.
_REDIRECTS = 2
#: Headers that another origin also gets. They select bytes, and do not identify the client.
_SENT_ELSEWHERE = frozenset({"accept", "range", "if-none-match", "x-request-id"})
_TOKEN = re.compile(r"[\x21-\x7e]+")
