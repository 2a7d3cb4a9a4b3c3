from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.file_entry import FileEntry
from ...types import UNSET, Unset


def stat_file(
    project: str,
    name: str,
    *,
    path: str | Unset = UNSET,
    path_base64: str | Unset = UNSET,
    snapshot: str | Unset = UNSET,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> Call[FileEntry]:
    """Stat a path. Does not follow a symbolic link. Needs a token with `read`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    params: dict[str, Any] = {}

    params["path"] = path

    params["path_base64"] = path_base64

    params["snapshot"] = snapshot

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/v1/projects/{project}/boxes/{name}/files/stat".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
        ),
        "params": params,
    }

    _kwargs["headers"] = headers
    return Call("stat_file", _kwargs, _parse)


def _parse(response: httpx.Response) -> FileEntry:
    if response.status_code == 200:
        response_200 = FileEntry.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
