"""A WebSocket for programs that block."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from ._errors import ConnectionError
from ._flows import OpenSocket
from ._sockets import AsyncSocket, Closing, open_websocket

T = TypeVar("T")


class Socket:
    """
    A WebSocket with its own thread. Unlike in the library's blocking client, a blocked send does not stop the receipt of messages that the
    other side must send first. Any threads can use it.
    """

    def __init__(self, effect: OpenSocket, ssl_context: ssl.SSLContext | None) -> None:
        """Opens it. Raises the ``ApiError`` of a refusal, and ``ConnectionError``."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="boxyard-socket", daemon=True)
        self._thread.start()
        self._lock = threading.Lock()
        try:
            self._socket: AsyncSocket = self._run(open_websocket(effect, ssl_context))
        except BaseException:
            self._end_loop()
            raise

    @property
    def id(self) -> str | None:
        """Id of the exec record or session."""
        return self._socket.id

    @property
    def closing(self) -> Closing | None:
        """How it was closed, or None while it is open."""
        return self._socket.closing

    def send(self, message: bytes | str) -> None:
        """Sends a message, and waits until it is on its way. Raises ``ConnectionError``."""
        if self._loop.is_closed():
            raise ConnectionError("The connection is closed.")
        self._run(self._socket.send(message))

    def receive(self) -> bytes | str | None:
        """Returns the next message, or None after the last one of a closed socket."""
        return None if self._loop.is_closed() else self._run(self._socket.receive())

    def close(self) -> None:
        """Closes the socket. Delivers the sent messages, and drops the unread ones."""
        with self._lock:
            if not self._loop.is_closed():
                self._run(self._finish())
                self._end_loop()

    async def _finish(self) -> None:
        await self._socket.close()
        # Calls of other threads end with the connection.
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            await asyncio.wait(others)

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            # For example, Ctrl-C.
            future.cancel()
            raise
