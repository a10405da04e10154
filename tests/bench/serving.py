"""Servers for agents, ours and the npm qmd's, asked over their pipes by the SDK's client."""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from anyio.from_thread import start_blocking_portal
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from tests.bench.measuring import Command, Cost, Run, bare_environ, family, resident

_FIRST = 3  # calls that open the index and load what is needed


@contextlib.contextmanager
def running(command: Command, tool: str, arguments: Mapping[str, object]) -> Iterator[Run]:
    """A server that has answered already; a run calls its tool once more.

    Raises:
        RuntimeError: the tool answers with an error.
    """
    program, *words = command.words
    server = StdioServerParameters(
        command=program, args=words, env={**bare_environ(), **command.environ}
    )
    before = set(family(os.getpid()))
    with (
        _plain_errors(),
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(server)) as client,
    ):
        started = [pid for pid in family(os.getpid()) if pid not in before]

        def run() -> Cost:
            begin, spent = time.perf_counter(), _spent(started)
            result = portal.call(client.call_tool, tool, dict(arguments))
            seconds = time.perf_counter() - begin
            if result.is_error:
                raise RuntimeError(f"{tool}: {result.content}")
            return Cost(seconds, _spent(started) - spent, sum(map(resident, started)))

        for _ in range(_FIRST):
            run()
        yield run


@contextlib.contextmanager
def _plain_errors() -> Iterator[None]:
    """Errors as they were raised, out of the groups that tasks put them into."""
    try:
        yield
    except ExceptionGroup as group:
        inner: Exception = group
        while isinstance(inner, ExceptionGroup):
            inner = inner.exceptions[0]
        raise inner from group


def _spent(pids: list[int]) -> float:
    """Seconds of processor time of these processes, in steps of a hundredth."""
    ticks = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])  # utime and stime, proc_pid_stat(5)
    return ticks / os.sysconf("SC_CLK_TCK")
