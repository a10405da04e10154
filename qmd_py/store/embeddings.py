"""Which passage has which vector: the index's side of the embeddings."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qmd_py.query import Query
from qmd_py.records.answers import Candidate, Scope
from qmd_py.records.values import Value
from qmd_py.store import matching
from qmd_py.store.reader import Reader

if TYPE_CHECKING:
    from qmd_py.reports import VectorStatus
    from qmd_py.store.writer import Writer


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Space(Value):
    """The vectors of one fingerprint."""

    id: int
    fingerprint: str
    dimensions: int
    file: str
    """Name of the vector file, beside the index."""
    rows: int
    """How many rows of the file count."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pending(Value):
    """A passage without a vector, and what it is made of."""

    chunk: int
    """Id of the first chunk it stands for."""
    key: bytes
    title: str
    aliases: tuple[str, ...]
    toc_path: tuple[str, ...]
    text: str


def spaces(store: Reader) -> list[Space]:
    """All spaces, oldest first."""
    rows = store.rows(
        """SELECT id, fingerprint, dimensions, file,
        (SELECT coalesce(max(row) + 1, 0) FROM vectors v WHERE v.space = s.id)
        FROM spaces s ORDER BY id"""
    )
    return [Space(*row) for row in rows]


def space_of(store: Reader, fingerprint: str) -> Space | None:
    """The space of a fingerprint, if anything was embedded under it."""
    return next((found for found in spaces(store) if found.fingerprint == fingerprint), None)


def add_space(store: "Writer", fingerprint: str, dimensions: int) -> Space:
    """A new, empty space with a file name of its own."""
    store.execute(
        "INSERT INTO spaces (fingerprint, dimensions, file) VALUES (?, ?, '')",
        (fingerprint, dimensions),
    )
    store.execute(
        "UPDATE spaces SET file = ? || id WHERE file = ''", (f"{store.file.name}.vectors-",)
    )
    return next(found for found in spaces(store) if found.fingerprint == fingerprint)


def drop_space(store: "Writer", space: Space) -> None:
    """Forget a space; its file is the caller's to delete, once this is committed."""
    store.execute("DELETE FROM vectors WHERE space = ?", (space.id,))
    store.execute("DELETE FROM spaces WHERE id = ?", (space.id,))
    store.execute("DELETE FROM meta WHERE key = ?", (_whole(space),))


def count_pending(store: Reader, space: Space | None) -> int:
    """How many passages have no vector in a space (all of them when there is none)."""
    # by the keys alone, in the order of both indexes: a fifth of what a look at the chunks takes
    rows = store.rows(
        """SELECT count(DISTINCT c.key) FROM chunks c INDEXED BY chunks_by_key
        WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.space = ? AND v.key = c.key)""",
        [space.id if space else -1],
    )
    return int(rows[0][0])


def count_waiting(store: Reader, space: Space) -> int:
    """The same, without counting where no note was put since nothing was pending."""
    return 0 if store.meta(_whole(space)) == store.made else count_pending(store, space)


def note_whole(store: "Writer", space: Space) -> None:
    """Remember, where nothing is pending, that it is so for the notes as they are."""
    if not count_pending(store, space):
        store.set_meta(_whole(space), store.made)


def _whole(space: Space) -> str:
    return f"whole space {space.id}"


def count_failed(store: Reader, space: Space) -> int:
    """How many passages of the notes the model could not embed."""
    rows = store.rows(
        """SELECT count(*) FROM vectors v WHERE v.space = ? AND v.row IS NULL
        AND EXISTS (SELECT 1 FROM chunks c WHERE c.key = v.key)""",
        [space.id],
    )
    return int(rows[0][0])


def overview(store: Reader) -> "tuple[VectorStatus, ...]":
    """The state of all spaces, oldest first."""
    from qmd_py.reports import VectorStatus

    return tuple(
        VectorStatus(
            space.fingerprint, space.rows, count_pending(store, space), count_failed(store, space)
        )
        for space in spaces(store)
    )


def pending(store: Reader, space: Space, after: int, limit: int) -> list[Pending]:
    """The next passages without a vector, by chunk id, from the chunks above id `after`."""
    rows = store.rows(
        f"""SELECT c.id, c.key, n.title, n.aliases, coalesce(s.path, '[]'), c.text {_PENDING}
        AND c.id > ? ORDER BY c.id LIMIT ?""",
        [space.id, after, limit],
    )
    found: dict[bytes, Pending] = {}
    for id_, key, title, aliases, path, text in rows:
        names, headings = Reader.strings(aliases), Reader.strings(path)
        found.setdefault(key, Pending(id_, key, title, names, headings, text))
    return list(found.values())


_PENDING = """FROM chunks c JOIN notes n USING (pid)
    LEFT JOIN sections s ON s.pid = c.pid AND s.ordinal = c.section
    WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.space = ? AND v.key = c.key)"""


def add_vectors(store: "Writer", space: Space, rows: Sequence[tuple[bytes, int | None]]) -> None:
    """Give passages their rows; None for those that failed."""
    store.executemany(
        "INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", [(space.id, *row) for row in rows]
    )


def drop_failed(store: "Writer", space: Space) -> None:
    """Forget which passages failed, so that they are tried again."""
    store.execute("DELETE FROM vectors WHERE space = ? AND row IS NULL", (space.id,))
    store.execute("DELETE FROM meta WHERE key = ?", (_whole(space),))


def drop_orphans(store: "Writer", space: Space) -> list[int]:
    """Forget the vectors of passages that no note has any more; the rows of those that stay, in order."""
    store.execute(
        """DELETE FROM vectors WHERE space = ?
        AND NOT EXISTS (SELECT 1 FROM chunks c WHERE c.key = vectors.key)""",
        (space.id,),
    )
    rows = store.rows(
        "SELECT row FROM vectors WHERE space = ? AND row IS NOT NULL ORDER BY row", [space.id]
    )
    return [row for (row,) in rows]


def move_rows(store: "Writer", space: Space, rows: Sequence[int], file: str) -> None:
    """Let the vectors of some rows, in order, be the first rows of another file."""
    # no new number is taken: each is at most the old one, and all before it have moved
    store.executemany(
        "UPDATE vectors SET row = ? WHERE space = ? AND row = ?",
        [(at, space.id, row) for at, row in enumerate(rows) if at != row],
    )
    store.execute("UPDATE spaces SET file = ? WHERE id = ?", (file, space.id))


def some(store: Reader, space: Space, count: int) -> list[tuple[int, Pending]]:
    """A few passages that have vectors, spread over the space, each with its row."""
    step = max(space.rows // count, 1)
    rows = store.rows(
        """SELECT v.row, c.id, c.key, n.title, n.aliases, coalesce(s.path, '[]'), c.text
        FROM vectors v JOIN chunks c ON c.key = v.key JOIN notes n USING (pid)
        LEFT JOIN sections s ON s.pid = c.pid AND s.ordinal = c.section
        WHERE v.space = ? AND v.row IS NOT NULL GROUP BY v.row / ? ORDER BY v.row LIMIT ?""",
        [space.id, step, count],
    )
    return [
        (row, Pending(id_, key, title, Reader.strings(aliases), Reader.strings(path), text))
        for row, id_, key, title, aliases, path, text in rows
    ]


def candidates(store: Reader, space: Space, scores: Iterable[tuple[int, float]]) -> list[Candidate]:
    """The chunks that stand behind scored rows, in the same order; equal passages together."""
    by_row = dict(scores)
    rows = store.rows_in(
        """SELECT v.row, c.id, c.pid FROM vectors v CROSS JOIN chunks c ON c.key = v.key
        JOIN notes n ON n.pid = c.pid JOIN collections k ON k.id = n.collection
        WHERE v.row IN ({}) AND v.space = ? ORDER BY k.name, n.path, c.first_line""",
        by_row,
        [space.id],
    )
    found = [Candidate(id_, pid, by_row[row]) for row, id_, pid in rows]
    return sorted(found, key=lambda candidate: -candidate.score)


def rows_in_scope(
    store: Reader, space: Space, query: Query, scope: Scope
) -> list[tuple[int, int, int]]:
    """(row, chunk id, pid) of all that a question may find, by collection, path and line."""
    where, values = matching.conditions(query, scope)
    rows = store.rows(
        f"""SELECT v.row, c.id, c.pid
        FROM notes n JOIN collections k ON k.id = n.collection JOIN chunks c ON c.pid = n.pid
        JOIN vectors v ON v.space = ? AND v.key = c.key
        WHERE v.row IS NOT NULL{where} ORDER BY k.name, n.path, c.first_line""",  # noqa: S608
        [space.id, *values],
    )
    return [(row, id_, pid) for row, id_, pid in rows]
