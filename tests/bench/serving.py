"""Servers for agents, ours and the npm qmd's, asked over their pipes by the SDK's client.

A process of its own (`python -m tests.bench.serving`), since no child's peak of memory is below what
its parent holds, and the SDK is large. It reads what to run on stdin, and prints a `Pair`.
"""

import contextlib
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.bench.measuring import (
    Command,
    Cost,
    Pair,
    Run,
    bare_environ,
    family,
    paired,
    resident,
)

_ROOT = Path(__file__).parents[2]  # where `tests` is found
_FIRST = 3  # calls that open the index and load what is needed


@dataclass(frozen=True, slots=True)
class Served:
    """A server, and how its tool is asked."""

    command: Command
    tool: str
    arguments: str
    """JSON, with `QUESTION` where the question goes."""


def compared(ours: Served, theirs: Served | None, questions: Sequence[str], runs: int) -> Pair:
    """Both asked the same questions by turns, in another process.

    Raises:
        RuntimeError: a server ends, or answers with an error.
    """
    told = {
        "servers": [asdict(one) for one in (ours, theirs) if one],
        "questions": list(questions),
        "runs": runs,
    }
    program = [sys.executable, "-m", "tests.bench.serving"]
    done = subprocess.run(
        program, cwd=_ROOT, input=json.dumps(told), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-500:])
    found = json.loads(done.stdout)
    costs = [Cost(**cost) if cost else None for cost in (found["ours"], found["theirs"])]
    assert costs[0]
    return Pair(costs[0], costs[1], found["ratio"], found["runs"])


@contextlib.contextmanager
def running(served: Served, questions: Sequence[str]) -> Iterator[Run]:
    """A server that has answered already; a run asks it the next question.

    Raises:
        RuntimeError: the tool answers with an error.
    """
    from anyio.from_thread import start_blocking_portal
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters

    program, *words = served.command.words
    server = StdioServerParameters(
        command=program, args=words, env={**bare_environ(), **served.command.environ}
    )
    before, turn = set(family(os.getpid())), itertools.cycle(questions)
    with (
        _plain_errors(),
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(server)) as client,
    ):
        started = [pid for pid in family(os.getpid()) if pid not in before]

        def run() -> Cost:
            quoted = json.dumps(next(turn))
            asked = json.loads(served.arguments.replace('"QUESTION"', quoted))
            begin, spent = time.perf_counter(), _spent(started)
            result = portal.call(client.call_tool, served.tool, asked)
            seconds = time.perf_counter() - begin
            if result.is_error:
                raise RuntimeError(f"{served.tool}: {result.content}")
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


def main() -> None:
    """Ask the servers that stdin tells of."""
    told = json.load(sys.stdin)
    with contextlib.ExitStack() as stack:
        runs = [
            stack.enter_context(
                running(
                    Served(Command(**one["command"]), one["tool"], one["arguments"]),
                    told["questions"],
                )
            )
            for one in told["servers"]
        ]
        pair = paired(runs[0], runs[1] if len(runs) > 1 else None, told["runs"])
    print(json.dumps(asdict(pair)))


if __name__ == "__main__":
    main()
