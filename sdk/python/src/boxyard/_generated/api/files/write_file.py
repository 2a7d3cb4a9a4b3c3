from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.file_entry import FileEntry
from ...models.file_write import FileWrite
from ...types import UNSET, File, Unset


def write_file(
    project: str,
    name: str,
    *,
    body: File | FileWrite | Unset = UNSET,
    path: str | Unset = UNSET,
    path_base64: str | Unset = UNSET,
    mode: str | Unset = UNSET,
    parents: bool | Unset = UNSET,
    x_request_id: str | Unset = UNSET,
    if_match: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> Call[FileEntry]:
    """Write a file. Atomic: the whole file is written, or nothing changes. Needs a token with `write`, or
    a ticket.

    Send the body as raw bytes (`application/octet-stream`) of any length. An interrupted upload leaves
    existing files and resources intact. A function accepts 4 MiB: use a ticket for more."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    params: dict[str, Any] = {}

    params["path"] = path

    params["path_base64"] = path_base64

    params["mode"] = mode

    params["parents"] = parents

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "PUT",
        "url": "/v1/projects/{project}/boxes/{name}/files/write".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
        ),
        "params": params,
    }

    if isinstance(body, File):
        _kwargs["content"] = body.payload

        headers["Content-Type"] = "application/octet-stream"
    if isinstance(body, FileWrite):
        _kwargs["json"] = body.to_dict()

        headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return Call("write_file", _kwargs, _parse)


def _parse(response: httpx.Response) -> FileEntry:
    if response.status_code == 200:
        response_200 = FileEntry.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
