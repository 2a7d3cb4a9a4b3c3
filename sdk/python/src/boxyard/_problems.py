"""Makes errors of answers."""

from __future__ import annotations

import json

from ._errors import ApiError
from ._generated.error_classes import ERROR_CLASSES


def to_api_error(status: int, content: bytes) -> ApiError:
    """Makes the error of an answer's status and body, of the class of its code."""
    body = _parse_json(content)
    return error_of(status, body if isinstance(body, dict) else {}, body)


def error_of(status: int, problem: dict[str, object], body: object) -> ApiError:
    """Makes the error of what a problem says, which may be a part of ``body``."""
    code = problem.get("code")
    kind = ERROR_CLASSES.get(code, ApiError) if isinstance(code, str) else ApiError
    return kind(status, problem, body)


def _parse_json(content: bytes) -> object:
    try:
        parsed: object = json.loads(content)
    except ValueError:
        return content.decode("utf-8", "replace")
    return parsed
