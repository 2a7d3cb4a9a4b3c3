from typing import Any

import httpx

from ...._calls import Call, unexpected_answer
from ...models.sign_in_link import SignInLink
from ...types import UNSET, Unset


def create_sign_in_link(
    *,
    x_request_id: str | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> Call[SignInLink]:
    """Create a sign-in link. Returns a ticket for `signIn` that works once, within 10 minutes, for a link
    to the web console. Needs a valid token."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    _kwargs: dict[str, Any] = {
        "method": "POST",
        "url": "/v1/session/links",
    }

    _kwargs["headers"] = headers
    return Call("create_sign_in_link", _kwargs, _parse)


def _parse(response: httpx.Response) -> SignInLink:
    if response.status_code == 201:
        response_201 = SignInLink.from_dict(response.json())

        return response_201

    raise unexpected_answer(response)
