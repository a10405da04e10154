"""Whether the index is what it ought to be."""

import contextlib
import sqlite3
from pathlib import Path

from qmd_py.store.connection import translated
from qmd_py.store.embeddings import Space
from qmd_py.store.reader import Reader

_TOLD = 3  # faults of one kind; the remedy is the same for all
_TERMS = ("chunk_terms", "note_terms")

# What the tables have to say of each other; each asks for the number of exceptions.
_RULES = {
    "chunks without terms": "SELECT count(*) FROM chunks WHERE id NOT IN (SELECT id FROM chunk_terms_docsize)",
    "terms without a chunk": "SELECT count(*) FROM chunk_terms_docsize WHERE id NOT IN (SELECT id FROM chunks)",
    "notes without terms": "SELECT count(*) FROM notes WHERE pid NOT IN (SELECT id FROM note_terms_docsize)",
    "terms without a note": "SELECT count(*) FROM note_terms_docsize WHERE id NOT IN (SELECT pid FROM notes)",
    "notes without a chunk": "SELECT count(*) FROM notes WHERE pid NOT IN (SELECT pid FROM chunks)",
    "rows that belong to nothing": "SELECT count(*) FROM pragma_foreign_key_check",
}


def version() -> str:
    """The version of SQLite."""
    return sqlite3.sqlite_version


def faults(store: Reader) -> list[str]:
    """What is wrong in the file and between its tables; empty when nothing is.

    Raises:
        IndexUnusable: the file is so damaged that it cannot be examined.
    """
    said = [text for (text,) in store.rows(f"PRAGMA integrity_check({_TOLD})")]
    found = [] if said == ["ok"] else said
    for what, question in _RULES.items():
        [(count,)] = store.rows(question)
        if count:
            found.append(f"{count} {what}")
    return found


def term_faults(file: Path) -> list[str]:
    """Which of the term tables do not agree with their own contents.

    SQLite does this only for a writer, so it needs the file to be writable, and a moment in which
    nobody else writes; nothing is changed.

    Raises:
        IndexUnusable: the file cannot be opened for writing.
    """
    with translated(file), contextlib.closing(_for_writing(file)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        found = [table for table in _TERMS if not _agrees(connection, table)]
        connection.execute("ROLLBACK")
    return [f"the terms in {table} do not agree with their texts" for table in found]


def _for_writing(file: Path) -> sqlite3.Connection:
    uri = f"{file.absolute().as_uri()}?mode=rw"
    return sqlite3.connect(uri, uri=True, timeout=2, isolation_level=None)


def _agrees(connection: sqlite3.Connection, table: str) -> bool:
    try:
        connection.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")  # noqa: S608
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_CORRUPT:
            return False
        raise
    return True


def of_other_makes(store: Reader, make: str) -> int:
    """How many notes were made with other settings than these."""
    [(count,)] = store.rows(
        "SELECT count(*) FROM notes WHERE instr(made_by || ' ', ?) = 0", [f" {make} "]
    )
    return int(count)


def orphans(store: Reader, space: Space) -> int:
    """How many vectors belong to passages that no note has any more."""
    [(count,)] = store.rows(
        """SELECT count(*) FROM vectors v WHERE v.space = ? AND v.row IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM chunks c WHERE c.key = v.key)""",
        [space.id],
    )
    return int(count)
