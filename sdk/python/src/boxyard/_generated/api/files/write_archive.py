from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.unpack_report import UnpackReport
from ...types import UNSET, File, Unset


def write_archive(
    project: str,
    name: str,
    *,
    body: File,
    path: str | Unset = UNSET,
    path_base64: str | Unset = UNSET,
    x_request_id: str | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> Call[UnpackReport]:
    """Unpack a tar into a directory. The report lists refused entries. Needs a token with `write`, or a
    ticket.

    Send the body as raw bytes (`application/x-tar` or `application/octet-stream`) of any length. An
    interrupted upload leaves existing files and resources intact. A function accepts 4 MiB: use a
    ticket for more.

    Entries are created as they arrive. If the body is interrupted or found to be altered, entries
    created before that stay."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    params: dict[str, Any] = {}

    params["path"] = path

    params["path_base64"] = path_base64

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "PUT",
        "url": "/v1/projects/{project}/boxes/{name}/files/archive".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
        ),
        "params": params,
    }

    _kwargs["content"] = body.payload

    headers["Content-Type"] = "application/octet-stream"

    _kwargs["headers"] = headers
    return Call("write_archive", _kwargs, _parse)


def _parse(response: httpx.Response) -> UnpackReport:
    if response.status_code == 200:
        response_200 = UnpackReport.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
