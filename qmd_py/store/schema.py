"""Tables and their migrations."""

import sqlite3

from sqlite_utils import Database, Migrations

from qmd_py.store.connection import SCHEMA_VERSION

_TOKENIZER = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Co'"
"""Splits at white space only: what goes in are finished index terms."""

migrations = Migrations("qmd-py")


def bring_up_to_date(connection: sqlite3.Connection) -> None:
    """Create or migrate the tables, once, however many processes start together."""
    if connection.execute("PRAGMA user_version").fetchone()[0] == SCHEMA_VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        migrations.apply(Database(connection))
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


@migrations()
def m001_notes_and_terms(db: Database) -> None:
    """Collections, notes, sections, chunks, and the terms of chunks and whole notes."""
    for statement in (
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        """CREATE TABLE collections (
            id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, root TEXT NOT NULL,
            globs TEXT NOT NULL, ignores TEXT NOT NULL)""",
        # a pid outlives its note, so that a file that comes back is the same note again
        """CREATE TABLE pids (
            pid INTEGER PRIMARY KEY AUTOINCREMENT,
            collection INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
            file TEXT NOT NULL, UNIQUE (collection, file))""",
        """CREATE TABLE notes (
            pid INTEGER PRIMARY KEY REFERENCES pids (pid) ON DELETE CASCADE,
            collection INTEGER NOT NULL, path TEXT NOT NULL, title TEXT NOT NULL,
            aliases TEXT NOT NULL, tags TEXT NOT NULL, description TEXT NOT NULL,
            metadata TEXT NOT NULL, mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL,
            digest TEXT NOT NULL, indexed_at TEXT NOT NULL, made_by TEXT NOT NULL, problem TEXT)""",
        "CREATE INDEX notes_by_path ON notes (collection, path)",
        """CREATE TABLE sections (
            pid INTEGER NOT NULL REFERENCES notes (pid) ON DELETE CASCADE, ordinal INTEGER NOT NULL,
            level INTEGER NOT NULL, line INTEGER NOT NULL, last_line INTEGER NOT NULL,
            title TEXT NOT NULL, anchor TEXT NOT NULL, path TEXT NOT NULL,
            PRIMARY KEY (pid, ordinal)) WITHOUT ROWID""",
        """CREATE TABLE chunks (
            id INTEGER PRIMARY KEY, pid INTEGER NOT NULL REFERENCES notes (pid) ON DELETE CASCADE,
            section INTEGER, first_line INTEGER NOT NULL, last_line INTEGER NOT NULL,
            text TEXT NOT NULL, key BLOB NOT NULL)""",
        "CREATE INDEX chunks_by_note ON chunks (pid, id)",
        "CREATE INDEX chunks_by_key ON chunks (key)",
        # a space holds the vectors of one fingerprint; a null row is a passage that failed
        """CREATE TABLE spaces (
            id INTEGER PRIMARY KEY AUTOINCREMENT, fingerprint TEXT NOT NULL UNIQUE,
            dimensions INTEGER NOT NULL, file TEXT NOT NULL)""",
        """CREATE TABLE vectors (
            space INTEGER NOT NULL REFERENCES spaces (id) ON DELETE CASCADE, key BLOB NOT NULL,
            row INTEGER, PRIMARY KEY (space, key)) WITHOUT ROWID""",
        "CREATE UNIQUE INDEX vectors_by_row ON vectors (space, row)",
        f"""CREATE VIRTUAL TABLE chunk_terms USING fts5 (
            title, aliases, headings, body, side, tokenize = "{_TOKENIZER}")""",
        f"""CREATE VIRTUAL TABLE note_terms USING fts5 (
            title, aliases, headings, body, side, tokenize = "{_TOKENIZER}")""",
    ):
        db.execute(statement)


@migrations()
def m002_references_and_contexts(db: Database) -> None:
    """Tags and links of notes, and what folders are about."""
    for statement in (
        """CREATE TABLE tags (
            pid INTEGER NOT NULL REFERENCES notes (pid) ON DELETE CASCADE, key TEXT NOT NULL,
            PRIMARY KEY (pid, key)) WITHOUT ROWID""",
        """CREATE TABLE links (
            pid INTEGER NOT NULL REFERENCES notes (pid) ON DELETE CASCADE, ordinal INTEGER NOT NULL,
            target TEXT NOT NULL, anchor TEXT NOT NULL, wiki INTEGER NOT NULL, line INTEGER NOT NULL,
            resolved INTEGER, PRIMARY KEY (pid, ordinal)) WITHOUT ROWID""",
        "CREATE INDEX links_by_resolved ON links (resolved)",
        "ALTER TABLE collections ADD COLUMN links_pending INTEGER NOT NULL DEFAULT 1",
        """CREATE TABLE contexts (
            collection INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
            path TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (collection, path)) WITHOUT ROWID""",
    ):
        db.execute(statement)
