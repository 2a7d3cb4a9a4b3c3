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
    """Create a base. Sources: the root of a box, a snapshot of it, the tar of a root filesystem, or an
    image. Needs a token with `write`, or a ticket.

    Send the body as raw bytes (`application/x-tar` or `application/octet-stream`) of any length. An
    interrupted upload leaves existing files and resources intact. A function accepts 4 MiB: use a
    ticket for more.

    - An image is pulled from its registry. Only public addresses are allowed, unless the operator has
    named the registry. Deleting the base cancels the pull.
    - The tar of a root filesystem can be compressed (gzip, zstd). `?name=` names its base. Devices, and
    entries that lead out of the tree, are omitted and listed in `unpacked`.
    - With `image=true`, the archive is an image (OCI, or from `docker save`).
    - An Idempotency-Key covers only the name, not the content of the archive."""
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
