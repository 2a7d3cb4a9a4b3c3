from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.backup import Backup
from ...models.operation import Operation
from ...types import UNSET, Unset


def create_backup(
    project: str,
    name: str,
    *,
    wait_seconds: int | Unset = 20,
    x_request_id: str | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> Call[Backup | Operation]:
    """Back up a data volume. Copies its current content, also while it is in use. Needs a token with
    `write`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    params: dict[str, Any] = {}

    params["wait_seconds"] = wait_seconds

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "POST",
        "url": "/v1/projects/{project}/data/{name}/backups".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
        ),
        "params": params,
    }

    _kwargs["headers"] = headers
    return Call("create_backup", _kwargs, _parse)


def _parse(response: httpx.Response) -> Backup | Operation:
    if response.status_code == 201:
        response_201 = Backup.from_dict(response.json())

        return response_201

    if response.status_code == 202:
        response_202 = Operation.from_dict(response.json())

        return response_202

    raise unexpected_answer(response)
