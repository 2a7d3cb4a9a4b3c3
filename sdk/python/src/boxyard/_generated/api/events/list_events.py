from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.event_list import EventList
from ...types import UNSET, Unset


def list_events(
    project: str,
    *,
    since: str | Unset = UNSET,
    wait_seconds: int | Unset = 0,
    max_results: int | Unset = 100,
    type_: list[str] | Unset = UNSET,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
    last_event_id: str | Unset = UNSET,
) -> Call[EventList]:
    """Read the events of a project. In order. Can wait for more events. Needs a token with `read`, or a
    ticket.

    `Accept: text/event-stream` requests a stream with one item per message. The `id` of a message is
    the cursor. Send it as
    `Last-Event-ID` to continue after it. A message without data arrives every 15 s, and a message named
    `problem` says why the stream ends."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    if not isinstance(last_event_id, Unset):
        headers["Last-Event-ID"] = last_event_id

    params: dict[str, Any] = {}

    params["since"] = since

    params["wait_seconds"] = wait_seconds

    params["max_results"] = max_results

    json_type_: list[str] | Unset = UNSET
    if not isinstance(type_, Unset):
        json_type_ = type_

    params["type"] = json_type_

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/v1/projects/{project}/events".format(
            project=quote(str(project), safe=""),
        ),
        "params": params,
    }

    _kwargs["headers"] = headers
    return Call("list_events", _kwargs, _parse)


def _parse(response: httpx.Response) -> EventList:
    if response.status_code == 200:
        response_200 = EventList.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
