"""Everything that is asked of the index."""

import contextlib
import json
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from qmd_py.query import Query
from qmd_py.records.answers import Candidate, Scope
from qmd_py.records.stored import Chunk, FileState, Section, StoredChunk, StoredNote
from qmd_py.store import matching, project
from qmd_py.store.connection import open_for_reading, translated

if TYPE_CHECKING:
    from qmd_py.records.notes import Collection

Weights = tuple[float, float, float, float, float]
"""BM25 weights of title, aliases, headings, body and side column."""

_NOTE = """SELECT n.pid, k.name, k.root, n.path, p.file, n.title, n.aliases, n.metadata,
    n.mtime_ns, n.size, n.digest, n.indexed_at
    FROM notes n JOIN pids p USING (pid) JOIN collections k ON k.id = n.collection """
_CHUNKS = """WITH best AS MATERIALIZED (
        SELECT rowid AS id, -bm25(chunk_terms, ?, ?, ?, ?, ?) AS score FROM chunk_terms
        WHERE chunk_terms MATCH ? ORDER BY score DESC LIMIT ?)
    SELECT c.id, c.pid, best.score FROM best JOIN chunks c USING (id)
    JOIN notes n USING (pid) JOIN collections k ON k.id = n.collection
    ORDER BY score DESC, k.name, n.path, c.first_line, c.id"""
_NOTES = """WITH best AS MATERIALIZED (
        SELECT rowid AS pid, -bm25(note_terms, ?, ?, ?, ?, ?) AS score FROM note_terms
        WHERE note_terms MATCH ? ORDER BY score DESC LIMIT ?)
    SELECT n.pid, n.pid, best.score FROM best JOIN notes n USING (pid)
    JOIN collections k ON k.id = n.collection
    ORDER BY score DESC, k.name, n.path"""
_TIES = 200
_BATCH = 500  # parameters in one statement; SQLite's least limit is 999


class Reader:
    """A read-only view of an index; use it as a context manager."""

    def __init__(self, file: Path, connection: sqlite3.Connection) -> None:
        self.file = file
        self._connection = connection
        self._project = project.folder_of(file)

    @classmethod
    def open(cls, file: Path) -> Self:
        """Open an existing index.

        Raises:
            IndexMissing: there is no such file.
            IndexUnusable: it is damaged, locked, or of another version.
        """
        return cls(file, open_for_reading(file))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything read inside is of one moment, whatever is written meanwhile."""
        with translated(self.file):
            self._connection.execute("BEGIN")
        try:
            yield
        finally:
            with translated(self.file):
                self._connection.execute("ROLLBACK")

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages its terms were made for."""
        return tuple(json.loads(self.meta("languages") or "[]"))

    @property
    def chunk_chars(self) -> int:
        """The longest chunk with its breadcrumb, in characters."""
        return int(self.meta("chunk_chars") or 0)

    @property
    def made(self) -> str:
        """Changes whenever notes were put into the index."""
        rows = self.rows("SELECT coalesce(max(id), 0) FROM chunks")
        return f"{self.meta('notes put') or 0} {rows[0][0]}"

    def collections(self) -> "list[Collection]":
        """All collections by name, with their numbers of notes."""
        from qmd_py.records.notes import Collection

        rows = self.rows(
            """SELECT k.id, k.name, k.root, k.globs, k.ignores,
            (SELECT count(*) FROM notes n WHERE n.collection = k.id)
            FROM collections k ORDER BY k.name"""
        )
        return [
            Collection(
                id_,
                name,
                project.resolved(self._project, root),
                Reader.strings(globs),
                Reader.strings(ignores),
                notes,
            )
            for id_, name, root, globs, ignores, notes in rows
        ]

    def chunk_run(
        self, query: Query, scope: Scope, depth: int, weights: Weights
    ) -> list[Candidate]:
        """The best chunks by BM25, best first; equal ones by collection, path and line."""
        if matching.is_everything(query, scope):
            return self._best(_CHUNKS, query, depth, weights)
        where, values = matching.conditions(query, scope)
        rows = self.rows(
            f"""SELECT c.id, c.pid, -bm25(chunk_terms, ?, ?, ?, ?, ?) AS score
            FROM chunk_terms JOIN chunks c ON c.id = chunk_terms.rowid
            JOIN notes n ON n.pid = c.pid JOIN collections k ON k.id = n.collection
            WHERE chunk_terms MATCH ?{where}
            ORDER BY score DESC, k.name, n.path, c.first_line, c.id LIMIT ?""",  # noqa: S608
            [*weights, matching.any_of(query), *values, depth],
        )
        return [Candidate(*row) for row in rows]

    def places(self, query: Query, pids: Iterable[int], weights: Weights) -> list[Candidate]:
        """The chunks of some notes by BM25, best first; equal ones in the order of the note."""
        own = dict(self.rows_in("SELECT id, pid FROM chunks WHERE pid IN ({})", pids))
        # the plus keeps SQLite from asking for each row anew: in one pass only these are scored
        rows = self.rows(
            """SELECT rowid, -bm25(chunk_terms, ?, ?, ?, ?, ?) FROM chunk_terms
            WHERE chunk_terms MATCH ? AND +rowid IN (SELECT value FROM json_each(?))""",
            [*weights, matching.any_of(query), json.dumps([*own])],
        )
        found = [Candidate(id_, own[id_], score) for id_, score in rows]
        return sorted(found, key=lambda candidate: (-candidate.score, candidate.id))

    def note_run(self, query: Query, scope: Scope, depth: int, weights: Weights) -> list[Candidate]:
        """The best notes by BM25 over their whole text; equal ones by collection and path."""
        if matching.is_everything(query, scope):
            return self._best(_NOTES, query, depth, weights)
        where, values = matching.conditions(query, scope)
        rows = self.rows(
            f"""SELECT n.pid, n.pid, -bm25(note_terms, ?, ?, ?, ?, ?) AS score
            FROM note_terms JOIN notes n ON n.pid = note_terms.rowid
            JOIN collections k ON k.id = n.collection
            WHERE note_terms MATCH ?{where}
            ORDER BY score DESC, k.name, n.path LIMIT ?""",  # noqa: S608
            [*weights, matching.any_of(query), *values, depth],
        )
        return [Candidate(*row) for row in rows]

    def _best(self, sql: str, query: Query, depth: int, weights: Weights) -> list[Candidate]:
        """The best of all, where nothing else is asked of the notes.

        Scores decide first, without a look at chunk and note of each row: two thirds of the time.
        Those that tie with the last one are needed too; where they are many, all rows are sorted.
        """
        values = [*weights, matching.any_of(query)]
        rows = self.rows(sql, [*values, depth + _TIES])
        if len(rows) == depth + _TIES and rows[depth - 1][2] == rows[-1][2]:
            rows = self.rows(sql, [*values, -1])
        return [Candidate(*row) for row in rows[:depth]]

    def named_like(self, query: Query, scope: Scope, depth: int) -> list[StoredNote]:
        """Notes that share a word with the question in title or aliases, most and rarest first."""
        where, values = matching.conditions(query, scope)
        rows = self.rows(
            _NOTE
            + f"""JOIN note_terms t ON t.rowid = n.pid
            WHERE note_terms MATCH ?{where}
            ORDER BY bm25(note_terms, 1, 1, 0, 0, 0), k.name, n.path LIMIT ?""",
            [f"{{title aliases}} : ({matching.any_of(query)})", *values, depth],
        )
        return [self._note(row) for row in rows]

    def knows(self, terms: Iterable[str]) -> bool:
        """Whether any of the terms is in the index."""
        expression = matching.any_term(terms)
        sql = "SELECT 1 FROM chunk_terms WHERE chunk_terms MATCH ? LIMIT 1"
        return bool(self.rows(sql, [expression]))

    def terms_from(self, beginning: str) -> list[str]:
        """Every index term with this beginning."""
        self.rows(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary "
            "USING fts5vocab (main, chunk_terms, row)"
        )
        # no character sorts after U+10FFFF
        rows = self.rows(
            "SELECT term FROM temp.vocabulary WHERE term >= ? AND term <= ?",
            [beginning, beginning + "\U0010ffff"],
        )
        return [term for (term,) in rows]

    def chunks(self, ids: Iterable[int]) -> dict[int, StoredChunk]:
        """Chunks by id; ids that are gone are left out."""
        rows = self.rows_in(
            "SELECT id, pid, section, first_line, last_line, text FROM chunks WHERE id IN ({})", ids
        )
        return {row[0]: StoredChunk(row[0], row[1], Chunk(*row[2:])) for row in rows}

    def first_chunks(self, pids: Iterable[int]) -> dict[int, StoredChunk]:
        """The first chunk of each note, by pid."""
        ids = self.rows_in("SELECT min(id) FROM chunks WHERE pid IN ({}) GROUP BY pid", pids)
        return {stored.pid: stored for stored in self.chunks(id_ for (id_,) in ids).values()}

    def notes(self, pids: Iterable[int]) -> dict[int, StoredNote]:
        """Notes by pid; pids that are gone are left out."""
        rows = self.rows_in(_NOTE + "WHERE n.pid IN ({})", pids)
        return {row[0]: self._note(row) for row in rows}

    def notes_of(self, scope: Scope) -> list[StoredNote]:
        """All notes in scope, by collection and path."""
        where, values = matching.conditions(Query(""), scope)
        rows = self.rows(_NOTE + f"WHERE 1{where} ORDER BY k.name, n.path", values)
        return [self._note(row) for row in rows]

    def notes_at(self, path: str) -> list[StoredNote]:
        """Notes at this collection-relative path, in any Unicode form, or `collection/path`."""
        normal = unicodedata.normalize("NFC", path)
        rows = self.rows(
            _NOTE + "WHERE n.path = ?1 OR k.name || '/' || n.path = ?1 ORDER BY k.name, p.file",
            [normal],
        )
        exact = [row for row in rows if path in {row[4], f"{row[1]}/{row[4]}"}]
        return [self._note(row) for row in exact or rows]

    def notes_in(self, file: str) -> list[StoredNote]:
        """Notes whose file has this absolute path; several where collections overlap."""
        rows: list[tuple[Any, ...]] = []
        for found in self.collections():
            root = found.root.rstrip("/") + "/"
            if file.startswith(root):
                values = [found.id, file.removeprefix(root)]
                rows += self.rows(_NOTE + "WHERE p.collection = ? AND p.file = ?", values)
        return [self._note(row) for row in rows]

    def toc(self, pid: int) -> tuple[Section, ...]:
        """The toc of a note as indexed."""
        rows = self.rows(
            """SELECT title, level, path, anchor, line, last_line
            FROM sections WHERE pid = ? ORDER BY ordinal""",
            [pid],
        )
        # read in one go, which takes a third of the time
        paths = json.loads(f"[{','.join([row[2] for row in rows])}]")
        return tuple(
            Section(title, level, tuple(path), anchor, line, last_line)
            for (title, level, _, anchor, line, last_line), path in zip(rows, paths, strict=True)
        )

    def _note(self, row: tuple[Any, ...]) -> StoredNote:
        pid, collection, root, path, file, title, aliases, metadata, mtime, size, digest, at = row
        if self._project is not None:
            project.check_note(self.file, file)
            root = project.resolved(self._project, root)
        state = FileState(mtime, size, digest)
        names, about = Reader.strings(aliases), json.loads(metadata)
        return StoredNote(pid, collection, root, path, file, title, names, about, state, at)

    def meta(self, key: str) -> str | None:
        """What is remembered under a key; for this package alone."""
        rows = self.rows("SELECT value FROM meta WHERE key = ?", [key])
        return rows[0][0] if rows else None

    def rows_in(
        self, sql: str, values: Iterable[object], others: Sequence[object] = ()
    ) -> list[tuple[Any, ...]]:
        """Run a statement with `IN ({})` over any number of values; for this package alone.

        The other parameters of the statement come after those of the list.
        """
        wanted = list(values)
        found: list[tuple[Any, ...]] = []
        for at in range(0, len(wanted), _BATCH):
            batch = wanted[at : at + _BATCH]
            found += self.rows(sql.format(", ".join("?" * len(batch))), [*batch, *others])
        return found

    @staticmethod
    def strings(text: str) -> tuple[str, ...]:
        """A list of strings as it is stored."""
        return tuple(json.loads(text))

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a statement; for this package alone."""
        with translated(self.file):
            return self._connection.execute(sql, values).fetchall()
