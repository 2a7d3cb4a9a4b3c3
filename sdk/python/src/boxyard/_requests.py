"""Requests about a box, from the arguments of Python programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Literal, TypeVar

from attrs import evolve

from ._calls import Call
from ._contents import AsyncContent, content_of
from ._generated.api.files.write_archive import write_archive
from ._generated.api.files.write_file import write_file
from ._generated.api.streams.open_console import open_console
from ._generated.api.streams.stream_exec import stream_exec
from ._generated.models.create_box import CreateBox
from ._generated.models.environment import Environment
from ._generated.models.exec_request import ExecRequest
from ._generated.models.exec_request_encoding import ExecRequestEncoding
from ._generated.models.file_entry import FileEntry
from ._generated.models.open_console_typing import OpenConsoleTyping
from ._generated.models.stream_exec_start import StreamExecStart
from ._generated.models.unpack_report import UnpackReport
from ._generated.types import UNSET, File, Unset

T = TypeVar("T")

Encoding = Literal["utf-8", "base64"]
#: Whose input a console with several clients accepts.
Typing = Literal["all", "one", "none"]


def given(value: T | None) -> T | Unset:
    """The given value, or the absent value of a request."""
    return UNSET if value is None else value


def exec_request(
    command: str | Sequence[str],
    *,
    cwd: str | None,
    user: str | None,
    env: Mapping[str, str] | None,
    stdin: str | None,
    tty: bool | None,
    no_hup: bool | None,
    timeout_seconds: float | None,
    encoding: Encoding | None,
) -> ExecRequest:
    """Creates the request of a command or shell line."""
    return ExecRequest(
        shell=command if isinstance(command, str) else UNSET,
        command=UNSET if isinstance(command, str) else list(command),
        cwd=given(cwd),
        user=given(user),
        env=UNSET if env is None else Environment.from_dict(env),
        stdin=given(stdin),
        tty=given(tty),
        no_hup=given(no_hup),
        timeout_seconds=given(timeout_seconds),
        encoding=UNSET if encoding is None else ExecRequestEncoding(encoding),
    )


def stream_call(
    project: str,
    name: str,
    command: Sequence[str],
    *,
    stdin: bool,
    tty: bool,
    cols: int | None,
    rows: int | None,
    cwd: str | None,
    user: str | None,
    env: Mapping[str, str] | None,
    no_hup: bool,
    timeout_seconds: float | None,
) -> Call[None]:
    """Creates the request of a streamed command. Without ``command``, the first message carries it."""
    return stream_exec(
        project,
        name,
        command=list(command) if command else UNSET,
        start=UNSET if command else StreamExecStart.MESSAGE,
        stdin=stdin,
        tty=tty,
        cols=given(cols),
        rows=given(rows),
        cwd=given(cwd),
        user=given(user),
        env=[f"{key}={value}" for key, value in env.items()] if env else UNSET,
        no_hup=no_hup,
        timeout_seconds=given(timeout_seconds),
    )


def console_call(
    project: str,
    name: str,
    *,
    session: str | None,
    shell: str | None,
    user: str | None,
    cwd: str | None,
    typing: Typing | None,
    cols: int | None,
    rows: int | None,
) -> Call[None]:
    """Creates the request of a console."""
    return open_console(
        project,
        name,
        session=given(session),
        shell=given(shell),
        user=given(user),
        cwd=given(cwd),
        typing=UNSET if typing is None else OpenConsoleTyping(typing),
        cols=given(cols),
        rows=given(rows),
    )


def fork_request(source: str, name: str, more: CreateBox | None) -> CreateBox:
    """Creates the request of a box with a copy of another's disk."""
    return CreateBox(name=name, fork=source) if more is None else evolve(more, name=name, fork=source)


def write_call(project: str, name: str, path: str, body: AsyncContent, *, mode: str | None, parents: bool | None) -> Call[FileEntry]:
    """Creates the request that writes a file."""
    call = write_file(project, name, path=path, mode=given(mode), parents=given(parents))
    return call.with_content(content_of(body), "application/octet-stream")


def unpack_call(project: str, name: str, path: str, body: AsyncContent) -> Call[UnpackReport]:
    """Creates the request that unpacks a tar."""
    call = write_archive(project, name, path=path, body=File(BytesIO()))
    return call.with_content(content_of(body), "application/x-tar")
