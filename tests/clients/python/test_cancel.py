"""Commands whose caller is cancelled or interrupted by Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest
from hostile import answer, client, serve

from boxyard import AsyncBoxHandle, AsyncBoxyard, AsyncTerminalStream, Boxyard
from boxyard._async_driver import AsyncDriver
from boxyard._flows import Flow, Pause
from boxyard._sync_driver import Driver
from given import Given, both, service

#: Programs that are interrupted while they wait for the command in their argument.
_PROGRAMS = {
    "run": "box.run(['sleep', name])",
    "stream": "[piece for piece in box.stream(['sleep', name])]",
    "no_hup": "box.stream(['sleep', name], no_hup=True).ended()",
    "with": "with box.stream(['sleep', name], no_hup=True):\n  time.sleep(60)",
}


async def _is_running(box: AsyncBoxHandle, name: str) -> bool:
    return (await box.run(f"ps -o args | grep -v grep | grep -q 'sleep {name}'")).exit_code == 0


async def _until(box: AsyncBoxHandle, name: str, *, runs: bool) -> None:
    for _ in range(200):
        if await _is_running(box, name) == runs:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"sleep {name} {'never runs' if runs else 'goes on'}")


@both
async def test_one_that_is_run_with_a_timeout_of_the_caller_is_ended(given: Given) -> None:
    if given.kind == "blocking":
        return
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1.5):
            await given.box.run(["sleep", "7301"])
    assert not await _is_running(given.box, "7301")


@both
async def test_one_is_ended_where_its_task_is_cancelled(given: Given) -> None:
    if given.kind == "blocking":
        return
    box = given.box

    async def streamed(name: str, no_hup: bool) -> None:
        await (await box.stream(["sleep", name], no_hup=no_hup)).ended()

    async def held(name: str) -> None:
        async with await box.stream(["sleep", name], no_hup=True):
            await asyncio.sleep(60)

    begin: list[tuple[str, Callable[[str], Coroutine[Any, Any, object]]]] = [
        ("7302", lambda name: box.run(["sleep", name])),
        ("7303", lambda name: streamed(name, False)),
        ("7304", lambda name: streamed(name, True)),
        ("7305", held),
    ]
    for name, start in begin:
        task: asyncio.Task[object] = asyncio.ensure_future(start(name))
        await _until(box, name, runs=True)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await _until(box, name, runs=False)


@both
async def test_one_is_ended_where_its_start_is_cancelled(given: Given) -> None:
    if given.kind == "blocking":
        return
    for seconds in (0.001, 0.01, 0.02):
        for start in (given.box.run(["sleep", "7306"]), given.box.stream(["sleep", "7306"], no_hup=True)):
            task: asyncio.Task[object] = asyncio.ensure_future(start)
            await asyncio.sleep(seconds)
            if not task.cancel():
                # On an idle machine the stream may open sooner. Its command is not cancelled then.
                assert seconds > 0.001
                stream = cast(AsyncTerminalStream, task.result())
                await given.box.signal(cast(str, stream.id), "SIGKILL")
                await stream.close()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            await asyncio.sleep(0.3)
            await _until(given.box, "7306", runs=False)


@both
async def test_one_is_left_where_that_is_asked(given: Given) -> None:
    if given.kind == "blocking":
        return
    box = given.box
    for name, start in (
        ("7307", box.run(["sleep", "7307"], on_cancel="detach")),
        ("7308", _streamed_detached(box, "7308")),
    ):
        task: asyncio.Task[object] = asyncio.ensure_future(start)
        await _until(box, name, runs=True)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0.5)
        assert await _is_running(box, name)
        await box.run(f"pkill -f 'sleep {name}'")


async def _streamed_detached(box: AsyncBoxHandle, name: str) -> None:
    await (await box.stream(["sleep", name], no_hup=True, on_cancel="detach")).ended()


def _make_box(project: str) -> str:
    """Makes the box ``web`` if it is missing. Returns the arguments and calls that follow a client class's name."""
    with contextlib.suppress(Exception), Boxyard(service().url, service().token) as yard:
        from boxyard.models import CreateBox

        yard.create_box(project, CreateBox(name="web"))
    return f"('{service().url}', '{service().token}').box('{project}', 'web')"


@pytest.mark.parametrize("what", ["no_hup", "with"])
def test_one_is_ended_by_ctrl_c_while_it_is_opened(what: str) -> None:
    project = "python-interrupted"
    opening = _make_box(project)
    program = "import os, signal, sys, threading, time, boxyard\n"
    name = {"no_hup": "7320", "with": "7321"}[what]
    program += f"name, box = '{name}', boxyard.Boxyard{opening}\nbox.info()\n"
    program += "threading.Timer(float(sys.argv[1]), os.kill, (os.getpid(), signal.SIGINT)).start()\n"
    program += _PROGRAMS[what]

    async def look() -> None:
        async with AsyncBoxyard(service().url, service().token) as yard:
            for seconds in ("0.002", "0.01", "0.02", "0.03", "0.05"):
                ended = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", program, seconds], capture_output=True)
                assert b"KeyboardInterrupt" in ended.stderr, ended.stderr.decode()
                await _until(yard.box(project, "web"), name, runs=False)

    asyncio.run(look())


@pytest.mark.parametrize("kind", ["blocking", "awaited"])
@pytest.mark.parametrize("what", _PROGRAMS)
def test_one_is_ended_by_ctrl_c(what: str, kind: str) -> None:
    if kind == "awaited" and what != "run":
        return
    name = str(7310 + list(_PROGRAMS).index(what) + (5 if kind == "awaited" else 0))
    project = "python-interrupted"
    opening = _make_box(project)
    blocking = f"import time, boxyard\nname = '{name}'\nbox = boxyard.Boxyard{opening}\n{_PROGRAMS[what]}\n"
    awaited = f"import asyncio, boxyard\nname = '{name}'\nbox = boxyard.AsyncBoxyard{opening}\n"
    awaited += "async def main():\n  await box.run(['sleep', name])\nasyncio.run(main())\n"
    program = subprocess.Popen([sys.executable, "-c", blocking if kind == "blocking" else awaited], stderr=subprocess.PIPE)

    async def interrupt() -> None:
        async with AsyncBoxyard(service().url, service().token) as yard:
            box = yard.box(project, "web")
            await _until(box, name, runs=True)
            program.send_signal(signal.SIGINT)
            said = await asyncio.to_thread(program.communicate)
            assert b"KeyboardInterrupt" in said[1], said[1].decode()
            await _until(box, name, runs=False)

    asyncio.run(interrupt())


@pytest.mark.parametrize("status", [429, 503])
def test_one_that_never_started_is_not_started_by_a_cancellation(status: int) -> None:
    async def cancel() -> None:
        with serve(answer({"code": "busy", "detail": "later"}, status, Retry_After="20")) as hostile:
            yard = client("awaited", hostile.url, attempts=5)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await yard.box("demo", "web").run("true")
            assert len(hostile.heads) == 1
            await yard.close()

    asyncio.run(cancel())


def test_one_whose_start_is_not_answered_is_asked_for_again_by_a_cancellation() -> None:
    def mute(connection: socket.socket, _head: str) -> None:
        connection.recv(1 << 16)
        time.sleep(8)

    async def cancel() -> None:
        with serve(mute) as hostile:
            yard = client("awaited", hostile.url)
            begun = time.monotonic()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await yard.box("demo", "web").run("true")
            assert time.monotonic() - begun < 7
            assert len(hostile.heads) == 2
            await yard.close()

    asyncio.run(cancel())


def test_an_end_that_is_not_answered_keeps_nobody_who_blocks() -> None:
    def flow() -> Flow[None]:
        yield Pause(60)

    begun = time.monotonic()
    Driver(None, None).finish(flow())
    assert 4 < time.monotonic() - begun < 10


class _Held:
    """A socket that counts how often it is closed."""

    id = "exec_1"
    closes = 0

    async def close(self) -> None:
        self.closes += 1


class _BlockingHeld:
    """A socket of a blocking program."""

    id = "exec_1"

    def close(self) -> None:
        """Does nothing."""


@pytest.mark.parametrize("has_begun", [True, False])
def test_one_is_ended_by_ctrl_c_as_its_opening_begins(monkeypatch: pytest.MonkeyPatch, has_begun: bool) -> None:
    opened: list[str] = []
    ended: list[str] = []

    class Interrupted(threading.Thread):
        def start(self) -> None:
            if has_begun:
                super().start()
                self.join()
            raise KeyboardInterrupt

    def open_socket(*_: object) -> _BlockingHeld:
        opened.append("exec_1")
        return _BlockingHeld()

    def end(exec_id: str) -> Flow[None]:
        ended.append(exec_id)
        yield Pause(0)

    with Boxyard("http://127.0.0.1:9", "byt_secret") as yard:
        box = yard.box("demo", "web")
        monkeypatch.setattr("boxyard._sync_box.Thread", Interrupted)
        monkeypatch.setattr(box, "_open", open_socket)
        monkeypatch.setattr(box, "_end", end)
        begun = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            box.stream(["true"], no_hup=True)
        assert time.monotonic() - begun < 4
    assert opened == ended == (["exec_1"] if has_begun else [])


def test_a_second_cancellation_closes_the_socket_and_ends_the_command_once() -> None:
    async def cancel() -> None:
        ends: list[str] = []

        def end(exec_id: str) -> Flow[None]:
            ends.append(exec_id)
            yield Pause(60)

        held = _Held()
        stream = AsyncTerminalStream(AsyncDriver(None, None), cast(Any, held), None, end)

        async def hold() -> None:
            async with stream:
                await asyncio.sleep(60)

        task = asyncio.ensure_future(hold())
        for _ in range(2):
            await asyncio.sleep(0.05)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert held.closes > 0
        await stream._break_off()
        assert ends == ["exec_1"]

    asyncio.run(cancel())


def test_a_socket_that_opens_as_its_stream_is_cancelled_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def cancel() -> None:
        async with AsyncBoxyard("http://127.0.0.1:9", "byt_secret") as yard:
            box, held = yard.box("demo", "web"), _Held()

            async def opened(*_: object) -> _Held:
                asyncio.get_running_loop().call_soon(task.cancel)
                return held

            monkeypatch.setattr(box, "_open", opened)
            task = asyncio.ensure_future(box.stream(["true"]))
            with pytest.raises(asyncio.CancelledError):
                await task
            assert held.closes == 1

    asyncio.run(cancel())
