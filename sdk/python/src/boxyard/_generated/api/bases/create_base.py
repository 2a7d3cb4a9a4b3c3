from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.base import Base
from ...models.create_base import CreateBase
from ...models.operation import Operation
from ...types import UNSET, File, Unset


def create_base(
    project: str,
    *,
    body: File | CreateBase | Unset = UNSET,
    name: str | Unset = UNSET,
    shared: bool | Unset = False,
    image: bool | Unset = False,
    wait_seconds: int | Unset = 20,
    x_request_id: str | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> Call[Base | Operation]:
    """Make a base: of the root of a box, a snapshot of it, the tar of a root filesystem, or an image.
    Needs a token with `write`, or a ticket.

    The body is sent as it is, as `application/x-tar` or `application/octet-stream`, of any length. One
    that breaks off changes nothing that was whole before. A function takes 4 MiB: use a ticket for
    more.

    An image is pulled from its registry, at public addresses alone unless the operator has named it;
    deleting its base ends that.
    The tar of a root filesystem may be compressed (gzip, zstd); `?name=` names its base. What leads out
    of the tree, and every
    device, is left out and told in `unpacked`. With `image=true` it is the archive of an image (OCI, or
    of `docker save`).
    An Idempotency-Key stands for the name alone, whatever the archive holds."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    params: dict[str, Any] = {}

    params["name"] = name

    params["shared"] = shared

    params["image"] = image

    params["wait_seconds"] = wait_seconds

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "POST",
        "url": "/v1/projects/{project}/bases".format(
            project=quote(str(project), safe=""),
        ),
        "params": params,
    }

    if isinstance(body, File):
        _kwargs["content"] = body.payload

        headers["Content-Type"] = "application/octet-stream"
    if isinstance(body, CreateBase):
        _kwargs["json"] = body.to_dict()

        headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return Call("create_base", _kwargs, _parse)


def _parse(response: httpx.Response) -> Base | Operation:
    if response.status_code == 201:
        response_201 = Base.from_dict(response.json())

        return response_201

    if response.status_code == 202:
        response_202 = Operation.from_dict(response.json())

        return response_202

    raise unexpected_answer(response)
