"""Creates errors from answers."""

from __future__ import annotations

import json
import math
import re
from typing import NoReturn

from ._errors import ApiError
from ._generated.error_classes import ERROR_CLASSES


def to_api_error(status: int, content: bytes) -> ApiError:
    """Creates the error for an answer's status and body, in the class of its code."""
    body = _parsed_or_text(content)
    return error_of(status, body if isinstance(body, dict) else {}, body)


def error_of(status: int, problem: dict[str, object], body: object) -> ApiError:
    """Creates the error for a problem, which may be a part of ``body``."""
    code = problem.get("code")
    kind = ERROR_CLASSES.get(code, ApiError) if isinstance(code, str) else ApiError
    return kind(status, problem, body)


def unexpected(status: int, detail: str, content: bytes = b"") -> ApiError:
    """Creates the error for an answer that no Boxyard sends, with the fault in it."""
    return ApiError(status, {"code": "unexpected_answer", "detail": detail}, content.decode("utf-8", "replace"))


def parse_json(content: bytes) -> object:
    """
    Parses UTF-8 as JSON. Raises ``ValueError`` for values outside of RFC 8259 (NaN, Infinity), numbers that Python cannot parse quickly,
    and too deep nesting. Halves of surrogate pairs, which no encoding accepts, become U+FFFD.
    """
    text = content.decode("utf-8-sig")
    try:
        parsed: object = json.loads(text, parse_constant=_refuse, parse_int=_parse_int, parse_float=_parse_float)
        return _mend(parsed) if _SURROGATE.search(text) else parsed
    except RecursionError:
        raise ValueError("It is nested too deeply.") from None


def _parsed_or_text(content: bytes) -> object:
    try:
        return parse_json(content)
    except ValueError:
        return content.decode("utf-8", "replace")


def _parse_int(digits: str) -> int:
    # Time grows with the square of the digits.
    if len(digits) > _DIGITS:
        raise ValueError(f"A number has more than {_DIGITS} digits.")
    return int(digits)


def _parse_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("A number is too large.")
    return number


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON.")


def _mend(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [_mend(each) for each in value]
    if isinstance(value, dict):
        return {_mend(key): _mend(each) for key, each in value.items()}
    return value


_DIGITS = 400
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
