"""Runs the effects of flows in the task that awaits them."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from ._answers import Gathering, check_encoding
from ._calls import P, PagedCall, PagesSeen
from ._contents import awaitable_content
from ._flows import Effect, Exchange, Flow, OpenSocket, Pause, Session, Steps, ask
from ._http import FINISH_SECONDS, TIMEOUT, direct_hosts, no_cookies, unreachable
from ._sockets import open_websocket

T = TypeVar("T")
I = TypeVar("I")  # noqa: E741


class AsyncDriver:
    """Runs flows over an HTTP client."""

    def __init__(self, client: httpx.AsyncClient | None, ssl_context: ssl.SSLContext | None) -> None:
        """Creates a client if none is given. ``close`` closes only that one."""
        self._ssl_context = ssl_context
        self._is_own = client is None
        self._client = _make_client(ssl_context) if client is None else client

    async def run(self, flow: Flow[T]) -> T:
        """Runs the effects of a flow until it returns."""
        steps = Steps(flow)
        while (effect := steps.next()) is not None:
            try:
                steps.give(await self._do(effect))
            except Exception as error:
                steps.fail(error)
        return steps.result

    async def finish(self, flow: Flow[None]) -> None:
        """Cleans up after a cancellation, for at most 5 s. Drops an error of the flow, because the caller gets the cancellation."""
        await self.settle(self.run(flow))

    async def settle(self, work: Coroutine[Any, Any, None]) -> None:
        """Does the same as ``finish``. Continues in the background if it takes longer, or is itself cancelled."""
        task = asyncio.ensure_future(work)
        # Otherwise asyncio would print its error as never retrieved.
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        with contextlib.suppress(Exception):
            await asyncio.wait_for(asyncio.shield(task), FINISH_SECONDS)

    async def list(self, session: Session, call: PagedCall[P, I]) -> AsyncIterator[I]:
        """Iterates over a list of any length, one page at a time on demand."""
        following: PagedCall[P, I] | None = call
        seen = PagesSeen()
        while following is not None:
            page = await self.run(ask(session, following))
            for each in following.items(page):
                yield each
            following = following.after(page, seen)

    async def close(self) -> None:
        """Closes the HTTP client that was created here."""
        if self._is_own:
            await self._client.aclose()

    async def _do(self, effect: Effect) -> Any:
        match effect:
            case Pause(seconds):
                await asyncio.sleep(seconds)
            case Exchange():
                return await self._exchange(effect)
            case OpenSocket():
                return await open_websocket(effect, self._ssl_context)

    async def _exchange(self, effect: Exchange) -> httpx.Response:
        content = awaitable_content(effect.request.get("content"))
        # A body that is compressed could expand to any length.
        headers = {"Accept-Encoding": "identity", **effect.request.get("headers", {})}
        request = self._client.build_request(**{**effect.request, "content": content, "headers": headers})
        try:
            response = await self._client.send(request, stream=True, follow_redirects=False)
            return await (_stream(response) if effect.is_streamed and response.is_success else _hold(response))
        except httpx.TransportError as error:
            raise unreachable(str(request.url), error) from error


def _make_client(ssl_context: ssl.SSLContext | None) -> httpx.AsyncClient:
    verify = ssl_context or True
    # A proxy of the environment cannot reach this machine.
    mounts: dict[str, httpx.AsyncBaseTransport | None] = dict.fromkeys(direct_hosts())
    return httpx.AsyncClient(timeout=TIMEOUT, verify=verify, cookies=no_cookies(), mounts=mounts)


async def _stream(response: httpx.Response) -> httpx.Response:
    try:
        check_encoding(response)
    except BaseException:
        await response.aclose()
        raise
    return response


async def _hold(response: httpx.Response) -> httpx.Response:
    try:
        gathering = Gathering(response)
        async for piece in response.aiter_bytes():
            if not gathering.add(piece):
                break
        return gathering.answer()
    finally:
        await response.aclose()


class AsyncByteStream:
    """Bytes from a box. Iterate over them as they arrive, or read them all."""

    def __init__(self, response: httpx.Response) -> None:
        """Takes an answer with an unread body."""
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._response.aiter_bytes():
                yield piece
        except httpx.TransportError as error:
            raise unreachable(str(self._response.url), error) from error
        finally:
            await self.close()

    async def read(self) -> bytes:
        """Reads the rest."""
        return b"".join([piece async for piece in self])

    async def close(self) -> None:
        """Discards the rest without reading it."""
        await self._response.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        await self.close()
