"""The first stage by vectors: a question's meaning → the chunks that say the like."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qmd_py import passages
from qmd_py.errors import IndexUnusable, ModelMissing
from qmd_py.models import Embedder
from qmd_py.query import Query
from qmd_py.records.answers import Candidate, Run, Scope
from qmd_py.retrieval import DEPTH, notes_of
from qmd_py.store import embeddings, matching
from qmd_py.store.embeddings import Space
from qmd_py.store.reader import Reader

if TYPE_CHECKING:
    from qmd_py.models import Matrix

_SECOND_BEST = 0.15
"""How much a note's second best chunk counts in its dense score, beside its best.

Two places that fit are better evidence than one; more chunks only favour long notes.
"""


def by_meaning(
    store: Reader, space: Space, query: Query, scope: Scope, asked: "Matrix"
) -> list[Run]:
    """For each vector, the chunks by their cosine with it, best first.

    Args:
        store: the index.
        space: where its vectors are.
        query: phrases and exclusions that the notes have to meet.
        scope: what may be found.
        asked: unit vectors of a question and its variants, one a row.

    Raises:
        IndexUnusable: the vectors on disk are damaged.
        ModelFailed: those of the question are of another length.
    """
    try:
        runs = _by_meaning(store, space, query, scope, asked)
    except IndexUnusable:
        # a snapshot still names the file that is gone
        with Reader.open(store.file) as latest, latest.snapshot():
            if (now := _moved(latest, space)) is None:
                raise
            runs = _by_meaning(latest, now, query, scope, asked)
        return [_known(store, run) for run in runs]
    # rows got other numbers meanwhile, and may have been taken for each other's passages
    now = _moved(store, space)
    return _by_meaning(store, now, query, scope, asked) if now else runs


def _moved(store: Reader, space: Space) -> Space | None:
    """The space as it is now, when another process has put its vectors into another file."""
    now = embeddings.space_of(store, space.fingerprint)
    return now if now and now.file != space.file else None


def _known(store: Reader, run: Run) -> Run:
    """What another reader found and this one has too."""
    chunks = store.chunks(candidate.id for candidate in run)
    return [one for one in run if one.id in chunks and chunks[one.id].pid == one.pid]


def _by_meaning(
    store: Reader, space: Space, query: Query, scope: Scope, asked: "Matrix"
) -> list[Run]:
    from qmd_py import vectors

    vectors.check_length(asked, space.dimensions)
    file = vectors.VectorFile(store.file.with_name(space.file), space.dimensions)
    if matching.is_everything(query, scope):
        scores = file.checked(file.cosines(space.rows, asked))
        return [_nearest_of_all(store, space, one) for one in scores]
    rows = embeddings.rows_in_scope(store, space, query, scope)
    chosen = vectors.cosines(file.rows(space.rows)[[row for row, _, _ in rows]], asked)
    return [_nearest_of(rows, one) for one in file.checked(chosen)]


def vectors_of(embedder: Embedder, question: str, variants: Sequence[str]) -> "Matrix":
    """The vectors of a question and its variants, in one call; unusable ones of variants are zeros.

    Raises:
        ModelMissing: the model has no usable vector for the question.
    """
    from qmd_py import vectors

    rows = embedder.queries([question, *variants])
    usable = vectors.usable(rows)
    if not usable[0]:
        raise ModelMissing("the model has no usable vector for this question: use other words")
    rows[~usable] = 0.0
    return rows


def space_for(store: Reader, embedder: Embedder) -> tuple[Space | None, str | None]:
    """The vectors to search in, if any, and what the reader should know of them."""
    space = embeddings.space_of(store, fingerprint(store, embedder))
    if space and space.rows:
        waiting = embeddings.count_waiting(store, space)
        count = "1 passage waits" if waiting == 1 else f"{waiting} passages wait"
        return space, f"dense: {count} for 'qmd embed'" if waiting else None
    if embeddings.spaces(store) and not space:
        return None, "dense: the vectors are of another model or setting: run 'qmd embed'"
    return None, "dense: nothing is embedded yet: run 'qmd embed'"


def fingerprint(store: Reader, embedder: Embedder) -> str:
    """What decides how a vector comes out: the model, and how notes become passages."""
    return f"{embedder.fingerprint} passages {passages.VERSION} chunks {store.chunk_chars}"


def united(runs: Sequence[Run]) -> Run:
    """Several dense runs as one: each chunk with its best cosine, best first."""
    best: dict[int, Candidate] = {}
    for candidate in (one for run in runs for one in run):
        held = best.get(candidate.id)
        if held is None or candidate.score > held.score:
            best[candidate.id] = candidate
    return sorted(best.values(), key=lambda candidate: -candidate.score)[:DEPTH]


def dense_notes(run: Run) -> dict[int, float]:
    """The pids of a dense run with their scores, best first."""
    return notes_of(run, _SECOND_BEST)


def _nearest_of_all(store: Reader, space: Space, scores: "Matrix") -> Run:
    """The best chunks of all; rows that no note uses any more take no place from others."""
    from qmd_py import vectors

    depth = DEPTH
    while True:
        best = vectors.best(scores, depth)
        found = embeddings.candidates(store, space, best)
        if len(found) >= DEPTH or depth >= len(scores):
            return found[:DEPTH]
        depth *= 2


def _nearest_of(rows: list[tuple[int, int, int]], scores: "Matrix") -> Run:
    """The best of the given (row, chunk id, pid), ties in their order."""
    found = [
        Candidate(id_, pid, float(score)) for (_, id_, pid), score in zip(rows, scores, strict=True)
    ]
    return sorted(found, key=lambda candidate: -candidate.score)[:DEPTH]
