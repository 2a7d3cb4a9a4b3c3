from typing import Any

import httpx

from ...._calls import Call, unexpected_answer
from ...models.sign_in_link_token import SignInLinkToken
from ...types import UNSET, Unset


def get_sign_in_link(
    *,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> Call[SignInLinkToken]:
    """Show the token of a sign-in link. Does not use up the link. Needs a valid token, or a ticket."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/v1/session/links",
    }

    _kwargs["headers"] = headers
    return Call("get_sign_in_link", _kwargs, _parse)


def _parse(response: httpx.Response) -> SignInLinkToken:
    if response.status_code == 200:
        response_200 = SignInLinkToken.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
