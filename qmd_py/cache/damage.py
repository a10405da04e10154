"""A damaged SQLite file: known by its errors, and put aside so that a new one can begin."""

import contextlib
import os
import sqlite3
from pathlib import Path

_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def tells_of(error: Exception) -> bool:
    """Whether an error says that the file is damaged."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE


def put_aside(path: Path, patience: float) -> Path:
    """Rename a damaged file, never a good one; the name it has then.

    It is not deleted: a path set by mistake may lead to something dear.

    Raises:
        OSError: it cannot be renamed, or another process is about it.
        sqlite3.Error: it cannot be examined.
    """
    import fcntl

    aside = beside(path, ".damaged")
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        # of two processes that found the damage, the second would put the first one's new file aside
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.is_file() and _is_damaged(path, patience):
            # the log goes first: a new file would be taken for the one it belongs to
            for end in ("-wal", "-shm"):
                beside(path, end).unlink(missing_ok=True)
            path.replace(aside)
    finally:
        os.close(folder)
    return aside


def _is_damaged(path: Path, patience: float) -> bool:
    with contextlib.closing(sqlite3.connect(path, timeout=patience)) as db:
        try:
            [(verdict,)] = db.execute("PRAGMA integrity_check(1)").fetchall()
        except sqlite3.DatabaseError as error:
            if tells_of(error):
                return True
            raise
    return bool(verdict != "ok")


def beside(path: Path, end: str) -> Path:
    """The file of another kind that belongs to this one."""
    return path.with_name(path.name + end)
