"""Searches that ask one thing: words, or meaning."""

import datetime

from qmd_py import citing, retrieval
from qmd_py.errors import ModelMissing, UsageError
from qmd_py.models import Models
from qmd_py.records.answers import Answer
from qmd_py.search import recency
from qmd_py.search.answering import Answerer, between, certainty, dense, kept, summed
from qmd_py.search.asking import Ask
from qmd_py.stages import Stages
from qmd_py.store.reader import Reader
from qmd_py.terms import analyzer_for


def by_words(store: Reader, text: str, ask: Ask, models: Models, now: datetime.datetime) -> Answer:
    """Search by words alone: the BM25 of a note's best chunk plus that of the whole note.

    A score is `sum / (sum + 24)`.

    Raises:
        UsageError: the question holds nothing to look for.
    """
    stages = Stages()
    analyzer = analyzer_for(store.languages)
    with stages.of("retrieve"):
        asked = retrieval.understand(store, text, analyzer)
        runs = kept(retrieval.by_words(store, asked, ask.scope), ask)
    scores = {pid: certainty(score) for pid, score in summed(runs).items()}
    answerer = Answerer(store, analyzer, asked, text, "search", ask, now)
    ranking = recency.boosted(store, citing.Ranking(scores, runs, {}, {}), ask, now)
    return answerer.answer(ranking, stages)


def by_meaning(
    store: Reader, text: str, ask: Ask, models: Models, now: datetime.datetime
) -> Answer:
    """Search by the vectors of chunks alone.

    A score is the cosine on the embedder's own scale: 0 unrelated, 1 surely related.

    Raises:
        UsageError: the question holds nothing to look for, or the only run is left out.
        ModelMissing: there is no embedder, or nothing is embedded for it.
    """
    from qmd_py import meaning

    if "dense" in ask.without:
        raise UsageError("no run is left: vsearch has the dense one alone")
    stages = Stages()
    analyzer = analyzer_for(store.languages)
    asked = retrieval.understand(store, text, analyzer)
    with stages.of("retrieve"):
        runs = dense(store, asked, ask, models, (), stages)
    if models.embedder is None or "dense" not in runs:
        why = [*stages.remarks[-1:], *models.missing, "no embedder"][0]
        raise ModelMissing(why.removeprefix("dense: "))
    low, high = models.embedder.scale
    scores = {
        pid: between(score, low, high) for pid, score in meaning.dense_notes(runs["dense"]).items()
    }
    answerer = Answerer(store, analyzer, asked, text, "vsearch", ask, now)
    ranking = recency.boosted(store, citing.Ranking(scores, runs, {}, {}), ask, now)
    return answerer.answer(ranking, stages)
