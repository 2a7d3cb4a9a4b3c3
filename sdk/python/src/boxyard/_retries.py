"""Decides when to resend a request, by its mark in the OpenAPI document, ``x-boxyard-retry``."""

from __future__ import annotations

import random
import re

import httpx

from ._generated.marks import RetryMark

_FIRST_SECONDS = 0.1
_LONGEST_SECONDS = 20.0
_SECONDS = re.compile(r"[0-9]{1,12}")
_AWAY = frozenset({502, 503, 504})


def pause_after_answer(response: httpx.Response, mark: RetryMark, attempt: int) -> float | None:
    """Seconds until a refused request is sent again, from its ``Retry-After`` if it has one. None if the refusal is final."""
    # An answer of 429 had no effect, so even a request that is not repeatable is sent again.
    if response.status_code != 429 and (mark == "never" or response.status_code not in _AWAY):
        return None
    # Accepts only whole seconds. The service sends no dates, and float() would accept "nan" and "-1", which cannot be waited for.
    seconds = response.headers.get("retry-after", "")
    if not _SECONDS.fullmatch(seconds):
        return _backoff(attempt)
    return min(float(seconds), _LONGEST_SECONDS)


def pause_after_silence(mark: RetryMark, attempt: int) -> float | None:
    """Seconds until a request without an answer is sent again, or None if that is not allowed."""
    return None if mark == "never" else _backoff(attempt)


def _backoff(attempt: int) -> float:
    doubled: float = _FIRST_SECONDS * 2 ** (attempt - 1)
    return min(doubled, _LONGEST_SECONDS) * random.uniform(0.75, 1.25)
