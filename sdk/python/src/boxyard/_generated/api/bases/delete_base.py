from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call
from ...types import UNSET, Unset


def delete_base(
    project: str,
    base: str,
    *,
    shared: bool | Unset = False,
    x_request_id: str | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> Call[None]:
    """Delete a base. Also cancels its creation. Boxes created from it stay as they are. Needs a token with
    `write`.

    `X-Used-By-Count` returns the number of boxes in your projects created from it. They are copies and
    stay unchanged."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    params: dict[str, Any] = {}

    params["shared"] = shared

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "DELETE",
        "url": "/v1/projects/{project}/bases/{base}".format(
            project=quote(str(project), safe=""),
            base=quote(str(base), safe=""),
        ),
        "params": params,
    }

    _kwargs["headers"] = headers
    return Call("delete_base", _kwargs, _parse)


def _parse(response: httpx.Response) -> None:
    return None
