from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.session_list import SessionList
from ...types import UNSET, Unset


def list_sessions(
    project: str,
    name: str,
    *,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> Call[SessionList]:
    """List the consoles of a box. Lists running consoles by name. Needs a token with `exec`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/v1/projects/{project}/boxes/{name}/sessions".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
        ),
    }

    _kwargs["headers"] = headers
    return Call("list_sessions", _kwargs, _parse)


def _parse(response: httpx.Response) -> SessionList:
    if response.status_code == 200:
        response_200 = SessionList.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
