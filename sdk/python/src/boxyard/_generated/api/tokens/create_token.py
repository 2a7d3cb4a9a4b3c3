from typing import Any

import httpx

from ...._calls import Call, unexpected_answer
from ...models.create_token import CreateToken
from ...models.created_token import CreatedToken
from ...types import UNSET, Unset


def create_token(
    *,
    body: CreateToken,
    x_request_id: str | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> Call[CreatedToken]:
    """Create a token. The new token has a subset of the projects, permissions and remaining life of the
    one you use. Needs a valid token."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    _kwargs: dict[str, Any] = {
        "method": "POST",
        "url": "/v1/tokens",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return Call("create_token", _kwargs, _parse)


def _parse(response: httpx.Response) -> CreatedToken:
    if response.status_code == 201:
        response_201 = CreatedToken.from_dict(response.json())

        return response_201

    raise unexpected_answer(response)
