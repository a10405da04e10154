"""The file of a cache: making it, sharing it, bounding it, and doing without it.

A cache is never worth an error: whatever is wrong with its file, a reader finds nothing, a writer
keeps nothing, and `problem` says why.
"""

import contextlib
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from qmd_py.cache import damage
from qmd_py.errors import ConfigError

_PATIENCE = 2.0  # seconds; writers take milliseconds, and no answer waits longer for a cache
_FULL, _ROOMY = 0.85, 0.75  # of the bound; the rest is for the log beside the file
_LOG_BYTES = 4_000_000  # a log that has grown longer is cut when its pages are in the file
_OURS = 0x716D6463  # `application_id`: "qmdc"
_FORMAT = 1  # `user_version`

# The scores of a question lie side by side: reading them takes a page or two, and what is
# forgotten together leaves whole pages free.
_SCHEMA = (
    """CREATE TABLE questions (
        id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, used INTEGER NOT NULL, variants BLOB
    )""",
    "CREATE INDEX questions_used ON questions (used)",
    """CREATE TABLE scores (
        question INTEGER NOT NULL, passage BLOB NOT NULL, score REAL NOT NULL,
        PRIMARY KEY (question, passage)
    ) WITHOUT ROWID""",
    f"PRAGMA application_id = {_OURS}",
    f"PRAGMA user_version = {_FORMAT}",
)

_Found = TypeVar("_Found")


_STATE = re.compile(r"prefix-[0-9a-f]{24}\.(?:state|[0-9]+)")  # whole, or half written


def state_file(folder: Path, digest: bytes) -> Path:
    """Where the state of a model that has read some beginning is kept, by 12 bytes that name both."""
    return folder / f"prefix-{digest.hex()}.state"


class CacheFile:
    """An SQLite file that is opened when first needed, and whose faults end here."""

    def __init__(self, path: Path, bound: int) -> None:
        self.path = path
        self.bound = bound
        self.problem: str | None = None
        self._db: sqlite3.Connection | None = None
        self._readable = self._writable = True

    def read(self, work: Callable[[sqlite3.Connection], _Found], nothing: _Found) -> _Found:
        """What the work finds; nothing, when there is no file yet or it fails."""
        try:
            if self._readable and (self._db or self.path.is_file()):
                return work(self._opened())
        except (sqlite3.Error, OSError, ConfigError, ValueError) as error:
            self._readable = self._mended(error)
        return nothing

    def write(self, work: Callable[[sqlite3.Connection], object]) -> bool:
        """Do the work in one transaction that keeps the bound; False when it fails."""
        if not self._writable:
            return False
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            db = self._opened()
            with _transaction(db):
                work(db)
                _trim(db, self.bound)
        except (sqlite3.Error, OSError, ConfigError) as error:
            self._writable = self._mended(error)
            return False
        return True

    def hint(self, db: sqlite3.Connection, statement: str, values: Sequence[object]) -> None:
        """Write what is not worth waiting for, nor a word when it fails."""
        db.execute("PRAGMA busy_timeout = 0")
        with contextlib.suppress(sqlite3.OperationalError):
            db.execute(statement, values)
        db.execute(f"PRAGMA busy_timeout = {_PATIENCE * 1000:.0f}")

    def clear(self) -> bool:
        """Forget everything, states of models beside the file too, and give the room back.

        False when it fails.
        """
        try:
            there = self.path.is_file()
            if there and not self.write(_forget_all):
                return False
            for state in self.path.parent.glob("prefix-*"):
                if _STATE.fullmatch(state.name):
                    state.unlink(missing_ok=True)
        except OSError as error:
            return self._mended(error)
        if there:
            self._give_back()
        return True

    def _give_back(self) -> None:
        with contextlib.suppress(sqlite3.Error):  # a reader may need the old pages
            self._opened().execute("VACUUM")
            self._opened().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def bytes(self) -> int:
        """What it takes on disk, the log included."""
        total = 0
        for path in (self.path, damage.beside(self.path, "-wal")):
            with contextlib.suppress(OSError):
                total += path.stat().st_size
        return total

    def close(self) -> None:
        """Let go of the file; the next use opens it again."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def _opened(self) -> sqlite3.Connection:
        if self._db is None:
            self._db = _open(self.path)
        return self._db

    def _mended(self, error: Exception) -> bool:
        """Say what went wrong; whether it is worth trying again, with a new file perhaps."""
        first = self.problem is None
        self.problem = f"cannot use the cache {self.path}: {_words(error)}"
        if not (first and damage.tells_of(error)):
            return False
        self.close()
        try:
            aside = damage.put_aside(self.path, _PATIENCE)
        except (sqlite3.Error, OSError) as other:
            self.problem = f"cannot replace the damaged cache {self.path}: {_words(other)}"
            return False
        self.problem = (
            f"the cache {self.path} was damaged: it is {aside.name} now, a new one begins"
        )
        return True


def _open(path: Path) -> sqlite3.Connection:
    """A connection in autocommit mode to a cache, which is made when the file is new or empty.

    Raises:
        ConfigError: the file is another program's.
    """
    # a worker thread may ask where the main thread closes; never two at once
    db = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        if _marks(db) == (0, 0):
            _create(db)
        if _marks(db) != (_OURS, _FORMAT):
            raise ConfigError("it is no cache of this qmd; choose another with QMD_CACHE")
        db.execute("PRAGMA synchronous = NORMAL")  # in a power cut the last answers may be lost
        db.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
    except BaseException:
        db.close()
        raise
    return db


def _marks(db: sqlite3.Connection) -> tuple[int, int]:
    [(maker, version)] = db.execute(
        "SELECT application_id, user_version FROM pragma_application_id, pragma_user_version"
    ).fetchall()
    return maker, version


def _create(db: sqlite3.Connection) -> None:
    """Make the tables, unless there are any: another process's, or another program's."""
    if db.execute("SELECT 1 FROM sqlite_schema").fetchone():
        return
    _switch_to_wal(db)
    with _transaction(db):
        if not db.execute("SELECT 1 FROM sqlite_schema").fetchone():
            for statement in _SCHEMA:
                db.execute(statement)


def _switch_to_wal(db: sqlite3.Connection) -> None:
    """Turn WAL on; the switch ignores SQLite's own patience, so it is tried again here."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


@contextlib.contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        # a full disk has ended the transaction already
        with contextlib.suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise


def _trim(db: sqlite3.Connection, bound: int) -> None:
    """Forget the questions least recently asked until the rest has room."""
    if _live_bytes(db) <= bound * _FULL:
        return
    while _live_bytes(db) > bound * _ROOMY:
        [(count,)] = db.execute("SELECT count(*) FROM questions").fetchall()
        if not count:
            return
        oldest = (max(1, count // 32),)
        db.execute(
            "DELETE FROM scores WHERE question IN"
            " (SELECT id FROM questions ORDER BY used, id LIMIT ?)",
            oldest,
        )
        db.execute(
            "DELETE FROM questions WHERE id IN"
            " (SELECT id FROM questions ORDER BY used, id LIMIT ?)",
            oldest,
        )


def _forget_all(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM scores")
    db.execute("DELETE FROM questions")


def _live_bytes(db: sqlite3.Connection) -> int:
    """Bytes of pages in use; those that were freed are filled before the file grows."""
    [(live,)] = db.execute(
        "SELECT (page_count - freelist_count) * page_size"
        " FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
    ).fetchall()
    return int(live)


def _words(error: Exception) -> str:
    text = (error.strerror if isinstance(error, OSError) else None) or str(error)
    if isinstance(error, BlockingIOError):
        return "another qmd is doing so"
    if "locked" in text:
        return "another program holds it"
    if "full" in text:
        return "the disk is full; free some space"
    return text
