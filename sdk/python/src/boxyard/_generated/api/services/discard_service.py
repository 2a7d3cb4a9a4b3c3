from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.service import Service
from ...types import UNSET, Unset


def discard_service(
    project: str,
    name: str,
    service: str,
    *,
    wait_seconds: int | Unset = 20,
    x_request_id: str | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> Call[Service]:
    """Discard the preview of a service. Needs a token with `exec`."""
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
        "url": "/v1/projects/{project}/boxes/{name}/services/{service}/discard".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
            service=quote(str(service), safe=""),
        ),
        "params": params,
    }

    _kwargs["headers"] = headers
    return Call("discard_service", _kwargs, _parse)


def _parse(response: httpx.Response) -> Service:
    if response.status_code == 200:
        response_200 = Service.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
