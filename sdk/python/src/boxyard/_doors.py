"""Opens streams at the front, or with a ticket at the data address if the front cannot carry them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeVar
from urllib.parse import unquote

import httpx

from ._addresses import HTTP, WEBSOCKET, check_address
from ._answers import parse_answer
from ._calls import Call
from ._contents import rewind_of
from ._errors import ApiError, ConnectionError
from ._flows import Exchange, Flow, OpenSocket, Session, ask, send
from ._generated.api.streams.create_ticket import create_ticket
from ._generated.marks import OPERATIONS
from ._generated.models.ticket_request import TicketRequest
from ._generated.models.ticket_request_operation import TicketRequestOperation
from ._generated.models.ticket_request_query import TicketRequestQuery
from ._generated.types import UNSET
from ._problems import error_of, to_api_error

T = TypeVar("T")

#: Status of a front that is a function for an upgrade.
_CANNOT_STREAM = frozenset({"upgrade_required", "unexpected_answer"})
#: The status of a body that is larger than the event of a function, also from API Gateway.
_TOO_LARGE = 413


def open_socket(session: Session, call: Call[object], protocol: str) -> Flow[Any]:
    """Opens the WebSocket of an operation of a box, in the type of the driver. Raises ``ApiError``, ``ConnectionError``."""
    if not session.needs_tickets:
        url = str(httpx.URL(session.url + call.request["url"], params=call.query))
        try:
            return (yield OpenSocket(_socket_url(url), protocol, session.authorization()))
        except ApiError as error:
            if error.code not in _CANNOT_STREAM:
                raise
            session.needs_tickets = True
    url = yield from _take_ticket(session, call, WEBSOCKET)
    return (yield OpenSocket(url, protocol, {}))


def upload(session: Session, call: Call[T]) -> Flow[T]:
    """Sends bytes to a box, and reads the answer. Raises ``ApiError``, ``ConnectionError``."""
    response = yield from transfer(session, call, is_streamed=False)
    return parse_answer(call, response)


def transfer(session: Session, call: Call[object], *, is_streamed: bool) -> Flow[httpx.Response]:
    """
    Sends or receives bytes. Leaves those of a streamed answer unread. Raises ``ConnectionError``, and ``ApiError``. The code is
    ``body_too_large`` for content that cannot be read again and resent with a ticket.
    """
    if not session.needs_tickets:
        rewind = rewind_of(call.request.get("content"))
        try:
            return (yield from send(session, call, is_streamed=is_streamed))
        except ApiError as error:
            if error.status != _TOO_LARGE or "content" not in call.request:
                raise
            if rewind is None:
                raise _too_long(error) from error
            rewind()
    request = {key: value for key, value in call.request.items() if key != "params"}
    request["url"] = yield from _take_ticket(session, call, HTTP)
    response: httpx.Response = yield Exchange(request, is_streamed)
    if not response.is_success:
        raise to_api_error(response.status_code, response.content)
    return response


def _too_long(error: ApiError) -> ApiError:
    detail = (
        f"The front refused this length ({error}), and a stream that was read cannot be sent to the data address. "
        'Pass bytes, a seekable file or a list of pieces, or set tickets to "always".'
    )
    problem: dict[str, object] = {"code": "body_too_large", "detail": detail, "request_id": error.request_id}
    return error_of(_TOO_LARGE, problem, problem)


def _take_ticket(session: Session, call: Call[object], schemes: Collection[str]) -> Flow[str]:
    # /v1/projects/{project}/boxes/{name}/…, or …/ports/{port}/ws
    project, _, name, *rest = [unquote(part) for part in call.request["url"].split("/")][3:]
    query = TicketRequestQuery.from_dict(call.query)
    operation = TicketRequestOperation(OPERATIONS[call.operation][0])
    port = int(rest[1]) if call.operation == "open_port" else UNSET
    ticket = yield from ask(session, create_ticket(project, name, body=TicketRequest(operation=operation, query=query, port=port)))
    if not ticket.url:
        raise ConnectionError("The front cannot stream, and the service has no data address.")
    check_address(session.url, ticket.url, schemes)
    return ticket.url


def _socket_url(url: str) -> str:
    return "ws" + url.removeprefix("http") if url.startswith("http") else url
