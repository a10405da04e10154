"""The quality that is promised, on 346 pages and 116 judged questions, with the built-in model."""

import datetime
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from qmd_py import config, embedding, indexing, sections
from qmd_py.config import Settings
from qmd_py.evaluation import judging, questions
from qmd_py.evaluation.questions import QuestionSet
from qmd_py.measures import mean
from qmd_py.models import Models
from qmd_py.records import Answer, Hit, Scope
from qmd_py.search import Ask, by_words, hybrid
from qmd_py.store.reader import Reader
from qmd_py.store.writer import Writer

ROOT = Path(__file__).parents[2]
CORPUS = Path(
    os.environ.get("QMD_BENCH_CORPUS") or ROOT.parent / "shared" / "corpora" / "obsidian-help"
)
LIMIT = 1_000_000  # bytes
NOW = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)

pytestmark = [
    pytest.mark.bench,
    pytest.mark.skipif(
        not CORPUS.is_dir(), reason=f"no judged notes at {CORPUS}: set QMD_BENCH_CORPUS"
    ),
]

Pipeline = Callable[[Reader, str, Ask, Models, datetime.datetime], Answer]


@pytest.fixture(scope="module")
def models() -> Models:
    from qmd_py.embedded import BuiltIn

    return Models(BuiltIn(config.threads()))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, models: Models) -> Iterator[Reader]:
    """Both folders, indexed and embedded: minutes of work, done once."""
    file = tmp_path_factory.mktemp("bench") / "index.sqlite"
    assert models.embedder
    with Writer.open(file) as writer:
        for language in ("en", "ru"):
            chosen = indexing.collection_for(writer, CORPUS / language)
            indexing.update(writer, chosen, Settings())
        assert embedding.embed(writer, models.embedder).pending == 0
    with Reader.open(file) as reader:
        yield reader


def judged(language: str) -> QuestionSet:
    return questions.read(CORPUS / f"golden-{language}.json")


def measured(
    store: Reader, models: Models, pipeline: Pipeline, asked: QuestionSet, collection: str
) -> dict[str, float]:
    """The mean of every measure over a set of questions."""
    ask = Ask(judging.DEPTH, Scope((collection,)))

    def find(text: str) -> tuple[Hit, ...]:
        return pipeline(store, text, ask, models, NOW).hits

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
    store: Reader, models: Models, pipeline: Pipeline, language: str, bars: dict[str, float]
) -> None:
    found = measured(store, models, pipeline, judged(language), language)
    print(language, {name: round(value, 4) for name, value in found.items()})
    assert {name: found[name] for name, bar in bars.items() if found[name] < bar} == {}


def test_russian_questions_find_english_pages(store: Reader, models: Models) -> None:
    asked = questions.worded_by(judged("en"), judged("ru"))
    found = measured(store, models, hybrid, asked, "en")
    print("ru on en", {name: round(value, 4) for name, value in found.items()})
    assert found["Success@5"] >= 0.60


def test_every_heading_leads_to_its_own_section(store: Reader) -> None:
    notes = store.notes_of(Scope())
    assert len(notes) == 346
    for note in notes:
        for entry in store.toc(note.pid):
            found = sections.section(store, str(note.pid), entry.path, LIMIT)
            assert (found.toc_path, found.line) == (entry.path, entry.line), note.path


@pytest.mark.parametrize("language", ["en", "ru"])
def test_every_hit_leads_to_a_section_that_holds_it(
    store: Reader, models: Models, language: str
) -> None:
    ask = Ask(judging.DEPTH, Scope((language,)))
    for question in judged(language).questions:
        for hit in hybrid(store, question.query, ask, models, NOW).hits:
            lines = Path(hit.file).read_text(encoding="utf-8").split("\n")
            for match in hit.matches:
                found = sections.section(store, str(hit.pid), match.toc_path, LIMIT)
                assert found.toc_path == match.toc_path
                assert "\n".join(lines[match.line - 1 : match.last_line]) in found.text, hit.path
