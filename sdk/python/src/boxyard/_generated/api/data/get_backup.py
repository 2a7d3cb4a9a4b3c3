from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.backup import Backup
from ...types import UNSET, Unset


def get_backup(
    project: str,
    name: str,
    backup: str,
    *,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> Call[Backup]:
    """Get a backup. Also works after its data volume was deleted. Needs a token with `read`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/v1/projects/{project}/data/{name}/backups/{backup}".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
            backup=quote(str(backup), safe=""),
        ),
    }

    _kwargs["headers"] = headers
    return Call("get_backup", _kwargs, _parse)


def _parse(response: httpx.Response) -> Backup:
    if response.status_code == 200:
        response_200 = Backup.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
