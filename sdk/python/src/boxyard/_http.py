"""Code that both HTTP clients share."""

from __future__ import annotations

from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx

from ._addresses import origin_of
from ._errors import ConnectionError

#: Answers to long-poll requests arrive after 25 s, and answers to uploads after their last byte.
TIMEOUT = httpx.Timeout(300, connect=10, pool=None)
#: Time limit for the cleanup after an interrupt.
FINISH_SECONDS = 5


def unreachable(url: str, error: Exception) -> ConnectionError:
    """Creates the error of an unreachable service."""
    return ConnectionError(f"{origin_of(url)} cannot be reached: {str(error) or type(error).__name__}")


def direct_hosts() -> list[str]:
    """Patterns of httpx for the names of this machine, which no proxy of the environment can reach."""
    return ["all://localhost", "all://*.localhost", "all://127.0.0.1", "all://[::1]"]


def no_cookies() -> CookieJar:
    """Creates a jar that accepts no cookie, because the API has none for programs."""
    return CookieJar(DefaultCookiePolicy(allowed_domains=[]))
