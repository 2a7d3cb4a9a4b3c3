from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import PagedCall, unexpected_answer
from ...models.exec_list import ExecList
from ...models.exec_record import ExecRecord
from ...models.exec_status import ExecStatus
from ...types import UNSET, Unset


def list_execs(
    project: str,
    name: str,
    *,
    max_results: int | Unset = 100,
    continuation_token: str | Unset = UNSET,
    status: ExecStatus | str | Unset = UNSET,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> PagedCall[ExecList, ExecRecord]:
    """List the commands of a box. Oldest first, without output. Needs a token with `exec`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    params: dict[str, Any] = {}

    params["max_results"] = max_results

    params["continuation_token"] = continuation_token

    json_status: str | Unset = UNSET
    if not isinstance(status, Unset):
        json_status = ExecStatus(status).value

    params["status"] = json_status

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/v1/projects/{project}/boxes/{name}/exec".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
        ),
        "params": params,
    }

    _kwargs["headers"] = headers
    return PagedCall("list_execs", _kwargs, _parse, lambda page: page.execs)


def _parse(response: httpx.Response) -> ExecList:
    if response.status_code == 200:
        response_200 = ExecList.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
