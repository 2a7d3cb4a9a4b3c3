from typing import Any

import httpx

from ...._calls import Call, unexpected_answer
from ...models.get_open_api_response_200 import GetOpenApiResponse200
from ...types import UNSET, Unset


def get_open_api(
    *,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> Call[GetOpenApiResponse200]:
    """Get the OpenAPI document. Needs no token."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/openapi.json",
    }

    _kwargs["headers"] = headers
    return Call("get_open_api", _kwargs, _parse)


def _parse(response: httpx.Response) -> GetOpenApiResponse200:
    if response.status_code == 200:
        response_200 = GetOpenApiResponse200.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
