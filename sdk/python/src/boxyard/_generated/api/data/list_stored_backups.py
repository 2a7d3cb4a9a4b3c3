from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import PagedCall, unexpected_answer
from ...models.backup import Backup
from ...models.backup_list import BackupList
from ...types import UNSET, Unset


def list_stored_backups(
    project: str,
    *,
    max_results: int | Unset = 100,
    continuation_token: str | Unset = UNSET,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> PagedCall[BackupList, Backup]:
    """List the backups in the store. Includes backups of deleted volumes, and of other deployments whose
    key is known. Oldest first. Needs a token with `read`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    params: dict[str, Any] = {}

    params["max_results"] = max_results

    params["continuation_token"] = continuation_token

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/v1/projects/{project}/backups".format(
            project=quote(str(project), safe=""),
        ),
        "params": params,
    }

    _kwargs["headers"] = headers
    return PagedCall("list_stored_backups", _kwargs, _parse, lambda page: page.backups)


def _parse(response: httpx.Response) -> BackupList:
    if response.status_code == 200:
        response_200 = BackupList.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
