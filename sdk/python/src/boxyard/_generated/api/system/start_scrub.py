from typing import Any

import httpx

from ...._calls import Call, unexpected_answer
from ...models.scrub import Scrub
from ...types import UNSET, Unset


def start_scrub(
    *,
    x_request_id: str | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> Call[Scrub]:
    """Start a scrub. Verifies all stored data against its checksums. The health report shows faults. Needs
    a token with `admin` for all projects."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    _kwargs: dict[str, Any] = {
        "method": "POST",
        "url": "/v1/storage/scrub",
    }

    _kwargs["headers"] = headers
    return Call("start_scrub", _kwargs, _parse)


def _parse(response: httpx.Response) -> Scrub:
    if response.status_code == 202:
        response_202 = Scrub.from_dict(response.json())

        return response_202

    raise unexpected_answer(response)
