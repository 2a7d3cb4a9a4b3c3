from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call
from ...types import UNSET, Unset


def delete_box_snapshot(
    project: str,
    name: str,
    snapshot: str,
    *,
    x_request_id: str | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> Call[None]:
    """Delete a snapshot of a box. Boxes and bases created from it stay. Needs a token with `write`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    _kwargs: dict[str, Any] = {
        "method": "DELETE",
        "url": "/v1/projects/{project}/boxes/{name}/snapshots/{snapshot}".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
            snapshot=quote(str(snapshot), safe=""),
        ),
    }

    _kwargs["headers"] = headers
    return Call("delete_box_snapshot", _kwargs, _parse)


def _parse(response: httpx.Response) -> None:
    return None
