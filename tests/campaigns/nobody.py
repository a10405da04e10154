"""Running as a user without rights, in a child of this process."""

import os
from collections.abc import Callable
from pathlib import Path

NOBODY = 65534


def open_to_all(path: Path) -> None:
    """Let everyone into the folders above a path, which pytest makes for their owner alone."""
    for folder in path.parents:
        if folder.stat().st_uid == os.getuid() and len(folder.parts) > 2:
            folder.chmod(folder.stat().st_mode | 0o055)


def as_nobody(work: Callable[[], str]) -> str:
    """What some work returns when it runs without root's rights, which see no permissions.

    The program may lie where nobody may read, so whatever the work needs must have been imported.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            said = work()
        except BaseException as error:  # noqa: BLE001 — the parent is told
            said = f"{type(error).__name__}: {error}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as stream:
        said = stream.read()
    os.waitpid(child, 0)
    return said
