"""Output and input of a command or console as frames of ``v5.channel.k8s.io``: the first byte of a message is its channel."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Literal

from ._errors import ConnectionError
from ._problems import parse_json

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
    #: Why it could not be started, such as ``process_limit_reached``; None: it was, or its output tells.
    reason: str | None = None
    #: Processes that were killed while it ran because the memory of the box was full.
    oom_kills: int = 0


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
            self.end = _end_of(data)
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


def end_by_code(code: object, message: str | None) -> ExecEnd:
    """How a command ended by what the service calls its exit code. What is none, such as 256, is not known, and never a success."""
    if isinstance(code, int) and not isinstance(code, bool) and 0 <= code <= 255:
        return ExecEnd(code, message)
    return ExecEnd(None, f"The service sent an invalid exit code: {str(code)[:40]}")


def _end_of(data: bytes) -> ExecEnd:
    # A Kubernetes `Status`.
    try:
        status = parse_json(data)
    except ValueError as error:
        raise ConnectionError("The service sent an end of the command that is not JSON.") from error
    if not isinstance(status, dict) or status.get("status") not in ("Success", "Failure"):
        raise ConnectionError("The service sent an end of the command with neither success nor failure.")
    message = status.get("message")
    text = message if isinstance(message, str) else None
    causes = _causes_in(status)
    code = next((cause.get("message") for cause in causes if cause.get("reason") not in _SHORTAGES), None)
    if status["status"] == "Success":
        end = ExecEnd(0, text)
    elif code is None:
        end = ExecEnd(None, "The exit code of the command is unknown." if text is None else text)
    else:
        # A failure by 0 contradicts itself.
        number = int(code) if isinstance(code, str) and _CODE.fullmatch(code) else code
        end = end_by_code(None if number == 0 else number, text)
    reason, kills = (next((cause.get("message") for cause in causes if cause.get("reason") == name), None) for name in _SHORTAGES)
    counted = int(kills) if isinstance(kills, str) and _COUNT.fullmatch(kills) else 0
    return replace(end, reason=reason if isinstance(reason, str) else None, oom_kills=counted)


def _causes_in(status: dict[str, object]) -> list[dict[str, object]]:
    details = status.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    return [cause for cause in causes if isinstance(cause, dict)] if isinstance(causes, list) else []


#: Causes that tell of a shortage of the box, beside the exit code.
_SHORTAGES = ("Reason", "OomKills")
_COUNT = re.compile(r"[0-9]{1,9}")
_CODE = re.compile(r"[0-9]{1,3}")
