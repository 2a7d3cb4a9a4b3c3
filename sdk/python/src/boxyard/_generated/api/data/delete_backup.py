from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call
from ...types import UNSET, Unset


def delete_backup(
    project: str,
    name: str,
    backup: str,
    *,
    wait_seconds: int | Unset = 20,
    x_request_id: str | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> Call[None]:
    """Delete a backup. Its objects stay in the store while another backup builds on them. Needs a token
    with `write`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    params: dict[str, Any] = {}

    params["wait_seconds"] = wait_seconds

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "DELETE",
        "url": "/v1/projects/{project}/data/{name}/backups/{backup}".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
            backup=quote(str(backup), safe=""),
        ),
        "params": params,
    }

    _kwargs["headers"] = headers
    return Call("delete_backup", _kwargs, _parse)


def _parse(response: httpx.Response) -> None:
    return None
