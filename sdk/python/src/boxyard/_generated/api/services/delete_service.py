from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call
from ...types import UNSET, Unset


def delete_service(
    project: str,
    name: str,
    service: str,
    *,
    x_request_id: str | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> Call[None]:
    """Delete a service. Deletes its log, and kills its processes. Needs a token with `exec`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    _kwargs: dict[str, Any] = {
        "method": "DELETE",
        "url": "/v1/projects/{project}/boxes/{name}/services/{service}".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
            service=quote(str(service), safe=""),
        ),
    }

    _kwargs["headers"] = headers
    return Call("delete_service", _kwargs, _parse)


def _parse(response: httpx.Response) -> None:
    return None
