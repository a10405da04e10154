"""A question → the notes and sections that answer it: each pipeline in one function."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from qmd_py import citing, fusion, retrieval, snippets
from qmd_py.errors import IndexUnusable, ModelMissing, UsageError
from qmd_py.models import Models
from qmd_py.records import Answer, Run, Scope
from qmd_py.retrieval import Asked
from qmd_py.store.reader import Reader
from qmd_py.terms import Analyzer

RUNS = ("bm25", "note", "near", "title", "dense")
"""Everything a search may ask; any of them can be left out."""

TITLE_WEIGHT = 0.25
"""Weight of the title run, beside 1 for words and 1 for meaning.

Most questions are not the title of what answers them, so it only breaks near ties.
"""

_HALF_SCORE = 24.0
"""Sum of the BM25 of chunk and note at which words score ½.

About two rare words, found in both; judged questions reach 18 to 60 with their best note, off-topic
ones 0 to 20.
"""


@dataclass(frozen=True, slots=True)
class Ask:
    """What is asked for, besides the question."""

    limit: int = 10
    scope: Scope = field(default_factory=Scope)
    min_score: float = 0.0
    without: frozenset[str] = frozenset()
    """Names of runs to leave out."""
    snippet: int = snippets.DEFAULT_LENGTH
    """Longest snippet in characters."""
    full: int = 0
    """Bytes of the largest note that a hit carries whole; 0 for none."""


def by_words(store: Reader, text: str, ask: Ask, models: Models, now: datetime.datetime) -> Answer:
    """Search by words alone: the BM25 of a note's best chunk plus that of the whole note.

    A score is `sum / (sum + 24)`.

    Raises:
        UsageError: the question holds nothing to look for.
    """
    analyzer = Analyzer(store.languages)
    asked = retrieval.understand(store, text, analyzer)
    runs = _kept(retrieval.by_words(store, asked, ask.scope), ask)
    scores = {pid: _certainty(score) for pid, score in _summed(runs).items()}
    ranking = citing.Ranking(scores, runs, {}, {})
    return _answer("search", store, text, analyzer, asked, ask, ranking, (), now)


def by_meaning(
    store: Reader, text: str, ask: Ask, models: Models, now: datetime.datetime
) -> Answer:
    """Search by the vectors of chunks alone.

    A score is the cosine on the embedder's own scale: 0 unrelated, 1 surely related.

    Raises:
        UsageError: the question holds nothing to look for, or the only run is left out.
        ModelMissing: there is no embedder, or nothing is embedded for it.
    """
    if "dense" in ask.without:
        raise UsageError("no run is left: vsearch has the dense one alone")
    analyzer = Analyzer(store.languages)
    asked = retrieval.understand(store, text, analyzer)
    run, remarks = _dense(store, asked, ask, models)
    if run is None or models.embedder is None:
        why = [*remarks, *models.missing, "no embedder"][0]
        raise ModelMissing(why.removeprefix("dense: "))
    low, high = models.embedder.scale
    scores = {
        pid: min(max((score - low) / (high - low), 0.0), 1.0)
        for pid, score in retrieval.dense_notes(run).items()
    }
    ranking = citing.Ranking(scores, {"dense": run}, {}, {})
    return _answer("vsearch", store, text, analyzer, asked, ask, ranking, remarks, now)


def hybrid(store: Reader, text: str, ask: Ask, models: Models, now: datetime.datetime) -> Answer:
    """The whole pipeline; stages that lack their model are named in `skipped`.

    Words, meaning and titles are fused by reciprocal rank. Words and titles weigh as much as the
    index knows of the question's words, so that a question in another language than the notes is
    left to meaning. The fused score, 1 for rank 1 everywhere, is multiplied by the certainty that
    there is an answer at all, taken from the best scores of words and meaning.

    Raises:
        UsageError: the question holds nothing to look for.
    """
    analyzer = Analyzer(store.languages)
    asked = retrieval.understand(store, text, analyzer)
    worded = _kept(retrieval.by_words(store, asked, ask.scope), ask)
    titled = _kept({"title": retrieval.by_title(store, asked, ask.scope, analyzer)}, ask)
    dense, remarks = _dense(store, asked, ask, models)
    meant = {"dense": dense} if dense is not None else {}

    fused_runs = {
        "words": _summed(worded),
        **{name: retrieval.notes_of(run) for name, run in titled.items()},
        **{name: retrieval.dense_notes(run) for name, run in meant.items()},
    }
    weights = {"words": asked.coverage, "title": TITLE_WEIGHT * asked.coverage, "dense": 1.0}
    if not meant:
        weights = {"words": 1.0, "title": TITLE_WEIGHT}
    sure = _sure(fused_runs, models)
    fused = fusion.rrf({name: list(run) for name, run in fused_runs.items()}, weights)
    scores = {pid: sure * score for pid, score in fused.items()}
    ranking = citing.Ranking(scores, {**worded, **titled, **meant}, fused_runs, weights)
    skipped = (*remarks, *models.missing)
    return _answer("query", store, text, analyzer, asked, ask, ranking, skipped, now)


def _answer(
    mode: str,
    store: Reader,
    text: str,
    analyzer: Analyzer,
    asked: Asked,
    ask: Ask,
    ranking: citing.Ranking,
    skipped: tuple[str, ...],
    now: datetime.datetime,
) -> Answer:
    enough = [(pid, s) for pid, s in ranking.scores.items() if s >= ask.min_score]
    style = citing.Style(ask.snippet, ask.full)
    shown = enough[: ask.limit]
    places = retrieval.places(store, asked, [pid for pid, _ in shown])
    hits = citing.cite(store, analyzer, asked.terms, replace(ranking, places=places), shown, style)
    return Answer(
        query=text,
        mode=mode,
        retrieved_at=citing.rfc3339(now),
        skipped=skipped,
        hits=hits,
        terms=asked.terms,
        respelled=asked.respelled,
        cut=len(ranking.scores) - len(enough),
    )


def _kept(runs: Mapping[str, Run], ask: Ask) -> dict[str, Run]:
    return {name: run for name, run in runs.items() if name not in ask.without}


def _summed(runs: Mapping[str, Run]) -> dict[int, float]:
    """BM25 scores are of one scale, so those of a note's best chunk and of the note add up."""
    return fusion.summed([retrieval.notes_of(run) for run in runs.values()])


def _dense(
    store: Reader, asked: Asked, ask: Ask, models: Models
) -> tuple[Run | None, tuple[str, ...]]:
    """The dense run, or None, and what the reader should know about it."""
    if models.embedder is None or "dense" in ask.without:
        return None, ()
    space, remark = retrieval.space_for(store, models.embedder)
    remarks = (remark,) if remark else ()
    if space is None:
        return None, remarks
    try:
        return retrieval.by_meaning(store, space, asked, ask.scope, models.embedder), remarks
    except (IndexUnusable, ModelMissing) as error:
        return None, (f"dense: {error}",)


def _sure(fused_runs: Mapping[str, Mapping[int, float]], models: Models) -> float:
    """How certain it is that there is an answer: words or meaning may say so, or both a little."""
    words = _certainty(max(fused_runs["words"].values(), default=0.0))
    meaning = 0.0
    if models.embedder and (dense := fused_runs.get("dense")):
        low, high = models.embedder.scale
        meaning = min(max((max(dense.values()) - low) / (high - low), 0.0), 1.0)
    return 1 - (1 - words) * (1 - meaning)


def _certainty(score: float) -> float:
    return score / (score + _HALF_SCORE)
