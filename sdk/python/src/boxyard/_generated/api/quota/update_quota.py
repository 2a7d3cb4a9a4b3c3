from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.quota import Quota
from ...models.update_quota import UpdateQuota
from ...types import UNSET, Unset


def update_quota(
    project: str,
    *,
    body: UpdateQuota,
    x_request_id: str | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> Call[Quota]:
    """Set the quota of a project. Existing resources stay. Needs a token with `admin` for all projects."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    _kwargs: dict[str, Any] = {
        "method": "PUT",
        "url": "/v1/projects/{project}/quota".format(
            project=quote(str(project), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return Call("update_quota", _kwargs, _parse)


def _parse(response: httpx.Response) -> Quota:
    if response.status_code == 200:
        response_200 = Quota.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
