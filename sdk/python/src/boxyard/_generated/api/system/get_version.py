from typing import Any

import httpx

from ...._calls import Call, unexpected_answer
from ...models.version import Version
from ...types import UNSET, Unset


def get_version(
    *,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> Call[Version]:
    """Get the version. Includes the drivers. Needs no token."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/version",
    }

    _kwargs["headers"] = headers
    return Call("get_version", _kwargs, _parse)


def _parse(response: httpx.Response) -> Version:
    if response.status_code == 200:
        response_200 = Version.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
