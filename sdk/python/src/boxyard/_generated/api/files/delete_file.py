from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call
from ...types import UNSET, Unset


def delete_file(
    project: str,
    name: str,
    *,
    path: str | Unset = UNSET,
    path_base64: str | Unset = UNSET,
    recursive: bool | Unset = False,
    x_request_id: str | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> Call[None]:
    """Delete a file or directory. A directory with contents needs `recursive`. Needs a token with `write`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    params: dict[str, Any] = {}

    params["path"] = path

    params["path_base64"] = path_base64

    params["recursive"] = recursive

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "DELETE",
        "url": "/v1/projects/{project}/boxes/{name}/files".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
        ),
        "params": params,
    }

    _kwargs["headers"] = headers
    return Call("delete_file", _kwargs, _parse)


def _parse(response: httpx.Response) -> None:
    return None
