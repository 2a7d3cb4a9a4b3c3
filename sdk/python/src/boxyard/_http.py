"""What both HTTP clients have in common."""

from __future__ import annotations

from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx

from ._addresses import origin_of
from ._errors import ConnectionError

#: Answers to requests that wait come after 25 s, those to uploads after their last byte.
TIMEOUT = httpx.Timeout(300, connect=10, pool=None)
#: How long it may take to clean up behind what was broken off.
FINISH_SECONDS = 5


def unreachable(url: str, error: Exception) -> ConnectionError:
    """Makes the error of a service that is not reached."""
    return ConnectionError(f"{origin_of(url)} cannot be reached: {str(error) or type(error).__name__}")


def direct_hosts() -> list[str]:
    """Patterns of httpx for the names of this machine, which no proxy of the environment leads to."""
    return ["all://localhost", "all://*.localhost", "all://127.0.0.1", "all://[::1]"]


def no_cookies() -> CookieJar:
    """Makes a jar that takes no cookie: the API has none for programs."""
    return CookieJar(DefaultCookiePolicy(allowed_domains=[]))
