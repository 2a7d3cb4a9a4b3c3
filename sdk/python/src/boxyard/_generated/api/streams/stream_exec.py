from typing import Any
from urllib.parse import quote

import httpx

from ...._calls import Call
from ...models.stream_exec_start import StreamExecStart
from ...types import UNSET, Unset


def stream_exec(
    project: str,
    name: str,
    *,
    command: list[str] | Unset = UNSET,
    start: StreamExecStart | str | Unset = StreamExecStart.QUERY,
    stdin: bool | Unset = False,
    stdout: bool | Unset = True,
    stderr: bool | Unset = True,
    tty: bool | Unset = False,
    container: str | Unset = UNSET,
    cwd: str | Unset = UNSET,
    user: str | Unset = UNSET,
    env: list[str] | Unset = UNSET,
    cols: int | Unset = UNSET,
    rows: int | Unset = UNSET,
    ssh_agent: bool | Unset = False,
    no_hup: bool | Unset = False,
    timeout_seconds: float | Unset = UNSET,
    x_request_id: str | Unset = UNSET,
    if_none_match: str | Unset = UNSET,
) -> Call[None]:
    """Run a command over a WebSocket. Uses the protocol of Kubernetes clients. Needs a token with `exec`,
    or a ticket.

    Request an upgrade to a WebSocket (RFC 6455) with one of these subprotocols:

    - `v5.channel.k8s.io`: binary messages. The first byte is the channel, and `[255, channel]` closes a
    channel. Text from a client is read as bytes.
    - `v4.channel.k8s.io`: the same, without closing channels.
    - `v4.base64.channel.k8s.io`: text messages with an ASCII digit for the channel, then base64.

    Channels: 0 stdin, 1 stdout, 2 stderr, 3 status, 4 resize. Resize carries
    `{"Width":80,"Height":24}`. Status carries one
    Kubernetes `Status`: `Success`, or `Failure` with reason `NonZeroExitCode` and the cause `ExitCode`.
    Signal n is reported as
    exit code 128 + n. The server then closes with 1000. It pings every 15 s, and drops a peer that is
    silent for 45 s."""
    headers: dict[str, Any] = {}
    if not isinstance(x_request_id, Unset):
        headers["X-Request-Id"] = x_request_id

    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    params: dict[str, Any] = {}

    json_command: list[str] | Unset = UNSET
    if not isinstance(command, Unset):
        json_command = command

    params["command"] = json_command

    json_start: str | Unset = UNSET
    if not isinstance(start, Unset):
        json_start = StreamExecStart(start).value

    params["start"] = json_start

    params["stdin"] = stdin

    params["stdout"] = stdout

    params["stderr"] = stderr

    params["tty"] = tty

    params["container"] = container

    params["cwd"] = cwd

    params["user"] = user

    json_env: list[str] | Unset = UNSET
    if not isinstance(env, Unset):
        json_env = env

    params["env"] = json_env

    params["cols"] = cols

    params["rows"] = rows

    params["ssh_agent"] = ssh_agent

    params["no_hup"] = no_hup

    params["timeout_seconds"] = timeout_seconds

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "GET",
        "url": "/v1/projects/{project}/boxes/{name}/exec/ws".format(
            project=quote(str(project), safe=""),
            name=quote(str(name), safe=""),
        ),
        "params": params,
    }

    _kwargs["headers"] = headers
    return Call("stream_exec", _kwargs, _parse)


def _parse(response: httpx.Response) -> None:
    return None
