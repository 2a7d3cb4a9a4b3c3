"""What both HTTP clients have in common."""

from __future__ import annotations

from urllib.parse import urlsplit

import httpx

from ._errors import ConnectionError

#: Answers to requests that wait come after 25 s, those to uploads after their last byte.
TIMEOUT = httpx.Timeout(300, connect=10, pool=None)


def unreachable(url: str, error: Exception) -> ConnectionError:
    """Makes the error of a service that is not reached."""
    parts = urlsplit(url)
    return ConnectionError(f"{parts.scheme}://{parts.netloc} cannot be reached: {str(error) or type(error).__name__}")
