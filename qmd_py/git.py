"""Which bytes of a file git has committed; asks the installed git, and never changes anything."""

import contextlib
import os
import select
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

_QUIET: Mapping[str, str] = {
    "GIT_ALLOW_PROTOCOL": "",  # a partial clone would fetch what it lacks
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
_MOST = 16  # repositories asked at a time
_PATIENCE = 2.0  # seconds that an answer may take, or an end
_LONGEST = 65_536  # bytes of an answer
_HASHES = {40: "sha1", 64: "sha256"}


class Repositories:
    """The commits that folders of notes are at, one git process a repository."""

    def __init__(self) -> None:
        self._open: dict[str, _Asked | None] = {}
        self._tops: dict[str, str | None] = {}
        self._silent = False

    def blob(self, root: str, file: str, content: bytes) -> str | None:
        """The id of a file's blob in the commit checked out, if the file has those very bytes.

        Args:
            root: a folder.
            file: relative to the root; the innermost repository around it is asked.
            content: the file as it is now.
        """
        path = f"{root.rstrip('/')}/{file}"
        top = self._top(os.path.dirname(path))  # noqa: PTH120 — ten times as fast
        asked = self._asked(top) if top is not None and "\n" not in path else None
        if top is None or asked is None:
            return None
        said = self._answer(asked, f"HEAD:./{path[len(top) :].lstrip('/')}\n")
        if len(said) != 3 or said[1] != "blob":
            return None
        return said[0] if said[0] == _hashed(content, len(said[0])) else None

    def knows(self, root: str, file: str) -> bool:
        """Whether a file lies in a repository at all; it need not be read for that."""
        return self._top(os.path.dirname(f"{root.rstrip('/')}/{file}")) is not None  # noqa: PTH120

    def _top(self, folder: str) -> str | None:
        """The innermost folder around, or that one, in which a repository begins."""
        if folder not in self._tops:
            around = map(str, (Path(folder), *Path(folder).parents))
            begun = (top for top in around if os.path.exists(f"{top}/.git"))  # noqa: PTH110 — never raises
            self._tops[folder] = next(begun, None)
        return self._tops[folder]

    def _asked(self, top: str) -> "_Asked | None":
        if top not in self._open:
            if len(self._open) >= _MOST:
                oldest = self._open.pop(next(iter(self._open)))
                if oldest:
                    oldest.end(_PATIENCE)
            self._open[top] = None if self._silent else _Asked.started(top)
        return self._open[top]

    def _answer(self, asked: "_Asked", line: str) -> list[str]:
        try:
            return asked.answer(os.fsencode(line)).decode("ascii", "replace").split()
        except TimeoutError:  # nor would another one answer
            self._silent = True
            self.close(patience=0)
        except OSError:  # it has ended
            return []
        return []

    def close(self, patience: float = _PATIENCE) -> None:
        """End the git processes; each has so many seconds before it is killed."""
        for asked in filter(None, self._open.values()):
            asked.end(patience)
        self._open.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()


class _Asked:
    """A git process that says what paths are."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._poll = select.poll()  # select() knows no descriptors above 1023
        if process.stdout:
            self._poll.register(process.stdout, select.POLLIN)

    @classmethod
    def started(cls, top: str) -> Self | None:
        """In a working tree; None where git cannot be had."""
        git = shutil.which("git")
        if git is None:
            return None
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        try:
            process = subprocess.Popen(
                [git, "-C", top, "cat-file", "--batch-check"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**kept, **_QUIET},
                bufsize=0,
            )
        except OSError:  # it is there and no program
            return None
        return cls(process)

    def answer(self, line: bytes) -> bytes:
        """The line that answers a line.

        Raises:
            OSError: it has ended.
            TimeoutError: it does not answer.
        """
        asking, telling = self._process.stdin, self._process.stdout
        if asking is None or telling is None:
            raise BrokenPipeError
        asking.write(line)
        until, said = time.monotonic() + _PATIENCE, b""
        while not said.endswith(b"\n"):
            left = until - time.monotonic()
            if left <= 0 or len(said) > _LONGEST or not self._poll.poll(left * 1000):
                raise TimeoutError
            if not (more := telling.read(_LONGEST)):
                raise BrokenPipeError
            said += more
        return said

    def end(self, patience: float) -> None:
        """Let it go; kill it when it will not."""
        for stream in filter(None, (self._process.stdin, self._process.stdout)):
            with contextlib.suppress(OSError):
                stream.close()
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _hashed(content: bytes, digits: int) -> str | None:
    """The id git gives to a file with these bytes; None in a repository of an unknown kind."""
    kind = _HASHES.get(digits)
    if kind is None:
        return None
    import hashlib

    return hashlib.new(
        kind, b"blob %d\0" % len(content) + content, usedforsecurity=False
    ).hexdigest()
