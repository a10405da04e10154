"""Processes run side by side: seconds, processor seconds, peak memory."""

import contextlib
import os
import signal
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MEGABYTE = 1_000_000
LONGEST = 1200
"""Seconds after which a process is ended: it hangs, or nobody would wait for it."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one process cost, those it started included."""

    seconds: float
    processor: float
    """Seconds of processor time: what is left of a timing on a busy machine."""
    megabytes: float
    """Most memory held at one time."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command line and what its environment has beside the common part."""

    words: Sequence[str]
    environ: Mapping[str, str]
    allowed: tuple[int, ...] = (0,)
    """Exit statuses that are no failure."""

    def run(self, *, watch: bool = False) -> Cost:
        """Run it to its end; with `watch`, memory is that of all its processes together.

        Raises:
            RuntimeError: it failed, or took too long.
        """
        begin = time.perf_counter()
        process = subprocess.Popen(
            self.words,
            env={**bare_environ(), **self.environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        held = _Watch(process.pid) if watch else None
        limit = threading.Timer(LONGEST, os.killpg, (process.pid, signal.SIGKILL))
        limit.daemon = True
        limit.start()
        assert process.stderr
        try:
            with process.stderr as stream:
                said = stream.read()
            _, status, used = os.wait4(process.pid, 0)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        finally:
            limit.cancel()
        seconds = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in self.allowed:
            raise RuntimeError(f"{' '.join(self.words)}: {said.decode(errors='replace')[-500:]}")
        most = used.ru_maxrss * 1024 / MEGABYTE
        return Cost(seconds, used.ru_utime + used.ru_stime, max(most, held.most() if held else 0.0))


class _Watch:
    """Looks again and again at the memory of a process and those below it."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._most = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def most(self) -> float:
        self._over.set()
        self._thread.join()
        return self._most

    def _look(self) -> None:
        while not self._over.wait(0.05):
            self._most = max(self._most, sum(map(resident, family(self._pid))))


def family(pid: int) -> list[int]:
    """A process and all below it, whichever of its threads has started them."""
    found = [pid]
    for one in found:
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            with contextlib.suppress(OSError):  # ended meanwhile
                found += map(int, task.read_text().split())
    return found


def resident(pid: int) -> float:
    """Megabytes that a process holds; none when it is gone."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / MEGABYTE


def bare_environ() -> dict[str, str]:
    """The environment of every process: without what the caller has set for Python or for us."""
    own = ("PYTHON", "QMD_")
    return {name: value for name, value in os.environ.items() if not name.startswith(own)}


@dataclass(frozen=True, slots=True)
class Pair:
    """Medians of runs that took turns."""

    ours: Cost
    theirs: Cost | None
    ratio: float | None
    """Median of the ratios, run by run, so that what else the machine does falls on both."""
    runs: int


Run = Callable[[], Cost]


class OtherFailedError(RuntimeError):
    """What ours is measured against could not be run."""


def paired(ours: Run, theirs: Run | None, runs: int) -> Pair:
    """Run two things by turns, after one run of each that does not count.

    Raises:
        OtherFailedError: the second one failed.
    """
    mine: list[Cost] = []
    others: list[Cost] = []
    for _ in range(runs + (runs > 1)):
        mine.append(ours())
        if theirs:
            others.append(_run(theirs))
    mine, others = mine[-runs:], others[-runs:]
    ratios = [one.seconds / other.seconds for one, other in zip(mine, others, strict=False)]
    return Pair(
        median(mine),
        median(others) if others else None,
        statistics.median(ratios) if ratios else None,
        runs,
    )


def _run(theirs: Run) -> Cost:
    try:
        return theirs()
    except RuntimeError as error:
        raise OtherFailedError(str(error)) from error


def median(costs: Sequence[Cost]) -> Cost:
    """The median of each figure; of memory the highest."""
    return Cost(
        statistics.median(cost.seconds for cost in costs),
        statistics.median(cost.processor for cost in costs),
        max(cost.megabytes for cost in costs),
    )
