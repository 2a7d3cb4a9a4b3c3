from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.box_metrics import BoxMetrics
from ...types import UNSET, Unset


def get_box_metrics(
    project: str,
    name: str,
    *,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> Call[BoxMetrics]:
    """Get the resource usage of a box. Reads the counters of the kernel. Needs a token with `read`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/v1/projects/{project}/boxes/{name}/metrics".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
        ),
    }

    _kwargs["headers"] = headers
    return Call("get_box_metrics", _kwargs, _parse)


def _parse(response: httpx.Response) -> BoxMetrics:
    if response.status_code == 200:
        response_200 = BoxMetrics.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
