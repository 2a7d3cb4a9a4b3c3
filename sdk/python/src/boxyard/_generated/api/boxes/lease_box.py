from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.box import Box
from ...models.lease import Lease
from ...types import UNSET, Unset


def lease_box(
    project: str,
    name: str,
    *,
    body: Lease,
    x_request_id: str | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> Call[Box]:
    """Lease a box. A leased box is not stopped as idle. A lease does not start the box. Needs a token with
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
        "url": "/v1/projects/{project}/boxes/{name}/lease".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return Call("lease_box", _kwargs, _parse)


def _parse(response: httpx.Response) -> Box:
    if response.status_code == 200:
        response_200 = Box.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
