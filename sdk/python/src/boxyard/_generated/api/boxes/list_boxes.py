from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import PagedCall, unexpected_answer
from ...models.box import Box
from ...models.box_list import BoxList
from ...models.box_status import BoxStatus
from ...types import UNSET, Unset


def list_boxes(
    project: str,
    *,
    max_results: int | Unset = 100,
    continuation_token: str | Unset = UNSET,
    prefix: str | Unset = UNSET,
    status: BoxStatus | str | Unset = UNSET,
    tag: list[str] | Unset = UNSET,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> PagedCall[BoxList, Box]:
    """List boxes. Ordered by name. Needs a token with `read`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    params: dict[str, Any] = {}

    params["max_results"] = max_results

    params["continuation_token"] = continuation_token

    params["prefix"] = prefix

    json_status: str | Unset = UNSET
    if not isinstance(status, Unset):
        json_status = BoxStatus(status).value

    params["status"] = json_status

    json_tag: list[str] | Unset = UNSET
    if not isinstance(tag, Unset):
        json_tag = tag

    params["tag"] = json_tag

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/v1/projects/{project}/boxes".format(
            project=quote(str(project), safe=""),
        ),
        "params": params,
    }

    _kwargs["headers"] = headers
    return PagedCall("list_boxes", _kwargs, _parse, lambda page: page.boxes)


def _parse(response: httpx.Response) -> BoxList:
    if response.status_code == 200:
        response_200 = BoxList.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
