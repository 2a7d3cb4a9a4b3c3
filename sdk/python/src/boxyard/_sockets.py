"""WebSockets by the library `websockets`."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConcurrencyError, ConnectionClosed, InvalidHandshake, InvalidProxy, InvalidStatus, InvalidURI
from websockets.typing import Subprotocol

from ._addresses import reach_of
from ._errors import ConnectionError
from ._flows import OpenSocket
from ._http import unreachable
from ._problems import to_api_error

#: The service sends at most 64 KiB of output or of a port in one message. At most 16 messages wait.
_MAX_MESSAGE_BYTES = 1024 * 1024
#: A sleeping box answers for its port once it has woken.
_OPEN_SECONDS = 60
_CLOSE_SECONDS = 5
_NORMAL = 1000
_TOO_LONG = 1009


async def open_websocket(effect: OpenSocket, ssl_context: ssl.SSLContext | None) -> AsyncSocket:
    """Opens a WebSocket. Raises the ``ApiError`` of a refusal, and ``ConnectionError``."""
    is_secure = effect.url.startswith("wss:")
    options: dict[str, Any] = {"ssl": ssl_context} if is_secure and ssl_context is not None else {}
    try:
        connection = await _connect(
            effect.url,
            subprotocols=[Subprotocol(effect.protocol)],
            additional_headers=dict(effect.headers),
            compression=None,
            open_timeout=_OPEN_SECONDS,
            close_timeout=_CLOSE_SECONDS,
            # The service pings. A slow reader would not see the answers to the client's own pings.
            ping_interval=None,
            max_size=_MAX_MESSAGE_BYTES,
            # A proxy of the environment cannot reach this machine.
            proxy=None if reach_of(urlsplit(effect.url).hostname or "") == "loopback" else True,
            **options,
        )
    except InvalidStatus as error:
        raise to_api_error(error.response.status_code, bytes(error.response.body or b"")) from error
    except (OSError, InvalidHandshake) as error:
        raise unreachable(effect.url, error) from error
    except (InvalidURI, InvalidProxy):
        # Their messages hold the whole URL, with its ticket or password.
        raise unreachable(effect.url, ValueError("its address, or that of a proxy, is not valid")) from None
    return AsyncSocket(connection)


class _connect(connect):
    """Connects without following redirects. The service has none for WebSockets, and they would carry a token along."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        """Turns every redirect into the error that it is."""
        return exc


class AsyncSocket:
    """A WebSocket with a bounded queue. Stops reading the socket while the queue is full."""

    def __init__(self, connection: ClientConnection) -> None:
        """Takes an open connection."""
        self._connection = connection
        headers = {} if connection.response is None else connection.response.headers
        #: Id of the exec record or session.
        self.id: str | None = headers.get("X-Exec-Id") or headers.get("X-Session-Id")
        #: How it was closed, or None while it is open.
        self.closing: Closing | None = None

    async def send(self, message: bytes | str) -> None:
        """Sends a message, and waits until it is on its way. Raises ``ConnectionError``."""
        try:
            await self._connection.send(message)
        except ConnectionClosed as closed:
            raise ConnectionError("The connection is closed.") from closed

    async def receive(self) -> bytes | str | None:
        """Returns the next message, or None after the last one of a closed socket."""
        try:
            return await self._connection.recv()
        except ConnectionClosed as closed:
            self.closing = Closing(closed)
            return None

    async def close(self) -> None:
        """Closes the socket. Delivers the sent messages, and drops the unread ones."""
        await asyncio.gather(self._connection.close(), self._drain())

    async def _drain(self) -> None:
        # While messages wait, nothing reads the answer to the close behind them. A current reader already does.
        with contextlib.suppress(ConcurrencyError):
            while await self.receive() is not None:
                pass


class Closing:
    """The close of a socket."""

    def __init__(self, closed: ConnectionClosed) -> None:
        """Takes the close from the library. Without a frame of the other side the connection was lost."""
        self.is_normal = closed.rcvd is not None and closed.rcvd.code == _NORMAL
        self.reason = closed.rcvd.reason if closed.rcvd is not None else ""
        if closed.sent is not None and closed.sent.code == _TOO_LONG and not closed.rcvd_then_sent:
            self.reason = f"The service sent a message of more than {_MAX_MESSAGE_BYTES} bytes."

    def error(self) -> ConnectionError:
        """The error of a stream that this close interrupted."""
        return ConnectionError(self.reason or "The connection was lost.")
