from typing import Any

import httpx

from ...._calls import Call, unexpected_answer
from ...models.sign_in import SignIn
from ...types import UNSET, Unset


def sign_in(
    *,
    x_request_id: str | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> Call[SignIn]:
    """Sign in to the web console. Starts a session with its own token, which has the permissions of the
    token you sign in with. Needs a valid token, or a ticket."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    _kwargs: dict[str, Any] = {
        "method": "POST",
        "url": "/v1/session",
    }

    _kwargs["headers"] = headers
    return Call("sign_in", _kwargs, _parse)


def _parse(response: httpx.Response) -> SignIn:
    if response.status_code == 201:
        response_201 = SignIn.from_dict(response.json())

        return response_201

    raise unexpected_answer(response)
