from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.problem_type import ProblemType
from ...types import UNSET, Unset


def get_problem(
    code: str,
    *,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> Call[ProblemType]:
    """Explain an error code. The `type` of a problem points here. Needs no token."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/problems/{code}".format(
            code=quote(str(code), safe=""),
        ),
    }

    _kwargs["headers"] = headers
    return Call("get_problem", _kwargs, _parse)


def _parse(response: httpx.Response) -> ProblemType:
    if response.status_code == 200:
        response_200 = ProblemType.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
