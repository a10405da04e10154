"""Runs of the command line in children that are killed, and how an index is compared."""

import os
import signal
import sqlite3
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from qmd_py.cli.whole import app


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended."""

    status: int
    """Exit status; negative: the signal that killed it."""
    said: str
    """All that it wrote to stderr."""

    @property
    def cut(self) -> bool:
        """Whether the signal came in time."""
        return self.status in {-signal.SIGKILL, 130}


class Child:
    """A fork of this process: everything is imported, so that a kill meets the work, not the start."""

    def __init__(self, work: Callable[[], object], log: Path) -> None:
        self._log = log
        # an interrupt before the child is ready would make it go on as a second run of the tests
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        self.begun = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DeprecationWarning
            )  # threads of this process serve files
            self.pid = os.fork()
        if not self.pid:
            self._work(work)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _work(self, work: Callable[[], object]) -> None:
        status = 0
        try:
            with self._log.open("wb") as log, Path(os.devnull).open("wb") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(log.fileno(), 2)
            import sys

            # a run in the background of a script has it ignored
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.stdout, sys.stderr = open(1, "w"), open(2, "w")  # noqa: SIM115 — to the end
            try:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
                work()
            except SystemExit as error:
                status = int(error.code or 0)
            except KeyboardInterrupt:  # before or after the command itself
                status = 130
            except BaseException:  # noqa: BLE001 — the parent reads it
                traceback.print_exc()
                status = 3
            sys.stderr.flush()
        finally:
            os._exit(status)

    def after(self, seconds: float, number: signal.Signals) -> Ended:
        """Send a signal some time after the start, and see how it ends."""
        time.sleep(max(0.0, self.begun + seconds - time.monotonic()))
        os.kill(self.pid, number)
        return self.end()

    def end(self) -> Ended:
        """Wait for it."""
        _, status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        return Ended(code, self._log.read_text(errors="replace") if self._log.exists() else "")


def command(*words: object) -> Callable[[], None]:
    """A command line, to be run in a child."""
    return lambda: app([str(word) for word in words])


def sound(file: Path) -> bool:
    """Whether SQLite finds nothing wrong."""
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def contents(file: Path) -> dict[str, tuple[object, ...]]:
    """Everything the index says of each note, but for row numbers and times."""
    with closing(sqlite3.connect(file)) as connection:
        notes = {
            pid: (pid, path, *rest)
            for pid, path, *rest in connection.execute(
                """SELECT n.pid, path, title, aliases, tags, metadata, digest, size, problem,
                t.c0, t.c1, t.c2, t.c3, t.c4
                FROM notes n LEFT JOIN note_terms_content t ON t.id = n.pid"""
            )
        }
        parts: dict[int, list[object]] = {pid: [] for pid in notes}
        for pid, *section in connection.execute("SELECT * FROM sections ORDER BY pid, ordinal"):
            parts[pid].append(section)
        for pid, *chunk in connection.execute(
            """SELECT pid, section, first_line, last_line, text, key, t.c0, t.c1, t.c2, t.c3, t.c4
            FROM chunks c LEFT JOIN chunk_terms_content t ON t.id = c.id ORDER BY c.id"""
        ):
            parts[pid].append(chunk)
    return {str(note[1]): (note, parts[pid]) for pid, note in notes.items()}
