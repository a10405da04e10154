"""Everything that changes the index."""

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from qmd_py.errors import NotFound, UsageError
from qmd_py.records.notes import Collection
from qmd_py.records.stored import FileState
from qmd_py.store import project, references
from qmd_py.store.connection import SCHEMA_VERSION, check_data, open_for_writing, translated
from qmd_py.store.reader import Reader
from qmd_py.store.rows import Row, Rows


@dataclass(frozen=True, slots=True)
class KnownFile:
    """What the index knows of a file, for telling whether it changed."""

    pid: int
    file: str
    state: FileState
    made_by: str
    """How its terms and chunks were made; another way means it has to be indexed again."""


class Writer(Reader):
    """A reader that also writes; every batch is one transaction."""

    @classmethod
    def open(cls, file: Path) -> Self:
        """Open an index, creating or migrating it.

        Raises:
            IndexUnusable: it is damaged, locked, read-only, or of a later version.
        """
        connection = open_for_writing(file)
        with translated(file):
            if connection.execute("PRAGMA user_version").fetchone()[0] != SCHEMA_VERSION:
                # what knows the tables takes longer to import than an unchanged folder to compare
                from qmd_py.store.schema import bring_up_to_date

                bring_up_to_date(connection)
        check_data(file, connection)
        return cls(file, connection)

    @contextlib.contextmanager
    def batch(self) -> Iterator[None]:
        """One transaction: all of it or nothing."""
        with translated(self.file):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._rollback()
                raise
            self._connection.execute("COMMIT")

    def execute(self, sql: str, values: Sequence[object] = ()) -> None:
        """Run a statement inside a batch; for this package alone."""
        self._connection.execute(sql, values)

    def executemany(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        """Run a statement once a row inside a batch; for this package alone."""
        self._connection.executemany(sql, rows)

    def set_meta(self, key: str, value: str) -> None:
        """Remember a setting the index was made with."""
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def add_collection(
        self, name: str, root: str, globs: Sequence[str], ignores: Sequence[str]
    ) -> Collection:
        """Register a folder.

        Raises:
            UsageError: the name is taken, or the folder lies outside the index's project.
        """
        kept = project.stored(self.file, root)
        try:
            self._connection.execute(
                "INSERT INTO collections (name, root, globs, ignores) VALUES (?, ?, ?, ?)",
                (name, kept, json.dumps(list(globs)), json.dumps(list(ignores))),
            )
        except sqlite3.IntegrityError as error:
            raise UsageError(
                f"there is a collection '{name}' already: choose another --name"
            ) from error
        return next(found for found in self.collections() if found.name == name)

    def remove_collection(self, collection: Collection) -> None:
        """Forget a collection and all of its notes; the files stay."""
        with self.batch():
            for known in self.known_files(collection):
                self.delete_note(known.pid)
            self._connection.execute("DELETE FROM collections WHERE id = ?", (collection.id,))

    def rename_collection(self, collection: Collection, name: str) -> None:
        """Give a collection another name; pids stay.

        Raises:
            UsageError: the name is taken.
        """
        with self.batch():
            try:
                self._connection.execute(
                    "UPDATE collections SET name = ? WHERE id = ?", (name, collection.id)
                )
            except sqlite3.IntegrityError as error:
                raise UsageError(f"there is a collection '{name}' already") from error

    def known_files(self, collection: Collection) -> list[KnownFile]:
        """Every indexed file of a collection."""
        rows = self.rows(
            """SELECT pid, p.file, n.mtime_ns, n.size, n.digest, n.made_by
            FROM notes n JOIN pids p USING (pid) WHERE n.collection = ?""",
            [collection.id],
        )
        return [KnownFile(row[0], row[1], FileState(*row[2:5]), row[5]) for row in rows]

    def pid_for(self, collection: Collection, file: str) -> int:
        """The pid of a path: the one it had before, or a new one."""
        values = (collection.id, file)
        self._connection.execute(
            "INSERT OR IGNORE INTO pids (collection, file) VALUES (?, ?)", values
        )
        row = self._connection.execute(
            "SELECT pid FROM pids WHERE collection = ? AND file = ?", values
        ).fetchone()
        return int(row[0])

    def move_note(self, pid: int, file: str, path: str, state: FileState) -> None:
        """Let a note's pid follow its file to another path.

        Raises:
            NotFound: there is no such note.
        """
        collection = self._connection.execute(
            "SELECT collection FROM pids WHERE pid = ?", (pid,)
        ).fetchone()
        if collection is None:
            raise NotFound(f"no note {pid} to move")
        # a tombstone at the new path gives way to the note that lives
        self._connection.execute(
            """DELETE FROM pids WHERE collection = ? AND file = ?
            AND pid NOT IN (SELECT pid FROM notes)""",
            (*collection, file),
        )
        self._connection.execute("UPDATE pids SET file = ? WHERE pid = ?", (file, pid))
        self._connection.execute(
            "UPDATE notes SET path = ?, mtime_ns = ?, size = ? WHERE pid = ?",
            (path, state.mtime_ns, state.size, pid),
        )

    def touch_note(self, pid: int, state: FileState) -> None:
        """Remember a file's new times when its bytes are the same."""
        self._connection.execute(
            "UPDATE notes SET mtime_ns = ?, size = ? WHERE pid = ?",
            (state.mtime_ns, state.size, pid),
        )

    def put_note(
        self,
        pid: int,
        collection: Collection,
        rows: Rows,
        state: FileState,
        *,
        indexed_at: str,
        made_by: str,
    ) -> None:
        """Write a note in place of what the index had under its pid."""
        self.delete_note(pid)
        self._connection.execute(
            """INSERT INTO meta VALUES ('notes put', '1')
            ON CONFLICT (key) DO UPDATE SET value = value + 1"""
        )
        self._connection.execute(
            "INSERT INTO notes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                pid, collection.id, rows.path, rows.title, *rows.about, state.mtime_ns, state.size,
                state.digest, indexed_at, made_by, rows.problem or rows.remark,
            ),
        )  # fmt: skip
        self._connection.executemany(
            "INSERT INTO sections VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [(pid, *row) for row in rows.sections],
        )
        self._put_terms("note_terms", [(pid, *rows.terms)])
        self._put_chunks(pid, rows)
        references.put(self, pid, rows)

    def delete_note(self, pid: int) -> None:
        """Take a note out of the index; its pid stays its own."""
        chunks = self.rows("SELECT id FROM chunks WHERE pid = ?", [pid])
        # row by row: a statement that may delete several makes FTS5 write all it holds back
        self._connection.executemany("DELETE FROM chunk_terms WHERE rowid = ?", chunks)
        self._connection.execute("DELETE FROM note_terms WHERE rowid = ?", (pid,))
        self._connection.execute("DELETE FROM chunks WHERE pid = ?", (pid,))
        self._connection.execute("DELETE FROM notes WHERE pid = ?", (pid,))

    def _put_chunks(self, pid: int, rows: Rows) -> None:
        [(last,)] = self.rows("SELECT coalesce(max(id), 0) FROM chunks")
        self._connection.executemany(
            "INSERT INTO chunks (id, pid, section, first_line, last_line, text, key) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(at, pid, *row) for at, row in enumerate(rows.chunks, last + 1)],
        )
        terms = [(at, *row) for at, row in enumerate(rows.chunk_terms, last + 1)]
        self._put_terms("chunk_terms", terms)

    def _put_terms(self, table: str, rows: Sequence[Row]) -> None:
        self._connection.executemany(
            f"INSERT INTO {table} (rowid, title, aliases, headings, body, side) "  # noqa: S608
            "VALUES (?, ?, ?, ?, ?, ?)",
            rows,
        )

    def _rollback(self) -> None:
        # a full disk or an interrupt may have ended the transaction already
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
