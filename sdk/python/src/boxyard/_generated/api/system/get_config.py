from typing import Any

import httpx

from ...._calls import Call, unexpected_answer
from ...models.config import Config
from ...types import UNSET, Unset


def get_config(
    *,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> Call[Config]:
    """Get the configuration. Returns drivers, defaults, features and limits. Needs no token."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/v1/config",
    }

    _kwargs["headers"] = headers
    return Call("get_config", _kwargs, _parse)


def _parse(response: httpx.Response) -> Config:
    if response.status_code == 200:
        response_200 = Config.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
