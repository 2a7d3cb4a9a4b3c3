from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.url_ticket import UrlTicket
from ...models.url_ticket_request import UrlTicketRequest
from ...types import UNSET, Unset


def create_url_ticket(
    project: str,
    name: str,
    *,
    body: UrlTicketRequest,
    x_request_id: str | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> Call[UrlTicket]:
    """Create a ticket for a URL of a box. A browser that opens the returned URL gets a session at that
    host, without a token. It works once, within 60 s. Needs a token with `read`."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    _kwargs: dict[str, Any] = {
        "method": "POST",
        "url": "/v1/projects/{project}/boxes/{name}/url-tickets".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return Call("create_url_ticket", _kwargs, _parse)


def _parse(response: httpx.Response) -> UrlTicket:
    if response.status_code == 201:
        response_201 = UrlTicket.from_dict(response.json())

        return response_201

    raise unexpected_answer(response)
