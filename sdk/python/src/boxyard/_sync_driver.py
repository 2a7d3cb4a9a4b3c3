"""Runs the effects of flows one after the other, in the calling thread."""

from __future__ import annotations

import contextlib
import ssl
import time
from collections.abc import Iterator
from threading import Thread
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from ._answers import Gathering, check_encoding
from ._calls import P, PagedCall, PagesSeen
from ._contents import blocking_content
from ._flows import Effect, Exchange, Flow, OpenSocket, Pause, Session, Steps, ask
from ._http import FINISH_SECONDS, TIMEOUT, direct_hosts, no_cookies, unreachable
from ._sync_socket import Socket

T = TypeVar("T")
I = TypeVar("I")  # noqa: E741


class Driver:
    """Runs flows over an HTTP client."""

    def __init__(self, client: httpx.Client | None, ssl_context: ssl.SSLContext | None) -> None:
        """Creates a client if none is given. ``close`` closes only that one."""
        self._ssl_context = ssl_context
        self._is_own = client is None
        self._client = _make_client(ssl_context) if client is None else client

    def run(self, flow: Flow[T]) -> T:
        """Runs the effects of a flow until it returns."""
        steps = Steps(flow)
        while (effect := steps.next()) is not None:
            try:
                steps.give(self._do(effect))
            except Exception as error:
                steps.fail(error)
        return steps.result

    def finish(self, flow: Flow[None]) -> None:
        """Cleans up after an interrupt, for at most 5 s. Drops an error of the flow, because the caller gets the interrupt."""

        def work() -> None:
            with contextlib.suppress(Exception):
                self.run(flow)

        # Uses a thread, because a slow answer has no other time limit. At the end of the program no thread can start.
        thread = Thread(target=work, daemon=True)
        with contextlib.suppress(RuntimeError):
            thread.start()
            thread.join(FINISH_SECONDS)

    def list(self, session: Session, call: PagedCall[P, I]) -> Iterator[I]:
        """Iterates over a list of any length, one page at a time on demand."""
        following: PagedCall[P, I] | None = call
        seen = PagesSeen()
        while following is not None:
            page = self.run(ask(session, following))
            yield from following.items(page)
            following = following.after(page, seen)

    def close(self) -> None:
        """Closes the HTTP client that was created here."""
        if self._is_own:
            self._client.close()

    def _do(self, effect: Effect) -> Any:
        match effect:
            case Pause(seconds):
                time.sleep(seconds)
            case Exchange():
                return self._exchange(effect)
            case OpenSocket():
                return Socket(effect, self._ssl_context)

    def _exchange(self, effect: Exchange) -> httpx.Response:
        content = blocking_content(effect.request.get("content"))
        # A body that is compressed could expand to any length.
        headers = {"Accept-Encoding": "identity", **effect.request.get("headers", {})}
        request = self._client.build_request(**{**effect.request, "content": content, "headers": headers})
        try:
            response = self._client.send(request, stream=True, follow_redirects=False)
            return _stream(response) if effect.is_streamed and response.is_success else _hold(response)
        except httpx.TransportError as error:
            raise unreachable(str(request.url), error) from error


def _make_client(ssl_context: ssl.SSLContext | None) -> httpx.Client:
    verify = ssl_context or True
    # A proxy of the environment cannot reach this machine.
    mounts: dict[str, httpx.BaseTransport | None] = dict.fromkeys(direct_hosts())
    return httpx.Client(timeout=TIMEOUT, verify=verify, cookies=no_cookies(), mounts=mounts)


def _stream(response: httpx.Response) -> httpx.Response:
    try:
        check_encoding(response)
    except BaseException:
        response.close()
        raise
    return response


def _hold(response: httpx.Response) -> httpx.Response:
    try:
        gathering = Gathering(response)
        for piece in response.iter_bytes():
            if not gathering.add(piece):
                break
        return gathering.answer()
    finally:
        response.close()


class ByteStream:
    """Bytes from a box. Iterate over them as they arrive, or read them all."""

    def __init__(self, response: httpx.Response) -> None:
        """Takes an answer with an unread body."""
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._response.iter_bytes()
        except httpx.TransportError as error:
            raise unreachable(str(self._response.url), error) from error
        finally:
            self.close()

    def read(self) -> bytes:
        """Reads the rest."""
        return b"".join(self)

    def close(self) -> None:
        """Discards the rest without reading it."""
        self._response.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        self.close()
