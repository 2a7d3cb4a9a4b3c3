"""Commands, consoles and ports over a socket, for programs that await."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import Self

from ._async_driver import AsyncDriver
from ._errors import ApiError, ConnectionError
from ._execs import ExecFollower
from ._flows import Flow
from ._ports import MESSAGE_BYTES, PORT_END
from ._sockets import AsyncSocket
from ._terminal import ExecEnd, OutputPiece, StreamName, TerminalOutput, input_end_frame, input_frame, resize_frame


class AsyncTerminalStream:
    """A running command or an attached console. Iterate over its output, then ask for its end. One task can write while another reads."""

    def __init__(
        self,
        driver: AsyncDriver,
        socket: AsyncSocket,
        resume: Callable[[str, Mapping[StreamName, int]], ExecFollower] | None,
        end: Callable[[str], Flow[None]] | None,
    ) -> None:
        """
        Creates the stream of a socket. Without ``resume`` a lost socket is an error. ``end`` ends a command that runs without its client.
        """
        self._driver = driver
        self._socket = socket
        self._resume = resume
        self._end = end
        self._output = TerminalOutput()
        self._is_closing = False
        self._pieces = self._read()

    @property
    def id(self) -> str | None:
        """Id of the exec record or session."""
        return self._socket.id

    def __aiter__(self) -> AsyncIterator[OutputPiece]:
        return self._pieces

    async def write(self, data: bytes) -> None:
        """Sends input, and waits until it is on its way."""
        await self._socket.send(input_frame(data))

    async def end_input(self) -> None:
        """Ends the input."""
        await self._socket.send(input_end_frame())

    async def resize(self, cols: int, rows: int) -> None:
        """Sets the size of the terminal in characters."""
        await self._socket.send(resize_frame(cols, rows))

    async def ended(self) -> ExecEnd:
        """Reads the rest of the output, and returns how it ended. Raises ``ConnectionError`` if that is unknown."""
        async for _ in self._pieces:
            pass
        if self._output.end is None:
            raise ConnectionError("The output was not read to its end.")
        return self._output.end

    async def close(self) -> None:
        """Closes the stream. ``no_hup`` decides what happens to the command."""
        self._is_closing = True
        await self._socket.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        if kind is not None and not issubclass(kind, Exception | GeneratorExit):
            await self._break_off()
        await self.close()

    async def _break_off(self) -> None:
        """Closes the stream, and ends the command."""
        self._is_closing = True
        end, self._end = self._end, None
        try:
            if end is not None and self.id is not None and self._output.end is None:
                await self._driver.finish(end(self.id))
        finally:
            await self._socket.close()

    async def _read(self) -> AsyncIterator[OutputPiece]:
        try:
            async for piece in self._read_on():
                yield piece
        except (ApiError, ConnectionError, GeneratorExit):
            raise
        except BaseException:
            await self._break_off()
            raise

    async def _read_on(self) -> AsyncIterator[OutputPiece]:
        while self._output.end is None and (message := await self._socket.receive()) is not None:
            piece = self._output.take(message)
            if piece is not None:
                yield piece
        await self._socket.close()
        if self._output.end is not None:
            return
        if self._is_closing:
            self._output.end = ExecEnd(None, "The client disconnected.")
        elif self._resume is not None and self.id is not None:
            follower = self._resume(self.id, self._output.offsets)
            while follower.end is None:
                for piece in await self._driver.run(follower.step()):
                    yield piece
            self._output.end = follower.end
        else:
            raise ConnectionError("The connection was lost.") if self._socket.closing is None else self._socket.closing.error()


class AsyncPortStream:
    """A TCP connection to a port of a box. Iterate over its output. The two directions end independently."""

    def __init__(self, socket: AsyncSocket) -> None:
        """Creates the stream of a socket."""
        self._socket = socket
        self._pieces = self._read()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    async def read(self) -> bytes:
        """Returns the next bytes, or nothing once the program has ended its direction. Raises ``ConnectionError`` if that broke."""
        return await anext(self._pieces, b"")

    async def write(self, data: bytes) -> None:
        """Sends bytes, and waits until they are on their way."""
        for at in range(0, len(data), MESSAGE_BYTES):
            await self._socket.send(data[at : at + MESSAGE_BYTES])

    async def end(self) -> None:
        """Ends the direction to the program, and leaves the other open."""
        await self._socket.send(PORT_END)

    async def close(self) -> None:
        """Closes the connection. The service still delivers the bytes that were sent."""
        await self._socket.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        await self.close()

    async def _read(self) -> AsyncIterator[bytes]:
        while (message := await self._socket.receive()) is not None:
            if message == PORT_END:
                return
            yield message if isinstance(message, bytes) else message.encode()
        closing = self._socket.closing
        if closing is not None and not closing.is_normal:
            raise closing.error()
