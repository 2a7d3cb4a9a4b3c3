"""How WebSockets are opened, and what their refusals mean."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from ._errors import ApiError, ConnectionError
from ._flows import OpenSocket
from ._problems import to_api_error

_MAX_MESSAGE_BYTES = 16 * 1024 * 1024
#: A port of a box that sleeps is answered once it has woken.
_OPEN_SECONDS = 60
_CLOSE_SECONDS = 5
#: Answers to requests that wait come after 25 s, those to uploads after their last byte.
TIMEOUT = httpx.Timeout(300, connect=10, pool=None)


def socket_options(effect: OpenSocket, ssl_context: ssl.SSLContext | None) -> dict[str, Any]:
    """Makes the options of ``connect`` of the library, which both its kinds have."""
    is_secure = effect.url.startswith("wss:")
    return {
        "subprotocols": [Subprotocol(effect.protocol)],
        "additional_headers": dict(effect.headers),
        "compression": None,
        "open_timeout": _OPEN_SECONDS,
        "close_timeout": _CLOSE_SECONDS,
        # The service pings; who reads slowly would not see answers to pings of ours.
        "ping_interval": None,
        "max_size": _MAX_MESSAGE_BYTES,
        **({"ssl": ssl_context} if is_secure and ssl_context is not None else {}),
    }


def opening_error(error: Exception, url: str) -> ApiError | ConnectionError:
    """Makes the error of a WebSocket that was not opened."""
    if isinstance(error, InvalidStatus):
        return to_api_error(error.response.status_code, bytes(error.response.body or b""))
    return unreachable(url, error)


def unreachable(url: str, error: Exception) -> ConnectionError:
    """Makes the error of a service that is not reached."""
    parts = urlsplit(url)
    return ConnectionError(f"{parts.scheme}://{parts.netloc} cannot be reached: {error or type(error).__name__}")


def stream_id(headers: Mapping[str, str]) -> str | None:
    """The id of the exec record or session that a stream is of."""
    return headers.get("X-Exec-Id") or headers.get("X-Session-Id")


class Closing:
    """The close of a socket, once it came."""

    def __init__(self, closed: ConnectionClosed) -> None:
        """Takes what the library tells; without a frame of the other side the connection was lost."""
        self.is_normal = closed.rcvd is not None and closed.rcvd.code == 1000
        self.reason = closed.rcvd.reason if closed.rcvd is not None else ""

    def error(self) -> ConnectionError:
        """The error of a stream that this close broke off."""
        return ConnectionError(self.reason or "The connection was lost.")
