from typing import Any

import httpx

from ...._calls import PagedCall, unexpected_answer
from ...models.token import Token
from ...models.token_list import TokenList
from ...types import UNSET, Unset


def list_tokens(
    *,
    max_results: int | Unset = 100,
    continuation_token: str | Unset = UNSET,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> PagedCall[TokenList, Token]:
    """List tokens. With `admin`, lists all tokens. Otherwise lists those that this token created. Needs a
    valid token."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    params: dict[str, Any] = {}

    params["max_results"] = max_results

    params["continuation_token"] = continuation_token

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/v1/tokens",
        "params": params,
    }

    _kwargs["headers"] = headers
    return PagedCall("list_tokens", _kwargs, _parse, lambda page: page.tokens)


def _parse(response: httpx.Response) -> TokenList:
    if response.status_code == 200:
        response_200 = TokenList.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
