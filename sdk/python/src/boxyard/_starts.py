"""Sends a streamed command to the service, in the query of the WebSocket or in its first message."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from ._errors import ConnectionError
from ._problems import parse_json, to_api_error

_QUERY_BYTES_MAX = 8 * 1024
_QUERY_PARTS_MAX = 512
_MESSAGE_BYTES_MAX = 1024 * 1024


def start_message(command: Sequence[str], env: Mapping[str, str] | None) -> str | None:
    """
    Creates the first message for a command whose query would exceed 8 KiB or have many parts. Returns None if the query holds it. Raises
    ``ValueError`` for a message that is longer than the service accepts.
    """
    variables = env or {}
    parts = [("command", part) for part in command] + [("env", f"{key}={value}") for key, value in variables.items()]
    if len(parts) <= _QUERY_PARTS_MAX and len(urlencode(parts)) <= _QUERY_BYTES_MAX:
        return None
    message = json.dumps({"command": list(command), "env": dict(variables)}, ensure_ascii=False)
    length = len(message.encode())
    if length <= _MESSAGE_BYTES_MAX:
        return message
    raise ValueError(
        f"Command and environment take {length} bytes as JSON, and a message can have at most {_MESSAGE_BYTES_MAX}. "
        "A command can have 262,144 bytes, and its environment as many. Send more as input or in a file."
    )


def check_started(answer: bytes | str | None) -> None:
    """Reads the answer to the message. Raises the ``ApiError`` of a refusal, and ``ConnectionError``."""
    if answer is None:
        raise ConnectionError("The connection was lost before the command started.")
    content = answer.encode() if isinstance(answer, str) else answer
    try:
        fields = parse_json(content)
    except ValueError:
        fields = None
    if isinstance(fields, dict) and "id" in fields:
        return
    status = fields.get("status") if isinstance(fields, dict) else 0
    raise to_api_error(status if isinstance(status, int) else 0, content)
