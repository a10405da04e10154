"""Which bytes of a file git has committed; asks the installed git, and never changes anything."""

import hashlib
import os
import shutil
import subprocess
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
_HASHES = {40: "sha1", 64: "sha256"}


class Repositories:
    """The commits that folders of notes are at, one git process a folder."""

    def __init__(self) -> None:
        self._open: dict[str, subprocess.Popen[bytes] | None] = {}

    def blob(self, root: str, file: str, content: bytes) -> str | None:
        """The id of a file's blob in the commit checked out, if the file has those very bytes.

        Args:
            root: a folder in a working tree.
            file: relative to the root.
            content: the file as it is now.
        """
        process = self._process(root)
        if process is None or "\n" in file or not process.stdin or not process.stdout:
            return None
        try:
            process.stdin.write(os.fsencode(f"HEAD:./{file}\n"))
            process.stdin.flush()
            said = process.stdout.readline().decode("ascii", "replace").split()
        except OSError:  # it has ended: then git proves nothing
            return None
        if len(said) != 3 or said[1] != "blob":
            return None
        return said[0] if said[0] == _hashed(content, len(said[0])) else None

    def _process(self, root: str) -> subprocess.Popen[bytes] | None:
        if root not in self._open:
            self._open[root] = _started(root) if _in_a_working_tree(Path(root)) else None
        return self._open[root]

    def close(self) -> None:
        """End the git processes."""
        for process in filter(None, self._open.values()):
            process.communicate()
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


def _started(root: str) -> subprocess.Popen[bytes] | None:
    git = shutil.which("git")
    if git is None:
        return None
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.Popen(
        [git, "-C", root, "cat-file", "--batch-check"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**kept, **_QUIET},
    )


def _in_a_working_tree(folder: Path) -> bool:
    return any((above / ".git").exists() for above in (folder, *folder.parents))


def _hashed(content: bytes, digits: int) -> str | None:
    """The id git gives to a file with these bytes; None in a repository of an unknown kind."""
    kind = _HASHES.get(digits)
    if kind is None:
        return None
    return hashlib.new(
        kind, b"blob %d\0" % len(content) + content, usedforsecurity=False
    ).hexdigest()
