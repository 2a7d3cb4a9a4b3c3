from typing import Any

import httpx

from ...._calls import Call
from ...types import UNSET, Unset


def sign_out(
    *,
    x_request_id: str | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> Call[None]:
    """Sign out of the web console. Ends the session that sends the request and its token. Tokens created
    in the session stay valid. Needs a valid token."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    _kwargs: dict[str, Any] = {
        "method": "DELETE",
        "url": "/v1/session",
    }

    _kwargs["headers"] = headers
    return Call("sign_out", _kwargs, _parse)


def _parse(response: httpx.Response) -> None:
    return None
