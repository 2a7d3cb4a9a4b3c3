from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import PagedCall, unexpected_answer
from ...models.snapshot_diff import SnapshotDiff
from ...models.snapshot_diff_changes_item import SnapshotDiffChangesItem
from ...types import UNSET, Unset


def diff_box_snapshot(
    project: str,
    name: str,
    snapshot: str,
    *,
    max_results: int | Unset = 100,
    continuation_token: str | Unset = UNSET,
    to: str | Unset = UNSET,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> PagedCall[SnapshotDiff, SnapshotDiffChangesItem]:
    """Compare a snapshot of a box. Lists changes on the disk up to another snapshot or up to now. Needs a
    token with `read`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    params: dict[str, Any] = {}

    params["max_results"] = max_results

    params["continuation_token"] = continuation_token

    params["to"] = to

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/v1/projects/{project}/boxes/{name}/snapshots/{snapshot}/diff".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
            snapshot=quote(str(snapshot), safe=""),
        ),
        "params": params,
    }

    _kwargs["headers"] = headers
    return PagedCall("diff_box_snapshot", _kwargs, _parse, lambda page: page.changes)


def _parse(response: httpx.Response) -> SnapshotDiff:
    if response.status_code == 200:
        response_200 = SnapshotDiff.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
