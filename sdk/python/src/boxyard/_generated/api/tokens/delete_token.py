from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call
from ...types import UNSET, Unset


def delete_token(
    token: str,
    *,
    x_request_id: str | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> Call[None]:
    """Revoke a token. Takes effect at once, and also revokes every token created with it or, if it is a
    session, within it. Needs a valid token."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    _kwargs: dict[str, Any] = {
        "method": "DELETE",
        "url": "/v1/tokens/{token}".format(
            token=quote(str(token), safe=""),
        ),
    }

    _kwargs["headers"] = headers
    return Call("delete_token", _kwargs, _parse)


def _parse(response: httpx.Response) -> None:
    return None
