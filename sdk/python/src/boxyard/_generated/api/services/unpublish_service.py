from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.service import Service
from ...models.unpublish import Unpublish
from ...types import UNSET, Unset


def unpublish_service(
    project: str,
    name: str,
    service: str,
    *,
    body: Unpublish,
    x_request_id: str | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> Call[Service]:
    """Unpublish a service. Removes domains. The URL of the service itself stays. Needs a token with
    `write`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    _kwargs: dict[str, Any] = {
        "method": "POST",
        "url": "/v1/projects/{project}/boxes/{name}/services/{service}/unpublish".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
            service=quote(str(service), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return Call("unpublish_service", _kwargs, _parse)


def _parse(response: httpx.Response) -> Service:
    if response.status_code == 200:
        response_200 = Service.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
