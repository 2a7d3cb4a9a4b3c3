from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.create_volume import CreateVolume
from ...models.operation import Operation
from ...models.volume import Volume
from ...types import UNSET, Unset


def create_volume(
    project: str,
    *,
    body: CreateVolume,
    wait_seconds: int | Unset = 20,
    x_request_id: str | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> Call[Operation | Volume]:
    """Create a data volume. Empty, or a copy of another volume, a snapshot or a backup. Needs a token with
    `write`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    params: dict[str, Any] = {}

    params["wait_seconds"] = wait_seconds

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "POST",
        "url": "/v1/projects/{project}/data".format(
            project=quote(str(project), safe=""),
        ),
        "params": params,
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return Call("create_volume", _kwargs, _parse)


def _parse(response: httpx.Response) -> Operation | Volume:
    if response.status_code == 201:
        response_201 = Volume.from_dict(response.json())

        return response_201

    if response.status_code == 202:
        response_202 = Operation.from_dict(response.json())

        return response_202

    raise unexpected_answer(response)
