"""Files, archives and ports, and the same behind a front that cannot stream."""

from __future__ import annotations

import asyncio
import io
import os
import tarfile
from collections.abc import AsyncIterator

import pytest

from boxyard import AsyncPortStream, ConnectionError
from boxyard.errors import BodyTooLargeError, FileNotFoundError, PortNotListeningError
from boxyard.models import PutService
from boxyard.operations import put_service, read_file, stat_file
from given import Given, both, read_all, service

BYTES = os.urandom(9 * 1024 * 1024)
ECHO_PORT = 7001


async def listen(given: Given, port: int, command: str) -> None:
    """Starts a listener in the box, and waits until it listens."""
    body = PutService(command=["/bin/sh", "-c", f"exec nc -ll -p {port} -e {command}"])
    await given.yard.call(put_service(given.project, "web", f"port-{port}", body=body))
    awaited = f"until cat /proc/net/tcp /proc/net/tcp6 | grep -q ':{port:04X} [0-9A-F]*:0000 0A'; do sleep 0.05; done"
    assert (await given.box.run(awaited, timeout_seconds=60)).exit_code == 0


async def pieces_of(data: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(data), 100_000):
        yield data[at : at + 100_000]


@both
async def test_a_file_is_written_whole_and_read_as_a_stream(given: Given) -> None:
    box = given.box
    assert (await box.write_file("/root/a", "grüße")).size_bytes == len("grüße".encode())
    assert await (await box.read_file("/root/a")).read() == "grüße".encode()
    written = await box.write_file("/root/new/b", BYTES, mode="600", parents=True)
    assert (written.size_bytes, written.mode) == (len(BYTES), "0600")
    async with await box.read_file("/root/new/b") as stream:
        assert b"".join([piece async for piece in stream]) == BYTES


@both
async def test_a_file_is_written_from_files_and_pieces(given: Given) -> None:
    box = given.box
    await box.write_file("/root/file", io.BytesIO(BYTES))
    assert await (await box.read_file("/root/file")).read() == BYTES
    await box.write_file("/root/pieces", (BYTES[at : at + 1000] for at in range(0, 10_000, 1000)))
    assert await (await box.read_file("/root/pieces")).read() == BYTES[:10_000]
    if given.kind == "awaited":
        await box.write_file("/root/pieces", pieces_of(BYTES))
        assert await (await box.read_file("/root/pieces")).read() == BYTES


@both
async def test_a_file_that_is_not_there_is_an_error(given: Given) -> None:
    with pytest.raises(FileNotFoundError):
        await given.box.read_file("/root/none")
    with pytest.raises(FileNotFoundError):
        await given.yard.call(stat_file(given.project, "web", path="/root/none"))


@both
async def test_a_part_of_a_file_is_read_by_an_operation(given: Given) -> None:
    await given.box.write_file("/root/part", b"0123456789")
    call = read_file(given.project, "web", path="/root/part", range_="bytes=2-4")
    assert (await given.yard.call(call)).payload.read() == b"234"
    assert await (await given.yard.transfer(call)).read() == b"234"


@both
async def test_a_directory_goes_over_as_a_tar(given: Given) -> None:
    box = given.box
    await box.run("mkdir -p /root/tree/sub; echo deep > /root/tree/sub/file; mkdir -p /root/copy")
    tar = await (await box.read_archive("/root/tree")).read()
    with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
        assert any(name.endswith("sub/file") for name in archive.getnames())
    report = await box.write_archive("/root/copy", tar)
    assert (report.refused, report.entries > 0) == ([], True)
    assert (await box.run("cd /root/copy; find . -type f | xargs cat")).stdout == "deep\n"


@both
async def test_bytes_go_to_a_port_and_back_and_each_direction_ends_by_itself(given: Given) -> None:
    await listen(given, ECHO_PORT, "/bin/cat")
    async with await given.box.connect(ECHO_PORT) as stream:
        sending = asyncio.create_task(send_all(stream))
        got = b"".join([piece async for piece in stream])
        await sending
        assert got == BYTES
        assert await stream.read() == b""


async def send_all(stream: AsyncPortStream) -> None:
    await stream.write(BYTES)
    await stream.end()


@both
async def test_a_port_at_which_nothing_listens_is_an_error(given: Given) -> None:
    with pytest.raises(PortNotListeningError):
        await given.box.connect(7099)


@both
async def test_a_connection_that_is_left_is_closed(given: Given) -> None:
    await listen(given, ECHO_PORT, "/bin/cat")
    stream = await given.box.connect(ECHO_PORT)
    await stream.write(b"one")
    assert await stream.read() == b"one"
    await stream.close()
    with pytest.raises(ConnectionError):
        await stream.write(b"two")


@both
async def test_streams_take_tickets_by_themselves_behind_a_front_that_cannot_stream(given: Given) -> None:
    yard = given.other_yard(url=service().plain)
    box = yard.box(given.project, "web")
    for word in ("one", "two"):
        assert await read_all(await box.stream(["echo", word])) == (f"{word}\n", "", 0)
    await box.write_file("/root/ticket", "by ticket")
    assert await (await box.read_file("/root/ticket")).read() == b"by ticket"
    await listen(given, ECHO_PORT, "/bin/cat")
    async with await box.connect(ECHO_PORT) as stream:
        await stream.write(b"there")
        assert await stream.read() == b"there"


@both
async def test_what_is_too_long_for_such_a_front_is_sent_again_as_far_as_it_can_be_read_again(given: Given) -> None:
    pieces = [b"a" * 256 * 1024] * 8
    whole = b"".join(pieces)
    file = io.BytesIO(b"before" + whole)
    file.seek(6)
    for content in (whole, pieces, file):
        box = given.other_yard(url=service().plain).box(given.project, "web")
        assert (await box.write_file("/root/long", content)).size_bytes == len(whole)
    # Neither client knows the front yet.
    box = given.other_yard(url=service().plain).box(given.project, "web")
    with pytest.raises(BodyTooLargeError, match="cannot be sent to the data address"):
        await box.write_file("/root/once", iter(pieces))
    assert (await box.write_file("/root/once", iter(pieces[:1]))).size_bytes == len(pieces[0])


@both
async def test_streams_go_by_the_data_address_alone_where_that_is_asked_for(given: Given) -> None:
    box = given.other_yard(tickets="always").box(given.project, "web")
    assert await read_all(await box.stream(["echo", "here"])) == ("here\n", "", 0)
    report = await box.write_archive("/tmp", archive_of("by-ticket", b"in a tar"))
    assert report.entries == 1
    assert await (await box.read_file("/tmp/by-ticket")).read() == b"in a tar"


def archive_of(name: str, data: bytes) -> bytes:
    into = io.BytesIO()
    with tarfile.open(fileobj=into, mode="w") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return into.getvalue()
