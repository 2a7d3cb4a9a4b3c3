"""A service that behaves as no Boxyard does, and clients of it."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import inspect
import json
import re
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, cast

import pytest

from boxyard import AsyncBoxyard, Boxyard
from given import Blocking, Kind

TOKEN = "byt_secret"

#: Answers one connection whose request head has been read.
Handler = Callable[[socket.socket, str], None]


class Hostile:
    """Listens at its own port, with a thread per connection."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._listener = socket.create_server(("127.0.0.1", 0))
        #: Heads of all requests, in order.
        self.heads: list[str] = []
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Stops accepting connections."""
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        # The client disconnects once it has read enough.
        with connection, contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                piece = connection.recv(1)
                if not piece:
                    return
                head += piece
            self.heads.append(head.decode("latin-1"))
            self._handler(connection, self.heads[-1])


@contextlib.contextmanager
def serve(handler: Handler) -> Iterator[Hostile]:
    """Serves until the end of the block."""
    hostile = Hostile(handler)
    try:
        yield hostile
    finally:
        hostile.close()


def answer(body: bytes | str | object, status: int = 200, **headers: str) -> Handler:
    """Gives each request the same answer. Encodes content other than bytes and text as JSON."""
    content = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()

    def handle(connection: socket.socket, _head: str) -> None:
        lines = [f"{key.replace('_', '-')}: {value}" for key, value in headers.items()]
        head = "\r\n".join([f"HTTP/1.1 {status} x", "Connection: close", f"Content-Length: {len(content)}", *lines, "", ""])
        connection.sendall(head.encode("latin-1") + content)

    return handle


def flood(head: str, piece: bytes) -> Handler:
    """Sends a piece repeatedly for as long as the client reads."""

    def handle(connection: socket.socket, _head: str) -> None:
        connection.sendall(head.encode())
        while True:
            connection.sendall(piece)

    return handle


def websocket(*messages: bytes) -> Handler:
    """Accepts a WebSocket upgrade, sends these frames, and disconnects."""

    def handle(connection: socket.socket, head: str) -> None:
        key = re.search(r"(?i)sec-websocket-key: *(\S+)", head)
        protocol = re.search(r"(?i)sec-websocket-protocol: *(\S+)", head)
        assert key and protocol
        digest = hashlib.sha1(f"{key[1]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()
        lines = [
            "HTTP/1.1 101 x",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Accept: {base64.b64encode(digest).decode()}",
            f"Sec-WebSocket-Protocol: {protocol[1]}",
        ]
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        for message in messages:
            connection.sendall(message)

    return handle


def frame(payload: bytes, opcode: int = 0x82) -> bytes:
    """Makes a short WebSocket frame."""
    return bytes([opcode, len(payload)]) + payload


def client(kind: Kind, url: str, **options: Any) -> AsyncBoxyard:
    """Makes a client of a kind that sends each request once."""
    settings: dict[str, Any] = {"url": url, "token": TOKEN, "attempts": 1, **options}
    return AsyncBoxyard(**settings) if kind == "awaited" else cast(AsyncBoxyard, Blocking(Boxyard(**settings)))


def kinds(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Makes two tests from one that takes a kind, and takes the ``case`` of ``parametrize`` if it has one."""

    def run(kind: Kind) -> None:
        asyncio.run(_within_time(test(kind)))

    def run_case(kind: Kind, case: Any) -> None:
        asyncio.run(_within_time(test(kind, case)))

    made: Callable[..., None] = run if len(inspect.signature(test).parameters) == 1 else run_case
    made.__name__ = test.__name__
    marked: Callable[..., None] = pytest.mark.parametrize("kind", ["blocking", "awaited"])(made)
    return marked


async def _within_time(test: Awaitable[None]) -> None:
    await asyncio.wait_for(test, 120)
