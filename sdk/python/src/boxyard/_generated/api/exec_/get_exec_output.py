from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.exec_output import ExecOutput
from ...models.get_exec_output_encoding import GetExecOutputEncoding
from ...models.get_exec_output_stream import GetExecOutputStream
from ...types import UNSET, Unset


def get_exec_output(
    project: str,
    name: str,
    exec_: str,
    *,
    stream: GetExecOutputStream | str | Unset = GetExecOutputStream.STDOUT,
    offset: int | Unset = UNSET,
    max_bytes: int | Unset = UNSET,
    encoding: GetExecOutputEncoding | str | Unset = GetExecOutputEncoding.UTF_8,
    wait_seconds: int | Unset = 0,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> Call[ExecOutput]:
    """Read the output of a command. Reads one stream from an offset. Needs a token with `exec`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    params: dict[str, Any] = {}

    json_stream: str | Unset = UNSET
    if not isinstance(stream, Unset):
        json_stream = GetExecOutputStream(stream).value

    params["stream"] = json_stream

    params["offset"] = offset

    params["max_bytes"] = max_bytes

    json_encoding: str | Unset = UNSET
    if not isinstance(encoding, Unset):
        json_encoding = GetExecOutputEncoding(encoding).value

    params["encoding"] = json_encoding

    params["wait_seconds"] = wait_seconds

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/v1/projects/{project}/boxes/{name}/exec/{exec_}/output".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
            exec_=quote(str(exec_), safe=""),
        ),
        "params": params,
    }

    _kwargs["headers"] = headers
    return Call("get_exec_output", _kwargs, _parse)


def _parse(response: httpx.Response) -> ExecOutput:
    if response.status_code == 200:
        response_200 = ExecOutput.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
