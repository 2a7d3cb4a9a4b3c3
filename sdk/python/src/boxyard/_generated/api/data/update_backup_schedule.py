from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.backup_schedule import BackupSchedule
from ...models.volume import Volume
from ...types import UNSET, Unset


def update_backup_schedule(
    project: str,
    name: str,
    *,
    body: BackupSchedule,
    x_request_id: str | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> Call[Volume]:
    """Schedule backups of a data volume. Also sets how many backups to keep. Needs a token with `write`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    _kwargs: dict[str, Any] = {
        "method": "PUT",
        "url": "/v1/projects/{project}/data/{name}/backup-schedule".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return Call("update_backup_schedule", _kwargs, _parse)


def _parse(response: httpx.Response) -> Volume:
    if response.status_code == 200:
        response_200 = Volume.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
