from typing import Any

import httpx

from ...._calls import Call, unexpected_answer
from ...models.problem_type_list import ProblemTypeList
from ...types import UNSET, Unset


def list_problems(
    *,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> Call[ProblemTypeList]:
    """List error codes. Includes the status, meaning and remedy of each. Needs no token."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/problems",
    }

    _kwargs["headers"] = headers
    return Call("list_problems", _kwargs, _parse)


def _parse(response: httpx.Response) -> ProblemTypeList:
    if response.status_code == 200:
        response_200 = ProblemTypeList.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
