from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.file_entry import FileEntry
from ...models.file_restore import FileRestore
from ...types import UNSET, Unset


def restore_file(
    project: str,
    name: str,
    *,
    body: FileRestore,
    x_request_id: str | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> Call[FileEntry]:
    """Restore a path from a snapshot. Atomic: restores the whole file or directory, or changes nothing.
    Needs a token with `write`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    _kwargs: dict[str, Any] = {
        "method": "POST",
        "url": "/v1/projects/{project}/boxes/{name}/files/restore".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return Call("restore_file", _kwargs, _parse)


def _parse(response: httpx.Response) -> FileEntry:
    if response.status_code == 200:
        response_200 = FileEntry.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
