"""What follows from a reranker's words, and when it need not be asked."""

import datetime
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmd_py import embedding, fusion, indexing, passages, registry, reranking
from qmd_py.cache import Cache, NoCache
from qmd_py.config import Settings
from qmd_py.expansion.callers import Handed
from qmd_py.models import Models
from qmd_py.records.answers import Answer
from qmd_py.records.stored import Chunk, Section, StoredChunk
from qmd_py.render import machine
from qmd_py.reranking import Candidate, Limits, Reranked
from qmd_py.search.asking import Ask
from qmd_py.search.hybrid import hybrid
from qmd_py.store.writer import Writer
from qmd_py.terms import Analyzer
from tests.fakes import FakeEmbedder, FakeReranker

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
ALL = Limits(shown=1000)

shares = st.floats(0, 1)
unsure = st.floats(0.25, 0.75)


class TestBlend:
    @given(shares, shares | st.just(math.nan))
    def test_is_a_share_and_never_quite_certain(self, prior: float, said: float) -> None:
        assert 0 < fusion.blend(prior, said) < 1

    @given(shares, shares, shares)
    def test_rises_with_what_is_said(self, prior: float, one: float, other: float) -> None:
        low, high = sorted([one, other])
        assert fusion.blend(prior, low) <= fusion.blend(prior, high)

    @given(shares, shares, shares)
    def test_rises_with_what_was_known(self, said: float, one: float, other: float) -> None:
        low, high = sorted([one, other])
        assert fusion.blend(low, said) <= fusion.blend(high, said)

    @given(st.lists(st.tuples(shares, unsure), max_size=40))
    def test_an_unsure_reranker_changes_no_order(self, pairs: list[tuple[float, float]]) -> None:
        pairs.sort(key=lambda pair: -pair[0])
        blended = [fusion.blend(prior, said) for prior, said in pairs]
        assert blended == sorted(blended, reverse=True)
        for (prior, _), score in zip(pairs, blended, strict=True):
            assert score == pytest.approx(min(max(prior, 0.02), 0.98))

    @given(shares, shares)
    def test_a_sure_one_moves_any_hit(self, first: float, last: float) -> None:
        assert fusion.blend(first, 0.001) < fusion.blend(last, 0.999)

    @given(shares)
    def test_nan_says_nothing(self, prior: float) -> None:
        assert fusion.blend(prior, math.nan) == fusion.blend(prior, 0.5)

    @given(shares, shares)
    def test_nothing_is_above_the_best(self, prior: float, said: float) -> None:
        assert fusion.blend(prior, said) <= fusion.best_blend(prior)


class TestPassage:
    TOC = (Section("Storing", 1, ("Storing",), "storing", 1, 40),)

    def passage(self, text: str, most: int, section: int | None = 0) -> str:
        stored = StoredChunk(1, 1, Chunk(section, 1, 40, text))
        note = SimpleNamespace(title="Bread")
        terms = frozenset(Analyzer(("en",)).words("linen bags"))
        return reranking.passage_of(note, self.TOC, stored, terms, Analyzer(("en",)), most)  # type: ignore[arg-type]

    def test_a_short_chunk_is_read_whole_under_its_breadcrumb(self) -> None:
        assert self.passage("In a bag.", 100) == "Bread > Storing\n\nIn a bag."
        assert self.passage("In a bag.", 100, None) == "Bread\n\nIn a bag."
        assert self.passage("", 100) == "Bread > Storing"

    def test_of_a_long_one_the_part_that_answers(self) -> None:
        filler = "Something about flour and water. " * 40
        found = self.passage(f"{filler}\n\nKeep it in a linen bag.\n\n{filler}", 60)
        assert found.startswith("Bread > Storing\n\nKeep it in a linen bag.")

    def test_of_a_long_line_too(self) -> None:
        """A paragraph is one line, and the model's count cuts its end."""
        filler = "Something about flour and water. " * 40
        found = self.passage(f"{filler}Keep it in a linen bag. {filler}", 60)
        assert "linen bag" in found
        assert passages.tokens(found) <= 62


class Scripted(FakeReranker):
    """Says of passage `3 …` what stands third in a list."""

    def __init__(self, script: Sequence[float]) -> None:
        super().__init__()
        self._script = script

    def _score(self, question: str, passage: str) -> float:
        return self._script[int(passage.split()[0])]


def candidates(priors: Sequence[float]) -> list[Candidate]:
    return [Candidate(at, prior, f"{at} words") for at, prior in enumerate(priors)]


def final(found: Reranked, asked: Sequence[Candidate]) -> list[tuple[float, int]]:
    """All notes with their scores, as the search orders them."""
    scores = {c.pid: found.scores.get(c.pid, fusion.blend(c.prior, math.nan)) for c in asked}
    return [(score, pid) for pid, score in sorted(scores.items(), key=lambda item: -item[1])]


class TestEarlyStop:
    @given(
        st.lists(
            st.tuples(st.floats(0, 1), st.floats(0, 1) | st.just(math.nan)), min_size=1, max_size=40
        ),
        st.integers(1, 12),
    )
    def test_changes_nothing_that_is_shown(
        self, pairs: list[tuple[float, float]], shown: int
    ) -> None:
        pairs.sort(key=lambda pair: -pair[0])
        asked = candidates([prior for prior, _ in pairs])
        script = [said for _, said in pairs]
        short = reranking.rerank(Scripted(script), NoCache(), "q", asked, Limits(shown))
        whole = reranking.rerank(Scripted(script), NoCache(), "q", asked, ALL)
        assert whole.read == len(asked)
        assert final(short, asked)[:shown] == final(whole, asked)[:shown]
        assert short.remark is None

    @given(
        st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=30),
        st.sets(st.integers(0, 29)),
        st.integers(1, 12),
    )
    def test_nor_when_some_were_known(
        self, pairs: list[tuple[float, float]], known: set[int], shown: int
    ) -> None:
        pairs.sort(key=lambda pair: -pair[0])
        asked = candidates([prior for prior, _ in pairs])
        script = [said for _, said in pairs]
        kept = {passages.key(c.passage): script[c.pid] for c in asked if c.pid in known}
        cache = SimpleNamespace(
            scores=lambda *_: kept, put_scores=lambda *_: None, problem=None, close=lambda: None
        )
        short = reranking.rerank(Scripted(script), cache, "q", asked, Limits(shown))
        whole = reranking.rerank(Scripted(script), NoCache(), "q", asked, ALL)
        assert final(short, asked)[:shown] == final(whole, asked)[:shown]

    def test_comes_when_the_first_ones_are_out_of_reach(self) -> None:
        model = Scripted([0.999, 0.999, 0.5, 0.5, 0.5])
        found = reranking.rerank(
            model, NoCache(), "q", candidates([0.9, 0.9, 0.2, 0.1, 0.1]), Limits(2)
        )
        assert (found.read, found.remark) == (2, None)

    def test_does_not_come_while_one_could_still_win(self) -> None:
        model = Scripted([0.999, 0.9, 0.5, 0.999])
        found = reranking.rerank(model, NoCache(), "q", candidates([0.9, 0.9, 0.2, 0.1]), Limits(2))
        assert found.read == 4


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    with Cache(tmp_path / "answers.sqlite") as opened:
        yield opened


class TestRerank:
    def test_equal_passages_are_read_once_and_score_alike(self) -> None:
        model = FakeReranker()
        asked = [Candidate(1, 0.5, "a car"), Candidate(2, 0.4, "a car"), Candidate(3, 0.3, "bread")]
        found = reranking.rerank(model, NoCache(), "car", asked, ALL)
        assert model.read == ["a car", "bread"]
        assert (found.said[1], found.read) == (found.said[2], 2)
        assert found.scores[1] > found.scores[2] > found.scores[3]

    def test_what_was_read_before_is_not_read_again(self, cache) -> None:
        asked = candidates([0.5, 0.4, 0.3])
        first = reranking.rerank(FakeReranker(), cache, "1 words", asked, ALL)
        model = FakeReranker()
        again = reranking.rerank(model, cache, " 1  words ", asked, ALL)
        assert (model.read, model.questions, again.read) == ([], [], 0)
        assert (again.scores, again.said) == (first.scores, first.said)

    def test_only_what_is_new_is_read(self, cache) -> None:
        reranking.rerank(FakeReranker(), cache, "q", candidates([0.5, 0.4]), ALL)
        model = FakeReranker()
        found = reranking.rerank(model, cache, "q", candidates([0.5, 0.4, 0.3]), ALL)
        assert (model.read, found.read) == (["2 words"], 1)
        assert set(found.scores) == {0, 1, 2}

    def test_another_model_or_question_reads_anew(self, cache) -> None:
        """Scores that survived a change of the model were a fault elsewhere."""
        asked = candidates([0.5])
        reranking.rerank(FakeReranker("a"), cache, "q", asked, ALL)
        for model, question in ((FakeReranker("b"), "q"), (FakeReranker("a"), "r")):
            reranking.rerank(model, cache, question, asked, ALL)
            assert model.read == ["0 words"]

    def test_a_model_that_breaks_down_costs_what_it_has_not_said(self, cache) -> None:
        asked = candidates([0.5, 0.4, 0.3, 0.2])
        found = reranking.rerank(FakeReranker(fails_after=2), cache, "words", asked, ALL)
        assert found.remark == "rerank: fake.gguf: it broke down"
        assert set(found.scores) == {0, 1}
        keys = [passages.key(c.passage) for c in asked]
        assert set(cache.scores("fake 1", "words", keys)) == set(keys[:2])

    def test_what_was_read_before_ctrl_c_is_kept(self, cache) -> None:
        class Interrupted(FakeReranker):
            def _score(self, question: str, passage: str) -> float:
                if len(self.read) == 3:
                    raise KeyboardInterrupt
                return super()._score(question, passage)

        asked = candidates([0.5, 0.4, 0.3, 0.2])
        with pytest.raises(KeyboardInterrupt):
            reranking.rerank(Interrupted(), cache, "words", asked, ALL)
        assert reranking.rerank(FakeReranker(), cache, "words", asked, ALL).read == 2

    def test_one_that_never_begins_leaves_the_fused_order(self, cache) -> None:
        asked = candidates([0.5, 0.4])
        found = reranking.rerank(FakeReranker(fails_after=0), cache, "q", asked, ALL)
        assert (found.scores, found.said, found.read) == ({}, {}, 0)
        assert cache.state().scores == 0

    def test_nan_keeps_its_place_and_is_asked_again(self, cache) -> None:
        asked = candidates([0.5, 0.4, 0.3])
        said = {"0": math.nan, "1": 0.5, "2": 0.5}
        model = FakeReranker(says=said)
        found = reranking.rerank(model, cache, "q", asked, ALL)
        assert [pid for _, pid in final(found, asked)] == [0, 1, 2]
        reranking.rerank(model, cache, "q", asked, ALL)
        assert model.read == ["0 words", "1 words", "2 words", "0 words"]

    def test_a_budget_that_is_spent_is_said(self, cache, monkeypatch) -> None:
        clock = iter(range(100))
        monkeypatch.setattr(reranking, "time", SimpleNamespace(monotonic=lambda: next(clock)))
        asked = candidates([0.5, 0.4, 0.3, 0.2])
        found = reranking.rerank(FakeReranker(), cache, "q", asked, Limits(9, seconds=1.5))
        assert found.remark == "rerank: 2 candidates were not read within --budget 1.5"
        assert (found.read, set(found.scores)) == (2, {0, 1})
        assert cache.state().scores == 2

    def test_one_that_just_sufficed_is_not(self, monkeypatch) -> None:
        clock = iter(range(100))
        monkeypatch.setattr(reranking, "time", SimpleNamespace(monotonic=lambda: next(clock)))
        found = reranking.rerank(
            FakeReranker(), NoCache(), "q", candidates([0.5, 0.4]), Limits(9, seconds=1.5)
        )
        assert (found.read, found.remark) == (2, None)

    def test_no_candidates(self, cache) -> None:
        assert reranking.rerank(FakeReranker(), cache, "q", [], ALL) == Reranked({}, {}, 0)


class TestSearch:
    """Through the whole pipeline."""

    @pytest.fixture
    def store(self, tmp_path: Path, folder: Path) -> Iterator[Writer]:
        for at in range(12):
            (folder / f"{at:02}.md").write_text(
                f"# Note {at}\n\nbread {'bread ' * (12 - at)} n{at}x\n"
            )
        (folder / "car.md").write_text("# Engines\n\nbread crumbs in a car\n")
        with Writer.open(tmp_path / "index.sqlite") as opened:
            indexing.update(opened, registry.collection_for(opened, folder), Settings())
            embedding.embed(opened, FakeEmbedder())
            yield opened

    def ask(self, store: Writer, model: FakeReranker | None, text: str = "bread", **ask) -> Answer:
        return hybrid(store, text, Ask(**ask), Models(FakeEmbedder(), None, model), NOW)

    def found(self, answer: Answer) -> list[str]:
        return [hit.path for hit in answer.hits]

    def test_a_sure_reranker_moves_the_last_to_the_first(self, store) -> None:
        plain = self.found(self.ask(store, None, limit=20))
        last = plain[-1]
        pick = FakeReranker(says={"crumbs": 0.999, "bread": 0.001})
        assert last != "car.md" or plain[0] != "car.md"
        answer = self.ask(store, pick, limit=20)
        assert answer.hits[0].path == "car.md"
        assert set(self.found(answer)) == set(plain)
        assert answer.hits[0].matches[0].evidence["rerank"] == 0.999
        assert 0 <= answer.hits[-1].score < answer.hits[0].score <= 1

    def test_an_unsure_one_moves_nothing(self, store) -> None:
        plain = self.found(self.ask(store, None, limit=20))
        assert self.found(self.ask(store, FakeReranker(says={"": 0.6}), limit=20)) == plain

    @pytest.mark.parametrize("cached", [False, True], ids=["no cache", "one cache"])
    def test_fewer_hits_are_the_beginning_of_more(self, store, cache, cached: bool) -> None:
        says = {f"n{at}x": (at * 37 % 13) / 13 for at in range(12)}
        asked = {"cache": cache} if cached else {}
        whole = self.ask(store, FakeReranker(says=says), limit=50)
        for limit in (5, 1, 3, 8, 13, 50):
            answer = self.ask(store, FakeReranker(says=says), limit=limit, **asked)
            assert [(hit.pid, hit.score) for hit in answer.hits] == [
                (hit.pid, hit.score) for hit in whole.hits[:limit]
            ]

    def test_nan_is_not_in_the_json(self, store) -> None:
        answer = self.ask(store, FakeReranker(says={"n3x": math.nan, "n4x": 2e-9}))
        text = machine.answer_json(answer, explain=True)
        json.loads(text, parse_constant=pytest.fail)
        assert "NaN" not in text

    def test_a_model_that_fails_keeps_the_fused_order_and_says_so(self, store) -> None:
        plain = self.ask(store, None)
        answer = self.ask(store, FakeReranker(fails_after=0))
        assert self.found(answer) == self.found(plain)
        assert "rerank: fake.gguf: it broke down" in answer.skipped

    def test_the_stage_says_what_was_read(self, store, cache) -> None:
        notes = [
            next(stage.note for stage in answer.stages if stage.name == "rerank")
            for answer in (self.ask(store, FakeReranker(), limit=50, cache=cache) for _ in range(2))
        ]
        assert notes == ["13 read now, 0 known", "0 read now, 13 known"]

    def test_the_early_answer_is_no_stage_of_its_own(self, store) -> None:
        answer = self.ask(store, FakeReranker(), early=lambda _: None)
        names = [stage.name for stage in answer.stages]
        assert names == ["probe", "expand", "retrieve", "fuse", "rerank", "cite"]

    def test_leaving_it_out_asks_no_model(self, store) -> None:
        model = FakeReranker()
        answer = self.ask(store, model, without=frozenset({"rerank"}))
        assert model.questions == []
        assert "rerank" not in {stage.name for stage in answer.stages}

    def test_the_fused_answer_comes_first(self, store) -> None:
        early: list[Answer] = []
        says = {"crumbs": 0.999, "bread": 0.001}
        answer = self.ask(store, FakeReranker(says=says), early=early.append)
        assert self.found(early[0]) == self.found(self.ask(store, None))
        assert self.found(answer) != self.found(early[0])

    def test_the_intent_is_read_with_the_question(self, store) -> None:
        model = FakeReranker()
        self.ask(store, model, handed=Handed(intent="cleaning"))
        assert model.questions == ["bread (cleaning)"]

    def test_nothing_found_nothing_read(self, store) -> None:
        model = FakeReranker()
        self.ask(store, model, "zzqxflurb", without=frozenset({"dense", "near"}))
        assert model.questions == []
