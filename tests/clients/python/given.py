"""Fixtures of the Python SDK's tests: a service, a blocking client and an async client."""

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
    """The service of a test run. The runner writes these fields into the working directory."""

    url: str
    token: str
    #: Kills and starts the agent: ``POST kill``, ``POST start``.
    control: str
    #: The same service behind a front that cannot stream.
    plain: str


@functools.cache
def service() -> Service:
    """Reads the address of the service."""
    return Service(**json.loads(Path("service.json").read_text()))


def restart_agent(*steps: Literal["kill", "start"]) -> None:
    """Kills or starts the agent, and waits until that is done."""
    for step in steps:
        urllib.request.urlopen(urllib.request.Request(f"{service().control}/{step}", method="POST")).close()


@dataclass(frozen=True)
class Given:
    """Fixtures of one test. A blocking client has the interface of the async one, with its calls in threads."""

    kind: Kind
    yard: AsyncBoxyard
    project: str
    others: list[AsyncBoxyard] = field(default_factory=list)

    @property
    def box(self) -> AsyncBoxHandle:
        """Returns a running box."""
        return self.yard.box(self.project, "web")

    def other_yard(self, **options: Any) -> AsyncBoxyard:
        """Makes another client of the same kind, which is closed after the test."""
        self.others.append(open_yard(self.kind, **options))
        return self.others[-1]


def both(test: Callable[[Given], Awaitable[None]]) -> Callable[[Kind], None]:
    """Makes two tests from one: one with the blocking client, one with the async client."""

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
    """Makes a client of a kind, for the service by default."""
    settings = {"url": service().url, "token": service().token, **options}
    if kind == "awaited":
        return AsyncBoxyard(**settings)
    return cast(AsyncBoxyard, Blocking(Boxyard(**settings)))


async def read_all(stream: AsyncTerminalStream) -> tuple[str, str, int | None]:
    """Reads a command to its end. Returns stdout, stderr and the exit code."""
    text = {"stdout": b"", "stderr": b""}
    async for piece in stream:
        text[piece.stream] += piece.data
    return text["stdout"].decode(), text["stderr"].decode(), (await stream.ended()).exit_code


@functools.cache
def _project_with_box(kind: Kind) -> str:
    project = f"python-{kind}"
    # The box can exist from an earlier test file.
    with Boxyard(service().url, service().token) as yard, contextlib.suppress(NameTakenError):
        yard.create_box(project, CreateBox(name="web", config=BoxConfigInput(ram_mb=64)))
    return project


class Blocking:
    """Wraps a blocking object as an async one: the same names, with calls in threads."""

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


#: Members that the async client does not await either.
_AT_ONCE = frozenset({"box", "list", "events", "snapshots", "diff", "services"})
