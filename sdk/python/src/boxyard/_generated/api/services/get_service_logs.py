from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call, unexpected_answer
from ...models.get_service_logs_encoding import GetServiceLogsEncoding
from ...models.get_service_logs_version import GetServiceLogsVersion
from ...models.service_logs import ServiceLogs
from ...types import UNSET, Unset


def get_service_logs(
    project: str,
    name: str,
    service: str,
    *,
    version: GetServiceLogsVersion | str | Unset = GetServiceLogsVersion.ACTIVE,
    offset: int | Unset = UNSET,
    max_bytes: int | Unset = UNSET,
    encoding: GetServiceLogsEncoding | str | Unset = GetServiceLogsEncoding.UTF_8,
    wait_seconds: int | Unset = 0,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
    last_event_id: str | Unset = UNSET,
) -> Call[ServiceLogs]:
    """Read the log of a service. The log continues across restarts. Needs a token with `exec`, or a
    ticket.

    `Accept: text/event-stream` requests a stream with one item per message. The `id` of a message is
    the cursor. Send it as
    `Last-Event-ID` to continue after it. A message without data arrives every 15 s, and a message named
    `problem` says why the stream ends."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    if not isinstance(last_event_id, Unset):
        headers["Last-Event-ID"] = last_event_id

    params: dict[str, Any] = {}

    json_version: str | Unset = UNSET
    if not isinstance(version, Unset):
        json_version = GetServiceLogsVersion(version).value

    params["version"] = json_version

    params["offset"] = offset

    params["max_bytes"] = max_bytes

    json_encoding: str | Unset = UNSET
    if not isinstance(encoding, Unset):
        json_encoding = GetServiceLogsEncoding(encoding).value

    params["encoding"] = json_encoding

    params["wait_seconds"] = wait_seconds

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/v1/projects/{project}/boxes/{name}/services/{service}/logs".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
            service=quote(str(service), safe=""),
        ),
        "params": params,
    }

    _kwargs["headers"] = headers
    return Call("get_service_logs", _kwargs, _parse)


def _parse(response: httpx.Response) -> ServiceLogs:
    if response.status_code == 200:
        response_200 = ServiceLogs.from_dict(response.json())

        return response_200

    raise unexpected_answer(response)
