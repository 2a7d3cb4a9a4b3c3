from io import BytesIO
from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...types import UNSET, File, Unset


def read_file(
    project: str,
    name: str,
    *,
    path: str | Unset = UNSET,
    path_base64: str | Unset = UNSET,
    snapshot: str | Unset = UNSET,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
    range_: str | Unset = UNSET,
) -> Call[File]:
    """Read a file. Returns the whole file or a range. Can return JSON for files of at most 1 MiB. Needs a
    token with `read`, or a ticket.

    Send `Accept: application/json` for JSON."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    if not isinstance(range_, Unset):
        headers["Range"] = range_

    params: dict[str, Any] = {}

    params["path"] = path

    params["path_base64"] = path_base64

    params["snapshot"] = snapshot

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/v1/projects/{project}/boxes/{name}/files/read".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
        ),
        "params": params,
    }

    _kwargs["headers"] = headers
    return Call("read_file", _kwargs, _parse)


def _parse(response: httpx.Response) -> File:
    if response.status_code == 200:
        response_200 = File(payload=BytesIO(response.content))

        return response_200

    if response.status_code == 206:
        response_206 = File(payload=BytesIO(response.content))

        return response_206

    raise unexpected_answer(response)
