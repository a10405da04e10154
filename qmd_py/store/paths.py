"""Where notes lie: which paths of a filter lead to any, and the paths that there are."""

from qmd_py.query import Query
from qmd_py.records.answers import Scope
from qmd_py.store import matching
from qmd_py.store.reader import Reader

_PLACED = "SELECT k.name, n.path FROM notes n JOIN collections k ON k.id = n.collection"


def leads(store: Reader, typed: str) -> bool:
    """Whether a path, a folder or a glob fits any note of the index."""
    where, values = matching.conditions(Query(""), Scope(paths=(typed,)))
    return bool(store.rows(_PLACED + f" WHERE 1{where} LIMIT 1", values))


def has_notes(store: Reader) -> bool:
    """Whether the index holds any note at all."""
    return bool(store.rows("SELECT 1 FROM notes LIMIT 1"))


def known(store: Reader) -> set[str]:
    """The paths of all notes and folders, below their collection and with it in front."""
    found: set[str] = set()
    for name, path in store.rows(_PLACED):
        while path:
            found |= {path, f"{name}/{path}"}
            path = path.rpartition("/")[0]
        found.add(name)
    return found
