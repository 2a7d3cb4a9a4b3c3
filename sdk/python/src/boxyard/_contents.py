"""Bytes on their way to the service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from typing import Any, BinaryIO, TypeAlias

#: Bytes to send, as a value, a file, or in pieces.
Content: TypeAlias = bytes | str | BinaryIO | Iterable[bytes]
AsyncContent: TypeAlias = Content | AsyncIterable[bytes]

_PIECE_BYTES = 256 * 1024


def content_of(body: AsyncContent) -> Any:
    """Creates the content for an HTTP client, with text as UTF-8. A stream is read once."""
    return body.encode() if isinstance(body, str) else body


def blocking_content(content: Any) -> Any:
    """Creates the content for a blocking HTTP client. httpx counts a file from its beginning, whatever its position."""
    return _pieces_of(content) if _can_seek(content) and content.tell() > 0 else content


def rewind_of(content: Any) -> Callable[[], None] | None:
    """Returns a function that rewinds a content that was read, or None if it can be read only once."""
    if hasattr(content, "read"):
        if not _can_seek(content):
            return None
        start = content.tell()

        def rewind() -> None:
            content.seek(start)

        return rewind
    # Iterating over an object that is its own iterator uses it up.
    is_once = isinstance(content, Iterator | AsyncIterator)
    return None if is_once else _stay


def _can_seek(content: Any) -> bool:
    return hasattr(content, "seekable") and content.seekable() is True


def _stay() -> None:
    pass


def awaitable_content(content: Any) -> Any:
    """Creates the same content for an asynchronous HTTP client. Reads files outside of its loop."""
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
