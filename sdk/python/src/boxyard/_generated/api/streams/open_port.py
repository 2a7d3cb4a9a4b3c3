from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call
from ...types import UNSET, Unset


def open_port(
    project: str,
    name: str,
    port: str,
    *,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> Call[None]:
    """Connect to a TCP port of a box over a WebSocket. Needs a token with `ports`, or a ticket.

    Asks for an upgrade to a WebSocket (RFC 6455), with the subprotocol `v1.port.boxyard` or none, that
    carries one TCP connection to
    a port of the box: to its loopback or, where nothing listens there, to its own address. Binary
    messages are its bytes, of a client at most 64 KiB each,
    as they come. The text message `end` ends the direction of its sender, and the other goes on; once
    both have ended the server
    closes with 1000. It closes with 1011 if the connection was reset or the box stopped. A client that
    closes with 1000 or 1001 closes the
    connection, and one that is cut off resets it. The server pings every 15 s, and leaves a peer that
    is silent for 45 s; a connection
    without bytes stays open. A stopped box whose `url_settings.wake` is set is started first."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/v1/projects/{project}/boxes/{name}/ports/{port}/ws".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
            port=quote(str(port), safe=""),
        ),
    }

    _kwargs["headers"] = headers
    return Call("open_port", _kwargs, _parse)


def _parse(response: httpx.Response) -> None:
    return None
