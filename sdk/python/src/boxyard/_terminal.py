"""Output and input of a command or console as frames of ``v5.channel.k8s.io``: the first byte of a message is its channel."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

StreamName = Literal["stdout", "stderr"]

CHANNEL_PROTOCOL = "v5.channel.k8s.io"

_STDIN = 0
_STDOUT = 1
_STDERR = 2
_STATUS = 3
_RESIZE = 4
_CLOSE = 255


@dataclass(frozen=True)
class OutputPiece:
    """Output of a command, in the order in which it came."""

    stream: StreamName
    data: bytes


@dataclass(frozen=True)
class ExecEnd:
    """How a command ended: with a code (128 + n for a signal), or None where nobody knows, with a message."""

    exit_code: int | None
    message: str | None


class TerminalOutput:
    """What came over a socket so far."""

    def __init__(self) -> None:
        """Begins before the first byte."""
        #: Bytes that came, by stream.
        self.offsets: dict[StreamName, int] = {"stdout": 0, "stderr": 0}
        self.end: ExecEnd | None = None

    def take(self, message: bytes | str) -> OutputPiece | None:
        """Takes the next message, and returns the output in it; sets ``end`` by the last one."""
        frame = message.encode() if isinstance(message, str) else message
        channel, data = (frame[0], frame[1:]) if frame else (_CLOSE, b"")
        if channel == _STATUS:
            self.end = _end_of(json.loads(data))
        if channel not in (_STDOUT, _STDERR) or data == b"":
            return None
        stream: StreamName = "stdout" if channel == _STDOUT else "stderr"
        self.offsets[stream] += len(data)
        return OutputPiece(stream, data)


def input_frame(data: bytes) -> bytes:
    """Makes the message that sends input."""
    return bytes([_STDIN]) + data


def input_end_frame() -> bytes:
    """Makes the message that ends the input."""
    return bytes([_CLOSE, _STDIN])


def resize_frame(cols: int, rows: int) -> bytes:
    """Makes the message that tells the size of the terminal in characters."""
    return bytes([_RESIZE]) + json.dumps({"Width": cols, "Height": rows}).encode()


def _end_of(status: dict[str, Any]) -> ExecEnd:
    # A Kubernetes `Status`.
    if status.get("status") == "Success":
        return ExecEnd(0, None)
    causes = (status.get("details") or {}).get("causes") or []
    code = causes[0].get("message") if causes else None
    return ExecEnd(None if code is None else int(code), status.get("message"))
