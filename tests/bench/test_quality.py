"""The quality that is promised, on 346 pages and 116 judged questions, with the built-in model."""

import datetime
from collections.abc import Callable
from pathlib import Path

import pytest

from qmd_py import sections
from qmd_py.evaluation import judging, questions
from qmd_py.evaluation.questions import QuestionSet
from qmd_py.measures import mean
from qmd_py.models import Embedder, Models
from qmd_py.records.answers import Answer, Hit, Scope
from qmd_py.search.asking import Ask
from qmd_py.search.hybrid import hybrid
from qmd_py.search.simple import by_words
from qmd_py.store.reader import Reader

pytestmark = pytest.mark.bench

LIMIT = 1_000_000  # bytes
NOW = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)

Pipeline = Callable[[Reader, str, Ask, Models, datetime.datetime], Answer]
Sets = dict[str, QuestionSet]


def measured(
    store: Reader, embedder: Embedder, pipeline: Pipeline, asked: QuestionSet, collection: str
) -> dict[str, float]:
    """The mean of every measure over a set of questions."""
    ask = Ask(judging.DEPTH, Scope((collection,)))

    def find(text: str) -> tuple[Hit, ...]:
        return pipeline(store, text, ask, Models(embedder), NOW).hits

    found = judging.evaluate(asked, find)
    return {name: mean([one.values[name] for one in found]) for name in judging.MEASURES}


@pytest.mark.parametrize(
    ("pipeline", "language", "bars"),
    [
        pytest.param(by_words, "en", {"nDCG@5": 0.66}, id="words in English"),
        pytest.param(by_words, "ru", {"nDCG@5": 0.645}, id="words in Russian"),
        pytest.param(hybrid, "en", {"nDCG@5": 0.775, "R@10": 0.98}, id="everything in English"),
        pytest.param(hybrid, "ru", {"nDCG@5": 0.695, "R@10": 0.92}, id="everything in Russian"),
    ],
)
def test_answers_are_as_good_as_promised(
    corpus_index: Reader,
    corpus_questions: Sets,
    embedder: Embedder,
    pipeline: Pipeline,
    language: str,
    bars: dict[str, float],
) -> None:
    found = measured(corpus_index, embedder, pipeline, corpus_questions[language], language)
    print(language, {name: round(value, 4) for name, value in found.items()})
    assert {name: found[name] for name, bar in bars.items() if found[name] < bar} == {}


def test_russian_questions_find_english_pages(
    corpus_index: Reader, corpus_questions: Sets, embedder: Embedder
) -> None:
    asked = questions.worded_by(corpus_questions["en"], corpus_questions["ru"])
    found = measured(corpus_index, embedder, hybrid, asked, "en")
    print("ru on en", {name: round(value, 4) for name, value in found.items()})
    assert found["Success@5"] >= 0.60


def test_every_heading_leads_to_its_own_section(corpus_index: Reader) -> None:
    notes = corpus_index.notes_of(Scope())
    assert len(notes) == 346
    for note in notes:
        for entry in corpus_index.toc(note.pid):
            found = sections.section(corpus_index, str(note.pid), entry.path, LIMIT)
            assert (found.toc_path, found.line) == (entry.path, entry.line), note.path


@pytest.mark.parametrize("language", ["en", "ru"])
def test_every_hit_leads_to_a_section_that_holds_it(
    corpus_index: Reader, corpus_questions: Sets, embedder: Embedder, language: str
) -> None:
    ask = Ask(judging.DEPTH, Scope((language,)))
    for question in corpus_questions[language].questions:
        for hit in hybrid(corpus_index, question.query, ask, Models(embedder), NOW).hits:
            lines = Path(hit.file).read_text(encoding="utf-8").split("\n")
            for match in hit.matches:
                found = sections.section(corpus_index, str(hit.pid), match.toc_path, LIMIT)
                assert found.toc_path == match.toc_path
                assert "\n".join(lines[match.line - 1 : match.last_line]) in found.text, hit.path
