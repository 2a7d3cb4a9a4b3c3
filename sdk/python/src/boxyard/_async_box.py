"""A box, for programs that await."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from ._async_driver import AsyncByteStream, AsyncDriver
from ._async_streams import AsyncPortStream, AsyncTerminalStream
from ._calls import Call
from ._contents import AsyncContent
from ._doors import open_socket, transfer, upload
from ._errors import ApiError, ConnectionError
from ._execs import ExecFollower, ExecRun, OnCancel, end_exec
from ._flows import Flow, Session, ask
from ._generated.api.boxes.create_box_snapshot import create_box_snapshot
from ._generated.api.boxes.delete_box import delete_box
from ._generated.api.boxes.diff_box_snapshot import diff_box_snapshot
from ._generated.api.boxes.get_box import get_box
from ._generated.api.boxes.list_box_snapshots import list_box_snapshots
from ._generated.api.boxes.restore_box import restore_box
from ._generated.api.boxes.resume_box import resume_box
from ._generated.api.boxes.stop_box import stop_box
from ._generated.api.exec_.signal_exec import signal_exec
from ._generated.api.files.read_archive import read_archive
from ._generated.api.files.read_file import read_file
from ._generated.api.services.list_services import list_services
from ._generated.api.streams.open_port import open_port
from ._generated.models.box import Box
from ._generated.models.box_status import BoxStatus
from ._generated.models.create_box import CreateBox
from ._generated.models.create_box_snapshot import CreateBoxSnapshot
from ._generated.models.exec_ import Exec
from ._generated.models.exec_record import ExecRecord
from ._generated.models.exec_signal import ExecSignal
from ._generated.models.exec_signal_signal import ExecSignalSignal
from ._generated.models.file_entry import FileEntry
from ._generated.models.restore_box import RestoreBox
from ._generated.models.service import Service
from ._generated.models.snapshot import Snapshot
from ._generated.models.snapshot_diff_changes_item import SnapshotDiffChangesItem
from ._generated.models.unpack_report import UnpackReport
from ._ports import PORT_PROTOCOL
from ._requests import Encoding, Typing, console_call, exec_request, fork_request, given, stream_call, unpack_call, write_call
from ._sockets import AsyncSocket
from ._starts import check_started, start_message
from ._terminal import CHANNEL_PROTOCOL, StreamName
from ._waits import create_box, settle_box, wait_for_box

T = TypeVar("T")


class AsyncBoxHandle:
    """A box of a project, by its name."""

    def __init__(self, driver: AsyncDriver, session: Session, project: str, name: str) -> None:
        """Sends no request. Created by ``AsyncBoxyard.box``."""
        self._driver = driver
        self._session = session
        self.project = project
        self.name = name

    async def info(self) -> Box:
        """Returns its current record. Raises ``BoxNotFoundError``."""
        return await self._run(ask(self._session, get_box(self.project, self.name)))

    async def run(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | None = None,
        user: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
        tty: bool | None = None,
        no_hup: bool | None = None,
        timeout_seconds: float | None = None,
        encoding: Encoding | None = None,
        on_cancel: OnCancel = "end",
    ) -> Exec:
        """
        Runs a command or shell line to its end, however long it takes. The record has the last 1 MiB of each stream.

        A cancellation first ends the command, unless ``on_cancel`` is ``detach``.
        """
        body = exec_request(
            command,
            cwd=cwd,
            user=user,
            env=env,
            stdin=stdin,
            tty=tty,
            no_hup=no_hup,
            timeout_seconds=timeout_seconds,
            encoding=encoding,
        )
        run = ExecRun(self._session, self.project, self.name, body)
        try:
            return await self._run(run.run())
        except (ApiError, ConnectionError, GeneratorExit):
            raise
        except BaseException:
            if on_cancel == "end":
                await self._driver.finish(run.end())
            raise

    async def stream(
        self,
        command: Sequence[str],
        *,
        stdin: bool = False,
        tty: bool = False,
        cols: int | None = None,
        rows: int | None = None,
        cwd: str | None = None,
        user: str | None = None,
        env: Mapping[str, str] | None = None,
        no_hup: bool = False,
        timeout_seconds: float | None = None,
        on_cancel: OnCancel = "end",
    ) -> AsyncTerminalStream:
        """
        Starts a command and streams input and output. Without ``stdin`` its input is empty.

        With ``no_hup`` the command keeps running when its client leaves or the service restarts, and its stream resumes automatically. A
        cancellation during a read, or in its ``async with``, ends the command, unless ``on_cancel`` is ``detach``.
        """
        start = start_message(command, env)
        call = stream_call(
            self.project,
            self.name,
            command if start is None else [],
            stdin=stdin,
            tty=tty,
            cols=cols,
            rows=rows,
            cwd=cwd,
            user=user,
            env=env if start is None else None,
            no_hup=no_hup,
            timeout_seconds=timeout_seconds,
        )
        opening = asyncio.ensure_future(self._open(call, start))
        # The service ends a command when its client leaves. Ending a command with ``no_hup`` takes its id, which only the opening returns.
        is_left_running = no_hup and on_cancel == "end"
        try:
            socket = await (asyncio.shield(opening) if is_left_running else opening)
        except asyncio.CancelledError:
            # Also if it was opened in the same turn as the cancellation.
            if is_left_running or not opening.cancelled():
                await self._driver.settle(self._abandon(opening, is_left_running))
            raise
        return AsyncTerminalStream(self._driver, socket, self._follow if no_hup else None, self._end if is_left_running else None)

    async def console(
        self,
        *,
        session: str | None = None,
        shell: str | None = None,
        user: str | None = None,
        cwd: str | None = None,
        typing: Typing | None = None,
        cols: int | None = None,
        rows: int | None = None,
    ) -> AsyncTerminalStream:
        """Attaches to a console, or starts one if it does not exist. The console keeps running when its clients leave."""
        call = console_call(self.project, self.name, session=session, shell=shell, user=user, cwd=cwd, typing=typing, cols=cols, rows=rows)
        return AsyncTerminalStream(self._driver, await self._run(open_socket(self._session, call, CHANNEL_PROTOCOL)), None, None)

    async def connect(self, port: int) -> AsyncPortStream:
        """Connects to a TCP port, published or not. Raises ``PortNotListeningError``."""
        call = open_port(self.project, self.name, str(port))
        return AsyncPortStream(await self._run(open_socket(self._session, call, PORT_PROTOCOL)))

    async def read_file(self, path: str, *, snapshot: str | None = None) -> AsyncByteStream:
        """Reads a file, either now or in a snapshot."""
        call = read_file(self.project, self.name, path=path, snapshot=given(snapshot))
        return AsyncByteStream(await self._run(transfer(self._session, call, is_streamed=True)))

    async def write_file(self, path: str, body: AsyncContent, *, mode: str | None = None, parents: bool | None = None) -> FileEntry:
        """Writes a whole file at once, or nothing. ``mode`` is octal. ``parents`` creates missing directories."""
        call = write_call(self.project, self.name, path, body, mode=mode, parents=parents)
        return await self._run(upload(self._session, call))

    async def read_archive(self, path: str, *, snapshot: str | None = None) -> AsyncByteStream:
        """Reads a tar of a path."""
        call = read_archive(self.project, self.name, path=path, snapshot=given(snapshot))
        return AsyncByteStream(await self._run(transfer(self._session, call, is_streamed=True)))

    async def write_archive(self, path: str, body: AsyncContent) -> UnpackReport:
        """Unpacks a tar into a directory, and returns the members that it refused."""
        return await self._run(upload(self._session, unpack_call(self.project, self.name, path, body)))

    async def fork(self, name: str, more: CreateBox | None = None) -> AsyncBoxHandle:
        """Creates a box with a copy of its disk. ``more`` has the other differences."""
        await self._run(create_box(self._session, self.project, fork_request(self.name, name, more)))
        return AsyncBoxHandle(self._driver, self._session, self.project, name)

    async def snapshot(self, name: str | None = None, *, comment: str | None = None, include_data: bool | None = None) -> Snapshot:
        """Takes a snapshot of its disk and, if asked, of its data volumes. The service chooses a name if none is given."""
        body = CreateBoxSnapshot(name=given(name), comment=given(comment), include_data=given(include_data))
        return await self._run(ask(self._session, create_box_snapshot(self.project, self.name, body=body)))

    def snapshots(self) -> AsyncIterator[Snapshot]:
        """Iterates over its snapshots, oldest first."""
        return self._driver.list(self._session, list_box_snapshots(self.project, self.name))

    async def restore(self, snapshot: str, *, include_data: bool | None = None) -> Box:
        """Restores it to a snapshot, and waits until that is done. The service first saves the present state as an automatic snapshot."""
        body = RestoreBox(snapshot, include_data=given(include_data))
        return await self._run(settle_box(self._session, restore_box(self.project, self.name, body=body), self.project, self.name))

    def diff(self, snapshot: str, to: str | None = None) -> AsyncIterator[SnapshotDiffChangesItem]:
        """Iterates over the changes on its disk since a snapshot, until another one or now."""
        return self._driver.list(self._session, diff_box_snapshot(self.project, self.name, snapshot, to=given(to)))

    async def signal(self, exec_id: str, name: ExecSignalSignal | str) -> ExecRecord:
        """Signals all processes of a command, by its id."""
        return await self._run(ask(self._session, signal_exec(self.project, self.name, exec_id, body=ExecSignal(name))))

    def services(self) -> AsyncIterator[Service]:
        """Iterates over its services by name."""
        return self._driver.list(self._session, list_services(self.project, self.name))

    async def stop(self) -> Box:
        """Stops it, and waits until it has stopped."""
        return await self._run(settle_box(self._session, stop_box(self.project, self.name), self.project, self.name))

    async def resume(self) -> Box:
        """Resumes it, and waits until it runs."""
        return await self._run(settle_box(self._session, resume_box(self.project, self.name), self.project, self.name))

    async def delete(self) -> None:
        """Deletes it, in any state."""
        await self._run(ask(self._session, delete_box(self.project, self.name)))

    async def wait_until(self, status: BoxStatus | str, *, timeout: float | None = None) -> Box:
        """Waits until it has a status. Raises ``BoxNotFoundError`` once it is gone, ``TimeoutError`` after ``timeout`` seconds."""
        return await self._run(wait_for_box(self._session, self.project, self.name, BoxStatus(status), timeout))

    async def _open(self, call: Call[None], start: str | None) -> AsyncSocket:
        socket: AsyncSocket = await self._run(open_socket(self._session, call, CHANNEL_PROTOCOL))
        if start is not None:
            try:
                await socket.send(start)
                check_started(await socket.receive())
            except BaseException:
                await socket.close()
                raise
        return socket

    async def _abandon(self, opening: asyncio.Future[AsyncSocket], is_ended: bool) -> None:
        socket = await opening
        try:
            if is_ended and socket.id is not None:
                await self._run(self._end(socket.id))
        finally:
            await socket.close()

    def _end(self, exec_id: str) -> Flow[None]:
        return end_exec(replace(self._session, attempts=1), self.project, self.name, exec_id)

    def _follow(self, exec_id: str, offsets: Mapping[StreamName, int]) -> ExecFollower:
        return ExecFollower(self._session, (self.project, self.name), exec_id, offsets)

    async def _run(self, flow: Flow[T]) -> T:
        return await self._driver.run(flow)
