from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.snapshot import Snapshot
from ...types import UNSET, Unset


def get_volume_snapshot(
    project: str,
    name: str,
    snapshot: str,
    *,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> Call[Snapshot]:
    """Get a snapshot of a data volume. Includes its sizes. Needs a token with `read`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/v1/projects/{project}/data/{name}/snapshots/{snapshot}".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
            snapshot=quote(str(snapshot), safe=""),
        ),
    }

    _kwargs["headers"] = headers
    return Call("get_volume_snapshot", _kwargs, _parse)


def _parse(response: httpx.Response) -> Snapshot:
    if response.status_code == 200:
        response_200 = Snapshot.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
