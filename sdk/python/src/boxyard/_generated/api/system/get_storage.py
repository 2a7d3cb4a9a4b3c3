from typing import Any

import httpx

from ...._calls import Call, unexpected_answer
from ...models.storage import Storage
from ...types import UNSET, Unset


def get_storage(
    *,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> Call[Storage]:
    """Get storage usage. Lists the size of each resource, and the space that deleting it would free. Needs
    a token with `admin`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/v1/storage",
    }

    _kwargs["headers"] = headers
    return Call("get_storage", _kwargs, _parse)


def _parse(response: httpx.Response) -> Storage:
    if response.status_code == 200:
        response_200 = Storage.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
