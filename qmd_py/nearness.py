"""Which notes are near another one: by the vectors of their chunks, and by the links between them."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from qmd_py import citing, linking, meaning
from qmd_py.errors import ModelMissing
from qmd_py.models import Embedder
from qmd_py.query import Query
from qmd_py.records.answers import Scope
from qmd_py.records.stored import StoredNote
from qmd_py.store import embeddings
from qmd_py.store.reader import Reader


@dataclass(frozen=True, slots=True)
class Related:
    """A note near another one."""

    note: StoredNote
    score: float | None
    """Likeness by meaning, up to 1; None where no vectors were compared."""
    linked: str
    """`out`, `in` or `both` where links lead from one to the other; else empty."""
    hops: int | None
    """How many links lie between; None where that was not asked for."""


def nearest(
    store: Reader, note: StoredNote, embedder: Embedder | None, limit: int
) -> tuple[Related, ...]:
    """The notes whose chunks are most like a note's own, best first; linked ones are marked.

    Raises:
        ModelMissing: there is no embedder, or the note is not embedded yet.
        IndexUnusable: the vectors on disk are damaged.
    """
    if embedder is None:
        raise ModelMissing("no embedder on this machine: --hops goes by links alone")
    scores = _alike(store, note, embedder)
    linked = linking.linked_to(store, note.pid)
    notes = store.notes(scores)
    there = [pid for pid in scores if pid in notes]
    return _first(
        (Related(notes[pid], scores[pid], linked.get(pid, ""), None) for pid in there), limit
    )


def within(store: Reader, note: StoredNote, hops: int, limit: int) -> tuple[Related, ...]:
    """The notes at most so many links away, in either direction, the nearest first."""
    distances = linking.within(store, note.pid, hops)
    linked = linking.linked_to(store, note.pid)
    notes = sorted(
        store.notes(distances).values(),
        key=lambda found: (distances[found.pid], found.collection, found.path),
    )
    return _first(
        (Related(one, None, linked.get(one.pid, ""), distances[one.pid]) for one in notes), limit
    )


def _alike(store: Reader, note: StoredNote, embedder: Embedder) -> dict[int, float]:
    """Pid → likeness, best first."""
    from qmd_py import vectors

    space = embeddings.space_of(store, meaning.fingerprint(store, embedder))
    rows = embeddings.rows_in_scope(store, space, Query(""), Scope()) if space else []
    own = [row for row, _, pid in rows if pid == note.pid]
    if space is None or not own:
        raise ModelMissing(f"{note.path} is not embedded yet: run 'qmd embed'")
    groups: dict[int, list[int]] = {}
    for row, _, pid in rows:
        if pid != note.pid:
            groups.setdefault(pid, []).append(row)
    file = vectors.VectorFile(store.file.with_name(space.file), space.dimensions)
    scores = vectors.likeness(file.rows(space.rows), own, list(groups.values()))
    found = dict(zip(groups, scores, strict=True))
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _first(ranked: Iterable[Related], limit: int) -> tuple[Related, ...]:
    """The first few whose files are there."""
    return tuple(itertools.islice((one for one in ranked if citing.is_there(one.note)), limit))
