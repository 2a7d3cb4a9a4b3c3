from typing import Any

import httpx

from ...._calls import Call, unexpected_answer
from ...models.health import Health
from ...types import UNSET, Unset


def get_health(
    *,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> Call[Health]:
    """Get the health of the service. Covers the service and its host. Short without a valid token. Needs
    no token. A malformed, expired or revoked token counts as no token."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/healthz",
    }

    _kwargs["headers"] = headers
    return Call("get_health", _kwargs, _parse)


def _parse(response: httpx.Response) -> Health:
    if response.status_code == 200:
        response_200 = Health.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
