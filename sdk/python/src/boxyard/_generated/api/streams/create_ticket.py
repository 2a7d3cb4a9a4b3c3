from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.ticket import Ticket
from ...models.ticket_request import TicketRequest
from ...types import UNSET, Unset


def create_ticket(
    project: str,
    name: str,
    *,
    body: TicketRequest,
    x_request_id: str | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
    if_match: str | Unset = UNSET,
) -> Call[Ticket]:
    """Create a ticket for a box. A ticket is a URL that works once, within 60 s. Use it for requests that
    a function cannot carry. Needs a valid token."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    _kwargs: dict[str, Any] = {
        "method": "POST",
        "url": "/v1/projects/{project}/boxes/{name}/tickets".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return Call("create_ticket", _kwargs, _parse)


def _parse(response: httpx.Response) -> Ticket:
    if response.status_code == 201:
        response_201 = Ticket.from_dict(response.json())

        return response_201

    raise unexpected_answer(response)
