from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.exec_ import Exec
from ...models.get_exec_encoding import GetExecEncoding
from ...types import UNSET, Unset


def get_exec(
    project: str,
    name: str,
    exec_: str,
    *,
    encoding: GetExecEncoding | str | Unset = GetExecEncoding.UTF_8,
    wait_seconds: int | Unset = 0,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> Call[Exec]:
    """Get a command. Includes its output. Needs a token with `exec`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    params: dict[str, Any] = {}

    json_encoding: str | Unset = UNSET
    if not isinstance(encoding, Unset):
        json_encoding = GetExecEncoding(encoding).value

    params["encoding"] = json_encoding

    params["wait_seconds"] = wait_seconds

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/v1/projects/{project}/boxes/{name}/exec/{exec_}".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
            exec_=quote(str(exec_), safe=""),
        ),
        "params": params,
    }

    _kwargs["headers"] = headers
    return Call("get_exec", _kwargs, _parse)


def _parse(response: httpx.Response) -> Exec:
    if response.status_code == 200:
        response_200 = Exec.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
