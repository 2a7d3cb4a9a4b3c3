"""Bytes on their way to the service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any, BinaryIO, TypeAlias

#: Bytes to send: at hand, a file, or in pieces.
Content: TypeAlias = bytes | str | BinaryIO | Iterable[bytes]
AsyncContent: TypeAlias = Content | AsyncIterable[bytes]

_PIECE_BYTES = 256 * 1024


def content_of(body: AsyncContent) -> Any:
    """Makes what an HTTP client sends; text as UTF-8. A stream is read once."""
    return body.encode() if isinstance(body, str) else body


def awaitable_content(content: Any) -> Any:
    """Makes what an asynchronous HTTP client sends of the same; files are read beside its loop."""
    if content is None or isinstance(content, bytes | AsyncIterable):
        return content
    return _read_beside(_pieces_of(content))


def _pieces_of(content: Any) -> Iterator[bytes]:
    if not hasattr(content, "read"):
        yield from content
        return
    while piece := content.read(_PIECE_BYTES):
        yield piece


async def _read_beside(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
        yield piece
