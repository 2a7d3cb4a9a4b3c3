from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import PagedCall, unexpected_answer
from ...models.file_entry import FileEntry
from ...models.file_list import FileList
from ...types import UNSET, Unset


def list_files(
    project: str,
    name: str,
    *,
    path: str | Unset = UNSET,
    path_base64: str | Unset = UNSET,
    snapshot: str | Unset = UNSET,
    recursive: bool | Unset = False,
    depth: int | Unset = UNSET,
    max_results: int | Unset = 1000,
    continuation_token: str | Unset = UNSET,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> PagedCall[FileList, FileEntry]:
    """List a directory. Ordered by name. Needs a token with `read`, or a ticket."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    params: dict[str, Any] = {}

    params["path"] = path

    params["path_base64"] = path_base64

    params["snapshot"] = snapshot

    params["recursive"] = recursive

    params["depth"] = depth

    params["max_results"] = max_results

    params["continuation_token"] = continuation_token

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/v1/projects/{project}/boxes/{name}/files/list".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
        ),
        "params": params,
    }

    _kwargs["headers"] = headers
    return PagedCall("list_files", _kwargs, _parse, lambda page: page.files)


def _parse(response: httpx.Response) -> FileList:
    if response.status_code == 200:
        response_200 = FileList.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
