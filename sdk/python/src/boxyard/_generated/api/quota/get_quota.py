from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.quota import Quota
from ...types import UNSET, Unset


def get_quota(
    project: str,
    *,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> Call[Quota]:
    """Get the quota of a project. Includes current usage. Needs a token with `read`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/v1/projects/{project}/quota".format(
            project=quote(str(project), safe=""),
        ),
    }

    _kwargs["headers"] = headers
    return Call("get_quota", _kwargs, _parse)


def _parse(response: httpx.Response) -> Quota:
    if response.status_code == 200:
        response_200 = Quota.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
