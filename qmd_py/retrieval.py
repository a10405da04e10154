"""The first stage: questions → runs."""

from collections.abc import Mapping

from qmd_py.query import Query
from qmd_py.records import Run, Scope
from qmd_py.store.reader import Reader, Weights

DEPTH = 1000
"""Candidates a run hands on. Fixed, so that `-n 5` is the beginning of `-n 50`."""

WEIGHTS: Weights = (10.0, 8.0, 2.0, 1.0, 0.5)
"""BM25 weights of title, aliases and tags, headings, body, side column.

A word in the title says what the whole note is about. Round values: halving or doubling any of
them moves nDCG@5 by less than its standard error on our judged questions.
"""


def runs(store: Reader, query: Query, scope: Scope) -> Mapping[str, Run]:
    """Every run there is for a question, by name."""
    return {
        "bm25": store.chunk_run(query, scope, DEPTH, WEIGHTS),
        "note": store.note_run(query, scope, DEPTH, WEIGHTS),
    }


def by_note(run: Run) -> dict[int, float]:
    """The pids of a run, best first, each with the score of its best candidate."""
    scores: dict[int, float] = {}
    for candidate in run:
        scores.setdefault(candidate.pid, candidate.score)
    return scores
