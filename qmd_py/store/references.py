"""Links and tags of notes: the index's side of what their texts refer to."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qmd_py.records.notes import Collection, Link
from qmd_py.store.reader import Reader
from qmd_py.store.rows import Rows

if TYPE_CHECKING:
    from qmd_py.store.writer import Writer

MADE_WITH = "references 1"
"""Raised whenever other links or tags are gathered, so that notes are read again."""


@dataclass(frozen=True, slots=True)
class Named:
    """A note by all that a link may call it."""

    pid: int
    path: str
    title: str
    aliases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StoredLink:
    """A link with its place in the index."""

    pid: int
    """The note it stands in."""
    ordinal: int
    link: Link
    resolved: int | None
    """The note it leads to."""


def put(store: "Writer", pid: int, rows: Rows) -> None:
    """Write the links and tags of a note that has none in the index; the links lead nowhere yet."""
    store.executemany("INSERT INTO tags VALUES (?, ?)", [(pid, key) for key in rows.tags])
    store.executemany(
        "INSERT INTO links VALUES (?, ?, ?, ?, ?, ?, NULL)", [(pid, *row) for row in rows.links]
    )


def tagged(store: Reader, key: str) -> set[int]:
    """The notes with a tag, or with one below it."""
    rows = store.rows(
        "SELECT pid FROM tags WHERE key = ?1 OR substr(key, 1, length(?1) + 1) = ?1 || '/'", [key]
    )
    return {pid for (pid,) in rows}


def tag_keys(store: Reader) -> list[str]:
    """Every tag there is."""
    return [key for (key,) in store.rows("SELECT DISTINCT key FROM tags ORDER BY key")]


def unread(store: Reader) -> int:
    """How many notes were indexed before their links and tags were gathered as they are now."""
    rows = store.rows("SELECT count(*) FROM notes WHERE instr(made_by, ?) = 0", [MADE_WITH])
    return int(rows[0][0])


def names(store: Reader, collection: Collection) -> list[Named]:
    """All notes of a collection, by path."""
    return _called(store.rows(f"{_NAMED} WHERE collection = ? ORDER BY path", [collection.id]))


def named(store: Reader, pids: Iterable[int]) -> list[Named]:
    """Some notes; pids that are gone are left out."""
    return _called(store.rows_in(f"{_NAMED} WHERE pid IN ({{}})", pids))


def links(store: Reader, collection: Collection) -> list[StoredLink]:
    """All links of a collection's notes."""
    return _stored(store.rows(f"{_LINK} WHERE n.collection = ?", [collection.id]))


def targets(store: Reader, collection: Collection) -> list[str]:
    """What the links of a collection's notes name, each once."""
    rows = store.rows(
        "SELECT DISTINCT target FROM links JOIN notes USING (pid) WHERE collection = ?",
        [collection.id],
    )
    return [target for (target,) in rows]


def links_meaning(
    store: Reader, collection: Collection, targets: Sequence[str]
) -> list[StoredLink]:
    """The links of a collection's notes that name one of the targets."""
    where = "WHERE n.collection = ? AND target IN (SELECT value FROM json_each(?))"
    return _stored(store.rows(f"{_LINK} {where}", [collection.id, json.dumps(targets)]))


def links_from(store: Reader, pids: Iterable[int]) -> list[StoredLink]:
    """All links of some notes, in the order of the text."""
    return _stored(store.rows_in(f"{_LINK} WHERE l.pid IN ({{}}) ORDER BY l.pid, ordinal", pids))


def links_to(store: Reader, pids: Iterable[int]) -> list[StoredLink]:
    """All links that lead to some notes, by the notes they stand in."""
    sql = f"{_LINK} WHERE l.resolved IN ({{}}) ORDER BY n.collection, n.path, ordinal"
    return _stored(store.rows_in(sql, pids))


def set_resolved(store: "Writer", rows: Sequence[tuple[int | None, int, int]]) -> None:
    """Let links lead to notes: (pid led to, pid of the link's note, ordinal)."""
    store.executemany("UPDATE links SET resolved = ? WHERE pid = ? AND ordinal = ?", rows)


def set_pending(store: "Writer", collection: Collection, pending: bool) -> None:
    """Note whether the links of a collection may lead elsewhere by now."""
    store.execute("UPDATE collections SET links_pending = ? WHERE id = ?", (pending, collection.id))


def are_pending(store: Reader, collection: Collection) -> bool:
    """Whether the links of a collection may lead elsewhere by now."""
    rows = store.rows("SELECT links_pending FROM collections WHERE id = ?", [collection.id])
    return bool(rows and rows[0][0])


_NAMED = "SELECT pid, path, title, aliases FROM notes"
_LINK = """SELECT l.pid, ordinal, target, anchor, wiki, line, resolved
    FROM links l JOIN notes n USING (pid)"""


def _called(rows: Iterable[tuple[int, str, str, str]]) -> list[Named]:
    return [Named(pid, path, title, Reader.strings(names)) for pid, path, title, names in rows]


def _stored(rows: Iterable[tuple[int, int, str, str, int, int, int | None]]) -> list[StoredLink]:
    return [
        StoredLink(pid, at, Link(target, anchor, bool(wiki), line), resolved)
        for pid, at, target, anchor, wiki, line, resolved in rows
    ]
