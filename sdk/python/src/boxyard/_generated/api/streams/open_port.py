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
    """Connect to a port of a box. Carries one TCP connection over a WebSocket. Needs a token with `ports`,
    or a ticket.

    Request an upgrade to a WebSocket (RFC 6455) with the subprotocol `v1.port.boxyard` or none. The
    WebSocket carries one TCP connection to
    a port of the box, on its loopback address or, if nothing listens there, on its network address.

    - Binary messages carry the bytes of the connection. A client can send at most 64 KiB per message.
    - The text message `end` ends the direction of its sender, and the other direction stays open.
    - The server closes with 1000 after both directions end, and with 1011 if the connection is reset or
    the box stops.
    - If the client closes with 1000 or 1001, the connection is closed. If the client is cut off, the
    connection is reset.
    - The server pings every 15 s, and drops a peer that is silent for 45 s. An idle connection stays
    open.
    - A stopped box with `url_settings.wake` starts first."""
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
