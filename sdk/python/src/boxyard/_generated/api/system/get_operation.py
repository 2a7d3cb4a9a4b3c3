from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.operation import Operation
from ...types import UNSET, Unset


def get_operation(
    operation: str,
    *,
    wait_seconds: int | Unset = 0,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> Call[Operation]:
    """Get an operation. An operation tracks a mutation that outlived its wait. Needs a token with `read`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    params: dict[str, Any] = {}

    params["wait_seconds"] = wait_seconds

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/v1/operations/{operation}".format(
            operation=quote(str(operation), safe=""),
        ),
        "params": params,
    }

    _kwargs["headers"] = headers
    return Call("get_operation", _kwargs, _parse)


def _parse(response: httpx.Response) -> Operation:
    if response.status_code == 200:
        response_200 = Operation.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
