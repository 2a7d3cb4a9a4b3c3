from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.box_metrics_history import BoxMetricsHistory
from ...models.get_box_metrics_history_step_seconds import (
    GetBoxMetricsHistoryStepSeconds,
)
from ...types import UNSET, Unset


def get_box_metrics_history(
    project: str,
    name: str,
    *,
    step_seconds: GetBoxMetricsHistoryStepSeconds
    | Unset = GetBoxMetricsHistoryStepSeconds.VALUE_60,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> Call[BoxMetricsHistory]:
    """Get the usage history of a box. One point a minute for two hours, one every ten minutes for a day.
    Needs a token with `read`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    params: dict[str, Any] = {}

    json_step_seconds: int | Unset = UNSET
    if not isinstance(step_seconds, Unset):
        json_step_seconds = GetBoxMetricsHistoryStepSeconds(step_seconds).value

    params["step_seconds"] = json_step_seconds

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/v1/projects/{project}/boxes/{name}/metrics/history".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
        ),
        "params": params,
    }

    _kwargs["headers"] = headers
    return Call("get_box_metrics_history", _kwargs, _parse)


def _parse(response: httpx.Response) -> BoxMetricsHistory:
    if response.status_code == 200:
        response_200 = BoxMetricsHistory.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
