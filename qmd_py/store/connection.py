"""Opening the index file, and SQLite's errors in our words."""

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from qmd_py.errors import IndexMissing, IndexUnusable, UsageError
from qmd_py.store import project

SCHEMA_VERSION = 2
"""`PRAGMA user_version` of an index that this program reads."""

_MARKS = """SELECT user_version, (SELECT count(*) FROM sqlite_schema),
    (SELECT count(*) = 4 FROM sqlite_schema
        WHERE type = 'table' AND name IN ('meta', 'collections', 'pids', 'chunk_terms'))
    FROM pragma_user_version"""
"""An index of any version is known by its tables, which come together with the version."""

_PATIENCE = 60.0  # seconds; a batch takes about one, but eight may wait on a busy machine


def open_for_reading(file: Path) -> sqlite3.Connection:
    """A read-only connection to an existing index.

    Raises:
        IndexMissing: there is no such file.
        IndexUnusable: it is damaged, locked, or of another version.
    """
    if not file.is_file():
        raise IndexMissing(f"no index at {file}: run 'qmd index DIR' first")
    with translated(file):
        project.check_files(file)
        connection = _connect_read_only(file)
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != SCHEMA_VERSION:
        with contextlib.closing(connection), translated(file):
            _check_ours(connection, file)
        raise IndexUnusable(_version_message(file, version))
    check_data(file, connection)
    return connection


def open_for_writing(file: Path) -> sqlite3.Connection:
    """A connection in autocommit mode with WAL on; the folder is made when missing.

    Raises:
        IndexUnusable: it is damaged, locked, read-only, of a later version, or no index at all.
    """
    with translated(file):
        project.check_files(file)
        file.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(file, timeout=_PATIENCE, isolation_level=None)
        try:
            _check_ours(connection, file)
            _prepare(connection)
        except BaseException:
            connection.close()
            raise
    return connection


def check_data(file: Path, connection: sqlite3.Connection) -> None:
    """Close an index that came with a project and is more than data about it.

    Raises:
        IndexUnusable: it is.
    """
    try:
        with translated(file):
            project.check_contents(file, connection)
    except IndexUnusable:
        connection.close()
        raise


@contextlib.contextmanager
def translated(file: Path) -> Iterator[None]:
    """Turn SQLite's and the file system's errors into `IndexUnusable`.

    Raises:
        IndexUnusable: the index or its disk is at fault.
        UsageError: bytes that are no text, from a command line or a file's name, came this far.
    """
    try:
        yield
    except UnicodeEncodeError as error:
        raise UsageError(f"{error.object!r} is not valid UTF-8: type it in UTF-8") from error
    except sqlite3.DatabaseError as error:
        raise IndexUnusable(f"index {file}: {error}: {_remedy(str(error))}") from error
    except OSError as error:
        raise IndexUnusable(
            f"index {file}: {error.strerror}: choose another with --index"
        ) from error


def _prepare(connection: sqlite3.Connection) -> None:
    """Make a connection ready to write."""
    _switch_to_wal(connection)
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA journal_size_limit = 67108864")
    # a page that is written over and over goes into the file once, and is not read again each time
    connection.execute("PRAGMA wal_autocheckpoint = 8192")
    connection.execute("PRAGMA cache_size = -32768")


def _connect_read_only(file: Path) -> sqlite3.Connection:
    uri = file.absolute().as_uri()
    connection = sqlite3.connect(f"{uri}?mode=ro", uri=True, timeout=_PATIENCE)
    try:
        connection.execute("SELECT 1 FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError as error:
        # WAL needs a writable side file; on a read-only medium nobody writes, so none is needed
        if "unable to open" not in str(error) and "readonly" not in str(error):
            raise
        connection.close()
        connection = sqlite3.connect(f"{uri}?mode=ro&immutable=1", uri=True)
    return connection


def _check_ours(connection: sqlite3.Connection, file: Path) -> None:
    """Leave databases of other programs, and of a later version of this one, as they are.

    Raises:
        IndexUnusable: it is one.
    """
    # one statement, so one state: another process may be making the tables
    version, tables, ours = connection.execute(_MARKS).fetchone()
    if (tables or version) and not (ours and version):
        raise IndexUnusable(f"{file} is another program's database: choose another with --index")
    if version > SCHEMA_VERSION:
        raise IndexUnusable(_version_message(file, version))


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Turn WAL on; the switch ignores SQLite's own patience, so it is tried again here."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


def _version_message(file: Path, version: int) -> str:
    if version > SCHEMA_VERSION:
        return f"index {file} was written by a later qmd: update this one"
    return f"index {file} is of an earlier version: run 'qmd index' to bring it up to date"


def _remedy(error: str) -> str:
    if "locked" in error:
        return "another qmd is writing; try again when it is done"
    if "full" in error:
        return "free some space and run the command again"
    if "not a database" in error:
        return "it is no index of qmd; choose another with --index"
    if "malformed" in error:
        return "delete the file and run 'qmd index' again; your notes are untouched"
    return "check the file and its folder, or choose another with --index"
