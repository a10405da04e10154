"""What is given with a hit beside its text: what its folders are about, and how it is linked."""

from collections.abc import Iterable, Sequence

from qmd_py.records.stored import StoredNote
from qmd_py.store.reader import Reader


def contexts(store: Reader, notes: Iterable[StoredNote]) -> dict[int, tuple[str, ...]]:
    """For each note the texts about the folders around it, the outermost first."""
    rows = store.rows(
        """SELECT k.name, x.path, x.text FROM contexts x JOIN collections k ON k.id = x.collection
        ORDER BY length(x.path)"""
    )
    return {
        note.pid: tuple(
            text
            for collection, path, text in rows
            if collection == note.collection
            and (not path or f"{note.path}/".startswith(f"{path}/"))
        )
        for note in notes
    }


def link_counts(store: Reader, pids: Sequence[int]) -> dict[int, tuple[int, int]]:
    """How many other notes each note links to, and how many link to it."""
    out = store.rows_in(
        """SELECT l.pid, count(DISTINCT l.resolved) FROM links l JOIN notes n ON n.pid = l.resolved
        WHERE l.pid IN ({}) AND l.resolved != l.pid GROUP BY 1""",
        pids,
    )
    into = store.rows_in(
        """SELECT resolved, count(DISTINCT pid) FROM links
        WHERE resolved IN ({}) AND resolved != pid GROUP BY 1""",
        pids,
    )
    left, came = dict(out), dict(into)
    return {pid: (left.get(pid, 0), came.get(pid, 0)) for pid in pids}
