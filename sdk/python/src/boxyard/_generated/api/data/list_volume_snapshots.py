from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import PagedCall, unexpected_answer
from ...models.snapshot import Snapshot
from ...models.snapshot_list import SnapshotList
from ...types import UNSET, Unset


def list_volume_snapshots(
    project: str,
    name: str,
    *,
    max_results: int | Unset = 100,
    continuation_token: str | Unset = UNSET,
    prefix: str | Unset = UNSET,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> PagedCall[SnapshotList, Snapshot]:
    """List the snapshots of a data volume. Oldest first. Needs a token with `read`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    params: dict[str, Any] = {}

    params["max_results"] = max_results

    params["continuation_token"] = continuation_token

    params["prefix"] = prefix

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/v1/projects/{project}/data/{name}/snapshots".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
        ),
        "params": params,
    }

    _kwargs["headers"] = headers
    return PagedCall(
        "list_volume_snapshots", _kwargs, _parse, lambda page: page.snapshots
    )


def _parse(response: httpx.Response) -> SnapshotList:
    if response.status_code == 200:
        response_200 = SnapshotList.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
