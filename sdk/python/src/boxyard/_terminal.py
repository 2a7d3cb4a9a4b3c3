"""Output and input of a command or console as frames of ``v5.channel.k8s.io``. The first byte of a message is its channel."""

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
    """Output of a command, in its order of arrival."""

    stream: StreamName
    data: bytes


@dataclass(frozen=True)
class ExecEnd:
    """How a command ended: with an exit code (128 + n for a signal), or with None if the code is unknown, and a message."""

    exit_code: int | None
    message: str | None
    #: Why the service could not start the command, such as ``process_limit_reached``. None if it started, or if its output shows the
    #: reason.
    reason: str | None = None
    #: Number of processes killed while it ran because the box was out of memory.
    oom_kills: int = 0


class TerminalOutput:
    """The messages of a socket so far."""

    def __init__(self) -> None:
        """Starts before the first byte."""
        #: Received bytes, by stream.
        self.offsets: dict[StreamName, int] = {"stdout": 0, "stderr": 0}
        self.end: ExecEnd | None = None

    def take(self, message: bytes | str) -> OutputPiece | None:
        """Reads the next message, and returns the output in it. The last one sets ``end``."""
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
    """Creates the message that sends input."""
    return bytes([_STDIN]) + data


def input_end_frame() -> bytes:
    """Creates the message that ends the input."""
    return bytes([_CLOSE, _STDIN])


def resize_frame(cols: int, rows: int) -> bytes:
    """Creates the message that sets the size of the terminal in characters."""
    return bytes([_RESIZE]) + json.dumps({"Width": cols, "Height": rows}).encode()


def end_by_code(code: object, message: str | None) -> ExecEnd:
    """How a command ended, from the exit code in an answer. An invalid code, such as 256, is unknown, and never a success."""
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
        # A failure with code 0 contradicts itself.
        number = int(code) if isinstance(code, str) and _CODE.fullmatch(code) else code
        end = end_by_code(None if number == 0 else number, text)
    reason, kills = (next((cause.get("message") for cause in causes if cause.get("reason") == name), None) for name in _SHORTAGES)
    counted = int(kills) if isinstance(kills, str) and _COUNT.fullmatch(kills) else 0
    return replace(end, reason=reason if isinstance(reason, str) else None, oom_kills=counted)


def _causes_in(status: dict[str, object]) -> list[dict[str, object]]:
    details = status.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    return [cause for cause in causes if isinstance(cause, dict)] if isinstance(causes, list) else []


#: Causes that report a resource shortage of the box, besides the exit code.
_SHORTAGES = ("Reason", "OomKills")
_COUNT = re.compile(r"[0-9]{1,9}")
_CODE = re.compile(r"[0-9]{1,3}")
