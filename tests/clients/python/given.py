"""What the tests of the Python SDK are given: a service, and a client that blocks as well as one that is awaited."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

import pytest

from boxyard import (
    AsyncBoxHandle,
    AsyncBoxyard,
    AsyncTerminalStream,
    BoxHandle,
    Boxyard,
    ByteStream,
    PortStream,
    TerminalStream,
)
from boxyard.errors import NameTakenError
from boxyard.models import BoxConfigInput, CreateBox

Kind = Literal["blocking", "awaited"]


@dataclass(frozen=True)
class Service:
    """The service of a test run, which writes this into the working directory."""

    url: str
    token: str
    #: Kills and starts the agent: ``POST kill``, ``POST start``.
    control: str
    #: The same service behind a front that cannot stream.
    plain: str


@functools.cache
def service() -> Service:
    """Reads where the service is."""
    return Service(**json.loads(Path("service.json").read_text()))


def restart_agent(*steps: Literal["kill", "start"]) -> None:
    """Kills the agent, or starts it again, and waits until that is done."""
    for step in steps:
        urllib.request.urlopen(urllib.request.Request(f"{service().control}/{step}", method="POST")).close()


@dataclass(frozen=True)
class Given:
    """What one test is given. The client that blocks is behind the face of the other, with its calls in threads."""

    kind: Kind
    yard: AsyncBoxyard
    project: str
    others: list[AsyncBoxyard] = field(default_factory=list)

    @property
    def box(self) -> AsyncBoxHandle:
        """A box that runs."""
        return self.yard.box(self.project, "web")

    def other_yard(self, **options: Any) -> AsyncBoxyard:
        """Makes another client of the same kind, which is closed after the test."""
        self.others.append(open_yard(self.kind, **options))
        return self.others[-1]


def both(test: Callable[[Given], Awaitable[None]]) -> Callable[[Kind], None]:
    """Makes two tests of one: with the client that blocks, and with the one that is awaited."""

    @pytest.mark.parametrize("kind", ["blocking", "awaited"])
    def run(kind: Kind) -> None:
        async def run_test() -> None:
            given = Given(kind, open_yard(kind), _project_with_box(kind))
            try:
                await test(given)
            finally:
                for yard in (given.yard, *given.others):
                    await yard.close()

        asyncio.run(run_test())

    run.__name__ = test.__name__
    return run


def open_yard(kind: Kind, **options: Any) -> AsyncBoxyard:
    """Makes a client of a kind, of the service unless told otherwise."""
    settings = {"url": service().url, "token": service().token, **options}
    if kind == "awaited":
        return AsyncBoxyard(**settings)
    return cast(AsyncBoxyard, Blocking(Boxyard(**settings)))


async def read_all(stream: AsyncTerminalStream) -> tuple[str, str, int | None]:
    """Reads a command to its end: stdout, stderr, exit code."""
    text = {"stdout": b"", "stderr": b""}
    async for piece in stream:
        text[piece.stream] += piece.data
    return text["stdout"].decode(), text["stderr"].decode(), (await stream.ended()).exit_code


@functools.cache
def _project_with_box(kind: Kind) -> str:
    project = f"python-{kind}"
    # The box may be there, of an earlier file of tests.
    with Boxyard(service().url, service().token) as yard, contextlib.suppress(NameTakenError):
        yard.create_box(project, CreateBox(name="web", config=BoxConfigInput(ram_mb=64)))
    return project


class Blocking:
    """An object that blocks, as one that is awaited: the same names, with calls in threads."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if not callable(value):
            return value
        if name in _AT_ONCE:
            return lambda *args, **named: _adapt(value(*args, **named))

        async def call(*args: Any, **named: Any) -> Any:
            return _adapt(await asyncio.to_thread(value, *args, **named))

        return call

    def __aiter__(self) -> AsyncIterator[Any]:
        return _iterate(iter(self._target))

    async def __aenter__(self) -> Blocking:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._target.close)


def _adapt(value: Any) -> Any:
    if isinstance(value, BoxHandle | ByteStream | PortStream | TerminalStream):
        return Blocking(value)
    return _iterate(value) if isinstance(value, Iterator) else value


async def _iterate(iterator: Iterator[Any]) -> AsyncIterator[Any]:
    end = object()
    while (each := await asyncio.to_thread(next, iterator, end)) is not end:
        yield each


#: What is not awaited by the other kind either.
_AT_ONCE = frozenset({"box", "list", "events", "snapshots", "diff", "services"})
