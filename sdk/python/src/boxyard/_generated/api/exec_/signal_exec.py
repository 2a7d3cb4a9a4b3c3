from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.exec_record import ExecRecord
from ...models.exec_signal import ExecSignal
from ...types import UNSET, Unset


def signal_exec(
    project: str,
    name: str,
    exec_: str,
    *,
    body: ExecSignal,
    x_request_id: str | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> Call[ExecRecord]:
    """Signal a command. The signal goes to the command and its processes. If the command has ended, its
    record is returned unchanged. Needs a token with `exec`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    _kwargs: dict[str, Any] = {
        "method": "POST",
        "url": "/v1/projects/{project}/boxes/{name}/exec/{exec_}/signal".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
            exec_=quote(str(exec_), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return Call("signal_exec", _kwargs, _parse)


def _parse(response: httpx.Response) -> ExecRecord:
    if response.status_code == 200:
        response_200 = ExecRecord.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
