"""Whether the fusion's weights say more than the noise of the judged questions."""

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from qmd_py import fusion, meaning, measures, retrieval
from qmd_py.evaluation import questions
from qmd_py.models import Embedder
from qmd_py.records.answers import Scope
from qmd_py.search.hybrid import TITLE_WEIGHT
from qmd_py.store.reader import Reader
from qmd_py.terms import Analyzer

pytestmark = pytest.mark.bench

FOLDS = 5
REPEATS = 20


@dataclass(frozen=True)
class Setting:
    rrf_k: float
    words: float
    title: float


DEFAULT = Setting(fusion.RRF_K, 1.0, TITLE_WEIGHT)
SETTINGS = [
    Setting(*values)
    for values in itertools.product((5, 10, 20, 60), (0.67, 1.0, 1.5), (0, 0.25, 0.5))
]


def values_of(
    store: Reader, embedder: Embedder, asked: questions.QuestionSet, collection: str
) -> list[dict[Setting, float]]:
    """nDCG@5 of every question under every setting."""
    analyzer = Analyzer(store.languages)
    scope = Scope((collection,))
    paths = {note.pid: note.path for note in store.notes_of(scope)}
    found = []
    for question in asked.questions:
        understood = retrieval.understand(store, question.query, analyzer)
        space, _ = meaning.space_for(store, embedder)
        assert space is not None
        worded = retrieval.by_words(store, understood, scope).values()
        words = fusion.summed([retrieval.notes_of(run) for run in worded])
        title = retrieval.notes_of(retrieval.by_title(store, understood, scope, analyzer))
        dense = meaning.dense_notes(
            meaning.by_meaning(
                store,
                space,
                understood.query,
                scope,
                meaning.vectors_of(embedder, understood.query.plain, ()),
            )[0]
        )
        lists = {"words": list(words), "title": list(title), "dense": list(dense)}
        values = {}
        for setting in SETTINGS:
            weights = {
                "words": setting.words * understood.coverage,
                "title": setting.title * understood.coverage,
                "dense": 1.0,
            }
            fused = fusion.rrf(lists, weights, setting.rrf_k)
            ranked = [paths[pid] for pid in list(fused)[:5]]
            values[setting] = measures.ndcg(ranked, question.gains, 5)
        found.append(values)
    return found


def held_out(values: Sequence[dict[Setting, float]], seed: int) -> list[float]:
    """Each question's value under the setting that was best on the other folds."""
    order = list(range(len(values)))
    random.Random(seed).shuffle(order)
    folds = [order[at::FOLDS] for at in range(FOLDS)]
    result = [0.0] * len(values)
    for fold in folds:
        train = [values[at] for at in order if at not in fold]
        best = max(
            SETTINGS, key=lambda one: (measures.mean([v[one] for v in train]), one == DEFAULT)
        )
        for at in fold:
            result[at] = values[at][best]
    return result


def test_weights_chosen_on_some_questions_are_no_better_on_the_others(
    corpus_index: Reader, corpus_questions: dict[str, questions.QuestionSet], embedder: Embedder
) -> None:
    values = [
        value
        for name, asked in corpus_questions.items()
        for value in values_of(corpus_index, embedder, asked, name)
    ]
    default = measures.mean([value[DEFAULT] for value in values])
    best = max(measures.mean([value[one] for value in values]) for one in SETTINGS)
    tuned = measures.mean([measures.mean(held_out(values, seed)) for seed in range(REPEATS)])
    print(f"default {default:.3f}, best of {len(SETTINGS)} {best:.3f}, held out {tuned:.3f}")
    assert default >= tuned - 0.005
