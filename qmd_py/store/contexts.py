"""What folders are about, in their owner's words."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from qmd_py.records.notes import Collection
from qmd_py.store.reader import Reader

if TYPE_CHECKING:
    from qmd_py.store.writer import Writer


@dataclass(frozen=True, slots=True)
class Context:
    """What a collection, a folder or a note is about, in its owner's words."""

    collection: str
    path: str
    """Relative to the collection's root; empty for all of it."""
    text: str


def contexts(store: Reader) -> list[Context]:
    """All contexts, by collection and path, a folder before what is in it."""
    rows = store.rows(
        """SELECT k.name, x.path, x.text FROM contexts x JOIN collections k ON k.id = x.collection
        ORDER BY k.name, x.path"""
    )
    return [Context(*row) for row in rows]


def put(store: "Writer", collection: Collection, path: str, text: str) -> None:
    """Say what a folder or a note is about, in place of what was said before."""
    with store.batch():
        store.execute(
            "INSERT OR REPLACE INTO contexts VALUES (?, ?, ?)", (collection.id, path, text)
        )


def remove(store: "Writer", collection: Collection, path: str) -> None:
    """Forget what a folder or a note is about."""
    with store.batch():
        store.execute(
            "DELETE FROM contexts WHERE collection = ? AND path = ?", (collection.id, path)
        )
