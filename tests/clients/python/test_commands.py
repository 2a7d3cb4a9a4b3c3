"""Commands and consoles."""

from __future__ import annotations

import asyncio

import pytest

from boxyard import ConnectionError
from boxyard.errors import BoxNotFoundError
from boxyard.models import ExecStatus
from boxyard.operations import get_exec
from given import Given, both, read_all, restart_agent

LINES = 40


@both
async def test_one_is_run_to_its_end_over_http(given: Given) -> None:
    ran = await given.box.run("echo out; echo err >&2; exit 3")
    assert (ran.stdout, ran.stderr, ran.exit_code) == ("out\n", "err\n", 3)
    ran = await given.box.run(["sh", "-c", "cat; echo $A; pwd"], stdin="in\n", env={"A": "b"}, cwd="/tmp")
    assert (ran.stdout, ran.exit_code) == ("in\nb\n/tmp\n", 0)


@both
async def test_the_end_of_one_that_is_killed_is_told(given: Given) -> None:
    ran = await given.box.run("kill -9 $$")
    assert (ran.status, ran.signal) == (ExecStatus.KILLED, "SIGKILL")
    stream = await given.box.stream(["sh", "-c", "kill -9 $$"])
    assert (await stream.ended()).exit_code == 137


@both
async def test_one_is_streamed_with_its_input(given: Given) -> None:
    command = ["sh", "-c", "cat; echo $A $0 >&2; exit 4", "a b&c"]
    async with await given.box.stream(command, stdin=True, env={"A": "b"}) as stream:
        await stream.write(b"in\n")
        await stream.end_input()
        assert await read_all(stream) == ("in\n", "b a b&c\n", 4)
        assert (stream.id or "").startswith("exe_")


@both
async def test_one_with_a_terminal_is_told_its_size(given: Given) -> None:
    stream = await given.box.stream(["sh", "-c", "stty size; read line; stty size"], tty=True, stdin=True, cols=91, rows=17)
    seen = b""
    async for piece in stream:
        seen += piece.data
        if seen == b"17 91\r\n":
            await stream.resize(100, 30)
            await stream.write(b"\n")
    assert b"30 100" in seen
    assert (await stream.ended()).exit_code == 0


@both
async def test_output_far_larger_than_the_queue_comes_whole_to_a_slow_reader(given: Given) -> None:
    stream = await given.box.stream(["sh", "-c", "head -c 20000000 /dev/zero"])
    size = 0
    async for piece in stream:
        size += len(piece.data)
        if size < 100_000:
            await asyncio.sleep(0.05)
    assert size == 20_000_000


@both
async def test_one_that_writes_without_end_is_left(given: Given) -> None:
    stream = await given.box.stream(["sh", "-c", "while :; do echo y; done"])
    async for piece in stream:
        assert piece.stream == "stdout"
        break
    await stream.close()
    assert (await stream.ended()).exit_code is None
    with pytest.raises(ConnectionError):
        await stream.write(b"late")


@both
async def test_a_refused_stream_is_the_error_of_the_api(given: Given) -> None:
    with pytest.raises(BoxNotFoundError) as refused:
        await given.yard.box(given.project, "none").stream(["true"])
    assert refused.value.status == 404


@both
async def test_the_stream_of_one_with_no_hup_goes_on_over_an_agent_that_is_killed_byte_for_byte(given: Given) -> None:
    line = f"i=0; while [ $i -lt {LINES} ]; do echo line-$i; echo err-$i >&2; i=$((i+1)); sleep 0.1; done; exit 5"
    stream = await given.box.stream(["sh", "-c", line], no_hup=True)
    text = {"stdout": b"", "stderr": b""}
    restart: asyncio.Task[None] | None = None
    async for piece in stream:
        text[piece.stream] += piece.data
        if restart is None and b"line-2\n" in text["stdout"]:
            restart = asyncio.create_task(asyncio.to_thread(restart_agent, "kill", "start"))
    assert restart is not None
    await restart
    for name, word in (("stdout", "line"), ("stderr", "err")):
        assert text[name].decode() == "".join(f"{word}-{i}\n" for i in range(LINES))
    assert (await stream.ended()).exit_code == 5
    record = await given.yard.call(get_exec(given.project, "web", stream.id or ""))
    assert record.exit_code == 5


@both
async def test_a_stream_without_no_hup_that_is_lost_is_a_connection_error_and_its_code_is_not_guessed(given: Given) -> None:
    stream = await given.box.stream(["sh", "-c", "echo begun; sleep 600"])
    with pytest.raises(ConnectionError):
        async for _ in stream:
            await asyncio.to_thread(restart_agent, "kill")
    with pytest.raises(ConnectionError):
        await stream.ended()
    await asyncio.to_thread(restart_agent, "start")
    assert (await given.box.wait_until("running", timeout=120)).name == "web"


@both
async def test_a_console_goes_on_for_the_next_client(given: Given) -> None:
    first = await given.box.console(session="kept")
    await first.write(b"echo se$((1))en\n")
    seen = b""
    async for piece in first:
        seen += piece.data
        if b"se1en" in seen:
            break
    await first.close()
    second = await given.box.console(session="kept")
    await second.write(b"exit 6\n")
    stdout, _, code = await read_all(second)
    assert "se1en" in stdout
    assert code == 6
