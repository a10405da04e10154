"""MCP on stdin and stdout: nothing but the protocol on stdout, and no message too large."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, BinaryIO, Self

import anyio
import anyio.to_thread
from mcp.server.stdio import stdio_server

from qmd_py.server.protocol import MOST_BYTES, McpServer, refusal, unreadable


def serve(server: McpServer) -> None:
    """Serve one client until it closes the pipe, or nobody reads any more."""
    wire = _claimed_stdout()
    try:
        anyio.run(_serve, server, _Lines(sys.stdin.buffer, wire), wire)
    except* BrokenPipeError:
        pass  # the client is gone, and that is its right


def _claimed_stdout() -> "_Wire":
    """The real stdout; whatever else is printed goes to stderr from now on."""
    private = os.dup(1)
    os.dup2(2, 1)
    return _Wire(private)


async def _serve(server: McpServer, lines: "_Lines", wire: "_Wire") -> None:
    lines.start()
    streams: Any = stdio_server(stdin=lines, stdout=wire)  # type: ignore[arg-type]
    async with streams as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


class _Wire:
    """Lines to the client, each whole."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    async def write(self, text: str) -> None:
        """Write a message.

        Raises:
            BrokenPipeError: nobody reads.
        """
        await anyio.to_thread.run_sync(self._write, text, abandon_on_cancel=True)

    async def flush(self) -> None:
        """Nothing is kept back."""

    async def refuse(self, reason: str) -> None:
        """Answer a message that has no readable id."""
        await self.write(refusal(reason) + "\n")

    def _write(self, text: str) -> None:
        content = memoryview(text.encode("utf-8", "replace"))
        with self._lock:
            while content:
                content = content[os.write(self._descriptor, content) :]


class _Lines:
    """Lines from the client, read by a thread that nobody has to wait for at the end."""

    def __init__(self, stream: BinaryIO, wire: _Wire) -> None:
        self._stream = stream
        self._wire = wire
        self._queue: asyncio.Queue[bytes] = asyncio.Queue(16)

    def start(self) -> None:
        """Begin to read."""
        put = _putter(self._queue, asyncio.get_running_loop())
        threading.Thread(target=self._read, args=(put,), name="stdin", daemon=True).start()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        while line := await self._queue.get():
            reason = unreadable(line)
            if reason is None:
                return line.decode()
            await self._wire.refuse(reason)
        raise StopAsyncIteration

    def _read(self, put: Callable[[bytes], None]) -> None:
        while line := self._line():
            if line.strip():
                put(line)
        put(b"")

    def _line(self) -> bytes:
        """The next line; of one that is too long just enough to tell."""
        try:
            line = self._stream.readline(MOST_BYTES + 1)
            rest = line
            while len(rest) > MOST_BYTES and not rest.endswith(b"\n"):
                rest = self._stream.readline(MOST_BYTES + 1)
        except (OSError, ValueError):  # closed under the reader
            return b""
        return line


def _putter(
    queue: "asyncio.Queue[bytes]", loop: asyncio.AbstractEventLoop
) -> Callable[[bytes], None]:
    """Puts into the queue from another thread, and waits while it is full."""

    def put(line: bytes) -> None:
        asyncio.run_coroutine_threadsafe(queue.put(line), loop).result()

    return put
