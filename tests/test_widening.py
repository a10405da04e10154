"""Other wordings: whose they are, which search they are for, and when no model is asked."""

import datetime
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qmd_py import embedding, indexing, registry, retrieval, widening
from qmd_py.cache import Cache, NoCache
from qmd_py.config import Settings
from qmd_py.errors import ModelFailed
from qmd_py.expansion import guards
from qmd_py.expansion.callers import Handed
from qmd_py.models import Models
from qmd_py.records.answers import Answer
from qmd_py.records.wordings import Variant
from qmd_py.search.asking import Ask
from qmd_py.search.hybrid import hybrid
from qmd_py.store.writer import Writer
from qmd_py.terms import Analyzer
from tests.fakes import FakeEmbedder, FakeExpander

if TYPE_CHECKING:
    from qmd_py.models import Matrix

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
ANALYZER = Analyzer(("en", "ru"))
QUESTION = "where to buy a car"
LEX, VEC, HYDE = (
    Variant("lex", "purchase automobile"),
    Variant("vec", "the place to purchase an automobile"),
    Variant("hyde", "An automobile is best to purchase from a friend."),
)
DRIFTED = Variant("lex", "weather tomorrow")


class CountingEmbedder(FakeEmbedder):
    """Notes each question-like text it embeds."""

    def __init__(self, name: str = "fake 1", *, fails: bool = False) -> None:
        super().__init__(name)
        self.asked: list[str] = []
        self._fails = fails

    def queries(self, texts: Sequence[str]) -> "Matrix":
        if self._fails:
            raise ModelFailed("encoder.gguf: it broke down")
        self.asked += texts
        return super().queries(texts)


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    with Cache(tmp_path / "answers.sqlite") as opened:
        yield opened


class TestByModel:
    def test_what_drifts_is_dropped_with_its_reason(self, cache) -> None:
        model = FakeExpander(writes=[LEX, DRIFTED, VEC, HYDE])
        found = widening.by_model(QUESTION, model, cache, ANALYZER, FakeEmbedder())
        assert found.variants == (LEX, VEC, HYDE)
        assert [(one.variant, one.reason) for one in found.dropped] == [(DRIFTED, guards.FAR)]
        assert (found.source, found.remark) == ("model", None)
        assert found.weight == widening.MODELS_WEIGHT < widening.CALLERS_WEIGHT < 1

    def test_a_fake_model_that_knows_synonyms_is_not_dropped(self) -> None:
        found = widening.by_model(QUESTION, FakeExpander(), NoCache(), ANALYZER, FakeEmbedder())
        assert {variant.kind for variant in found.variants} == {"lex", "vec", "hyde"}

    def test_without_an_embedder_words_decide(self) -> None:
        model = FakeExpander(writes=[LEX, Variant("lex", "car dealer"), VEC])
        found = widening.by_model(QUESTION, model, NoCache(), ANALYZER, None)
        assert found.variants == (Variant("lex", "car dealer"), VEC)
        assert [one.reason for one in found.dropped] == [guards.UNRELATED]

    def test_the_same_question_comes_from_the_cache(self, cache) -> None:
        model = FakeExpander(writes=[LEX, DRIFTED])
        for source in ("model", "cache", "cache"):
            found = widening.by_model(QUESTION, model, cache, ANALYZER, FakeEmbedder())
            assert (found.source, found.variants) == (source, (LEX,))
            assert found.weight == widening.MODELS_WEIGHT
        assert model.asked == [QUESTION]

    def test_another_model_is_asked_anew(self, cache) -> None:
        widening.by_model(QUESTION, FakeExpander(), cache, ANALYZER, FakeEmbedder())
        other = FakeExpander("other")
        widening.by_model(QUESTION, other, cache, ANALYZER, FakeEmbedder())
        assert other.asked == [QUESTION]

    def test_what_is_kept_is_judged_anew(self, cache) -> None:
        model = FakeExpander(writes=[LEX, DRIFTED])
        first = widening.by_model(QUESTION, model, cache, ANALYZER, FakeEmbedder())
        again = widening.by_model(QUESTION, model, cache, ANALYZER, FakeEmbedder("other"))
        assert (again.variants, again.dropped) == (first.variants, first.dropped)
        assert len(first.dropped) == 1
        assert model.asked == [QUESTION]

    def test_an_answer_of_no_use_is_not_asked_for_twice(self, cache) -> None:
        model = FakeExpander(writes=[DRIFTED])
        for source in ("model", "cache"):
            found = widening.by_model(QUESTION, model, cache, ANALYZER, FakeEmbedder())
            assert (found.variants, found.source) == ((), source)
        assert model.asked == [QUESTION]

    def test_an_answer_cut_short_is_not_kept(self, cache) -> None:
        model = FakeExpander(writes=[LEX])
        model.finished = False
        for _ in range(2):
            found = widening.by_model(QUESTION, model, cache, ANALYZER, FakeEmbedder())
            assert (found.variants, found.source) == ((LEX,), "model")
        assert cache.state().expansions == 0

    @pytest.mark.parametrize("writes", [[], [Variant("lex", " ")]])
    def test_no_answer_is_not_cached(self, cache, writes: list[Variant]) -> None:
        model = FakeExpander(writes=writes)
        for _ in range(2):
            found = widening.by_model(QUESTION, model, cache, ANALYZER, FakeEmbedder())
            assert (found.variants, found.source) == ((), "model")
        assert len(model.asked) == 2
        assert cache.state().expansions == 0

    def test_a_model_that_breaks_down_costs_the_variants(self, cache) -> None:
        found = widening.by_model(
            QUESTION, FakeExpander(fails=True), cache, ANALYZER, FakeEmbedder()
        )
        assert (found.variants, found.source) == ((), "the model failed")
        assert found.remark == "expand: fake.gguf: it broke down"
        assert cache.state().expansions == 0

    def test_so_does_an_embedder(self, cache) -> None:
        embedder = CountingEmbedder(fails=True)
        found = widening.by_model(QUESTION, FakeExpander(), cache, ANALYZER, embedder)
        assert found.variants == ()
        assert found.remark == "expand: encoder.gguf: it broke down"

    def test_the_callers_are_taken_as_they_are(self) -> None:
        found = widening.by_caller(Handed((DRIFTED, VEC)))
        assert (found.variants, found.dropped, found.source) == ((DRIFTED, VEC), (), "caller")
        assert found.weight == widening.CALLERS_WEIGHT


NOTES = {
    "dealers.md": "# Garages\n\nAn automobile dealer in the old town; purchase or rent.\n",
    "bread.md": "# Bread\n\nWhere to buy flour. A market is on Monday.\n",
    "engine.md": "# Engines\n\nOil for any vehicle.\n",
    "market.md": "# Market days\n\nWhere a market is, and what to buy there.\n",
    "apple.md": "# Apple pie\n\nRaisins and cinnamon.\n",
}


class TestSearch:
    """Through the whole pipeline."""

    @pytest.fixture
    def store(self, tmp_path: Path, folder: Path) -> Iterator[Writer]:
        for name, text in NOTES.items():
            (folder / name).write_text(text)
        with Writer.open(tmp_path / "index.sqlite") as opened:
            indexing.update(opened, registry.collection_for(opened, folder), Settings())
            embedding.embed(opened, FakeEmbedder())
            yield opened

    @pytest.fixture
    def searched(self, monkeypatch) -> list[str]:
        """Texts searched by words beside the question."""
        found: list[str] = []
        plain = retrieval.by_other_words

        def noted(store, asked, texts, scope, analyzer):
            found.extend(texts)
            return plain(store, asked, texts, scope, analyzer)

        monkeypatch.setattr("qmd_py.retrieval.by_other_words", noted)
        return found

    def ask(
        self, store: Writer, model: FakeExpander | None, text: str = QUESTION, **ask
    ) -> tuple[Answer, list[str]]:
        """The answer, and the texts that were embedded for it."""
        embedder = CountingEmbedder()
        answer = hybrid(store, text, Ask(**ask), Models(embedder, model), NOW)
        return answer, embedder.asked

    def shares(self, answer: Answer, path: str) -> dict[str, float]:
        hit = next(hit for hit in answer.hits if hit.path == path)
        return {share.run: share.contribution or 0.0 for share in hit.shares}

    def test_the_callers_variants_leave_the_model_alone(self, store) -> None:
        model = FakeExpander()
        for handed in (Handed((LEX,)), Handed(queries=("car market",))):
            answer, _ = self.ask(store, model, handed=handed)
            assert answer.widened_by == "caller"
        assert model.asked == []

    def test_an_intent_alone_does_not(self, store) -> None:
        model = FakeExpander()
        self.ask(store, model, handed=Handed(intent="moving house"))
        assert model.asked == [QUESTION]

    def test_where_one_note_clearly_leads_the_model_is_not_asked(self, store) -> None:
        model = FakeExpander()
        answer, _ = self.ask(store, model, "apple pie")
        assert (model.asked, answer.leads) == ([], True)
        assert answer.widened_by == "skipped: one note clearly leads"

    def test_unless_there_is_an_intent(self, store) -> None:
        model = FakeExpander()
        answer, _ = self.ask(store, model, "apple pie", handed=Handed(intent="baking"))
        assert (model.asked, answer.widened_by) == (["apple pie"], "model")

    def test_each_kind_goes_to_its_own_search(self, store, searched) -> None:
        _, embedded = self.ask(store, None, handed=Handed((LEX, VEC, HYDE)))
        assert searched == [LEX.text]
        assert set(embedded) == {QUESTION, VEC.text, HYDE.text}

    def test_a_phrasing_goes_to_both(self, store, searched) -> None:
        _, embedded = self.ask(store, None, handed=Handed(queries=("automobile market",)))
        assert searched == ["automobile market"]
        assert set(embedded) == {QUESTION, "automobile market"}

    def test_lex_alone_embeds_nothing_more(self, store) -> None:
        _, embedded = self.ask(store, None, handed=Handed((LEX,)))
        assert set(embedded) == {QUESTION}

    @pytest.mark.parametrize(
        ("without", "words", "meaning"),
        [
            pytest.param("hyde", [LEX.text], [QUESTION, VEC.text], id="hyde"),
            pytest.param("vec", [LEX.text], [HYDE.text, QUESTION], id="vec"),
            pytest.param("lex", [], [HYDE.text, QUESTION, VEC.text], id="lex"),
            pytest.param("dense", [LEX.text], [], id="all vectors"),
        ],
    )
    def test_a_kind_can_be_left_out(self, store, searched, without, words, meaning) -> None:
        answer, embedded = self.ask(
            store, None, handed=Handed((LEX, VEC, HYDE)), without=frozenset({without})
        )
        assert (searched, set(embedded)) == (words, set(meaning))
        runs = {share.run for hit in answer.hits for share in hit.shares}
        assert without not in runs

    def test_many_variants_of_a_kind_weigh_as_much_as_one(self, store) -> None:
        others = [
            "an automobile dealer",
            "purchase an automobile in town",
            "vehicle purchase place",
        ]
        few, _ = self.ask(store, None, handed=Handed((VEC,)))
        many, _ = self.ask(
            store, None, handed=Handed((VEC, *(Variant("vec", text) for text in others)))
        )
        one, all_ = (self.shares(answer, "dealers.md") for answer in (few, many))
        assert one["vec"] == pytest.approx(all_["vec"])
        assert all_["dense"] == pytest.approx(one["dense"])
        assert all_["vec"] < all_["dense"]

    def test_a_models_variants_weigh_less_than_the_callers(self, store) -> None:
        own, _ = self.ask(store, None, handed=Handed((VEC,)))
        models, _ = self.ask(store, FakeExpander(writes=[VEC]))
        one, other = (self.shares(answer, "dealers.md") for answer in (own, models))
        assert 0 < other["vec"] < one["vec"]

    def test_a_synonym_finds_what_the_words_do_not(self, store) -> None:
        plain, _ = self.ask(store, None, without=frozenset({"dense"}))
        wider, _ = self.ask(store, FakeExpander(), without=frozenset({"dense"}))
        paths = [[hit.path for hit in answer.hits] for answer in (plain, wider)]
        assert "dealers.md" not in paths[0]
        assert "dealers.md" in paths[1]

    def test_what_was_searched_and_what_not_is_told(self, store) -> None:
        answer, _ = self.ask(store, FakeExpander(writes=[LEX, DRIFTED]))
        assert answer.variants == (LEX,)
        assert answer.dropped == ((DRIFTED, guards.FAR),)
        assert (answer.widened_by, answer.skipped) == ("model", ())

    def test_a_model_that_breaks_down_is_told(self, store) -> None:
        plain, _ = self.ask(store, None)
        answer, _ = self.ask(store, FakeExpander(fails=True))
        assert [hit.path for hit in answer.hits] == [hit.path for hit in plain.hits]
        assert answer.skipped == ("expand: fake.gguf: it broke down",)

    def test_an_embedder_that_breaks_down_leaves_the_words(self, store) -> None:
        models = Models(CountingEmbedder(fails=True), FakeExpander())
        answer = hybrid(store, QUESTION, Ask(), models, NOW)
        assert answer.hits
        assert set(answer.skipped) == {
            "expand: encoder.gguf: it broke down",
            "dense: encoder.gguf: it broke down",
        }
