from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.base import Base
from ...types import UNSET, Unset


def get_base(
    project: str,
    base: str,
    *,
    shared: bool | Unset = False,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> Call[Base]:
    """Get a base. Returns the base that the name resolves to in the project: its own, or else the shared
    one. Needs a token with `read`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    params: dict[str, Any] = {}

    params["shared"] = shared

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/v1/projects/{project}/bases/{base}".format(
            project=quote(str(project), safe=""),
            base=quote(str(base), safe=""),
        ),
        "params": params,
    }

    _kwargs["headers"] = headers
    return Call("get_base", _kwargs, _parse)


def _parse(response: httpx.Response) -> Base:
    if response.status_code == 200:
        response_200 = Base.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
