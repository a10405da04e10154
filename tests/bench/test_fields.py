"""What an agent's own wordings add, written blind: see `fields/HOW.md`."""

import datetime
import json
from pathlib import Path

import pytest

from qmd_py.evaluation import judging
from qmd_py.evaluation.questions import QuestionSet
from qmd_py.expansion import callers
from qmd_py.measures import mean
from qmd_py.models import Embedder, Models
from qmd_py.records.answers import Hit, Scope
from qmd_py.search.asking import Ask
from qmd_py.search.hybrid import hybrid
from qmd_py.store.reader import Reader

pytestmark = pytest.mark.bench

FIELDS = Path(__file__).parent / "fields"
NOW = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)


@pytest.mark.parametrize(("language", "bar"), [("en", 0.82), ("ru", 0.75)])
def test_fields_of_an_agent_help(
    corpus_index: Reader,
    corpus_questions: dict[str, QuestionSet],
    embedder: Embedder,
    language: str,
    bar: float,
) -> None:
    asked = corpus_questions[language]
    written = json.loads((FIELDS / f"{language}.json").read_text(encoding="utf-8"))
    handed = {each.query: callers.from_options(**written[each.id]) for each in asked.questions}

    def found(text: str, *, with_fields: bool) -> tuple[Hit, ...]:
        ask = Ask(judging.DEPTH, Scope((language,)), handed=handed[text] if with_fields else None)
        return hybrid(corpus_index, text, ask, Models(embedder), NOW).hits

    def measured(*, with_fields: bool) -> float:
        judged = judging.evaluate(asked, lambda text: found(text, with_fields=with_fields))
        return mean([one.values["nDCG@5"] for one in judged])

    plain, helped = measured(with_fields=False), measured(with_fields=True)
    print(f"{language} nDCG@5 {plain:.3f}, with fields {helped:.3f}")
    assert helped >= bar
    assert helped > plain
