"""Answers in memory, bounded in length and time, and validated against the document."""

from __future__ import annotations

import re
from time import monotonic
from typing import Any, TypeVar

import httpx

from ._calls import Call
from ._errors import ApiError, ConnectionError
from ._problems import parse_json, unexpected
from ._shapes import check_shape

T = TypeVar("T")

#: Several times the longest answers, which hold the output of commands.
ANSWER_BYTES = 64 * 1024 * 1024
#: Maximum length that the client reads of an error response. A problem has a few hundred bytes.
REFUSAL_BYTES = 1024 * 1024
#: From the head of an answer to its end.
ANSWER_SECONDS = 300.0


class HeldAnswer(httpx.Response):
    """An answer with its body, for the parsers of operations."""

    def json(self, **_: Any) -> Any:
        """Parses the body strictly. Raises ``ValueError``."""
        parsed = parse_json(self.content)
        if not isinstance(parsed, dict):
            raise ValueError("It is not a JSON object.")
        return parsed


class Gathering:
    """The body of an answer as it arrives, up to a limit."""

    def __init__(self, response: httpx.Response) -> None:
        """Starts before the first byte. Raises ``ApiError`` if the head announces a compressed or too long body."""
        check_encoding(response)
        self._response = response
        # One object, because pieces can be as small as a byte.
        self._body = bytearray()
        self._end = monotonic() + ANSWER_SECONDS
        length = response.headers.get("content-length", "")
        if response.is_success and length.isdecimal() and len(length) < 20 and int(length) > ANSWER_BYTES:
            raise self._too_long()

    def add(self, piece: bytes) -> bool:
        """
        Adds the next piece. Returns False once it has enough of an error response. Raises ``ApiError`` if the body is too long or too slow.
        """
        self._body += piece
        if not self._response.is_success:
            return len(self._body) < REFUSAL_BYTES and monotonic() < self._end
        if len(self._body) > ANSWER_BYTES:
            raise self._too_long()
        if monotonic() > self._end:
            raise unexpected(self._response.status_code, f"The answer did not end within {ANSWER_SECONDS:g} s.")
        return True

    def answer(self) -> HeldAnswer:
        """Creates the answer from the received bytes."""
        content = bytes(self._body if self._response.is_success else self._body[:REFUSAL_BYTES])
        # Describes the content's length.
        headers = [(key, value) for key, value in self._response.headers.raw if key.lower() not in _FRAMING]
        return HeldAnswer(self._response.status_code, headers=headers, content=content, request=self._response.request)

    def _too_long(self) -> ApiError:
        detail = f"The answer is longer than {ANSWER_BYTES // 1024 // 1024} MiB, the limit of this client."
        return unexpected(self._response.status_code, detail)


def check_encoding(response: httpx.Response) -> None:
    """Raises ``ApiError`` for a compressed answer. Requests ask for none, and a short one can expand to any length."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise unexpected(response.status_code, f"The answer is compressed ({encoding[:40]}), which this client did not request.")


def check_id(text: str) -> str:
    """Returns an id that the service assigned. Raises ``ApiError`` for an id that would change the path."""
    if not _ID.fullmatch(text):
        raise unexpected(200, f"The service sent an invalid id: {text[:80]!r}")
    return text


def parse_answer(call: Call[T], response: httpx.Response) -> T:
    """Reads an answer. Raises ``ApiError`` with code ``unexpected_answer`` if it does not match the document."""
    try:
        answer = call.parse(response)
        check_shape(answer)
        return answer
    except (ApiError, ConnectionError):
        raise
    except KeyError as error:
        fault = f"The field {error} is missing."
    except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError) as error:
        fault = str(error)[:500]
    raise unexpected(response.status_code, f"The answer to {call.operation} cannot be read: {fault}", response.content)


_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_FRAMING = frozenset({b"content-length", b"transfer-encoding"})
