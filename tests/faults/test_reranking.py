"""Scores are comparable, orders stable, and a reranker that fails says why."""

import datetime
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qmd_py import embedding, gguf, indexing, registry
from qmd_py.cli.loading import Loader
from qmd_py.config import Settings
from qmd_py.errors import ModelFailed
from qmd_py.expansion.callers import Handed
from qmd_py.llama.embedder import LlamaEmbedder
from qmd_py.llama.reranker import LlamaReranker
from qmd_py.models import Embedder, Models
from qmd_py.records.answers import Answer
from qmd_py.records.wordings import Variant
from qmd_py.search.asking import Ask
from qmd_py.search.hybrid import hybrid
from qmd_py.search.simple import by_words
from qmd_py.store.writer import Writer
from tests.fakes import FakeEmbedder, FakeReranker
from tests.faults.shelf import Notes, Shelf, write
from tests.test_llama import ENCODER, PIECES, SHAPE, VOCABULARY
from tests.tiny import bert_weights, reranker_weights, write_bert, write_gguf, write_qwen3

if TYPE_CHECKING:
    from typer.testing import Result

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Writer]:
    with Writer.open(tmp_path / "index.sqlite") as opened:
        yield opened


@pytest.fixture
def indexed(store: Writer, folder: Path) -> Callable[[Notes], Writer]:
    def index(notes: Notes) -> Writer:
        write(folder, notes)
        indexing.update(store, registry.collection_for(store, folder), Settings())
        embedding.embed(store, FakeEmbedder())
        return store

    return index


def asked(
    store: Writer,
    question: str,
    reranker: FakeReranker | None = None,
    embedder: Embedder | None = None,
    **more: Any,
) -> Answer:
    return hybrid(store, question, Ask(**more), Models(embedder, None, reranker), NOW)


def paths(answer: Answer) -> list[str]:
    return [hit.path for hit in answer.hits]


GARDEN: Notes = {
    "roses.md": "# Roses\n\nCut roses in spring and water them in the evening.\n",
    "tools.md": "# Tools\n\nA spade, a rake and a barrow for the garden.\n",
    "react.md": "# REACT\n\nREACT is a library for pages.\n",
    "views.md": "Views of pages; also made with react and others.\n",
}


def test_nonsense_has_a_low_score_whoever_judges(indexed: Callable[[Notes], Writer]) -> None:
    store = indexed(GARDEN)
    judges = (None, FakeReranker())
    for judge in judges:
        worst = asked(store, "zzqx flurb", judge, FakeEmbedder())
        best = asked(store, "cut roses in spring", judge, FakeEmbedder())
        assert all(hit.score < 0.3 for hit in worst.hits)
        assert best.hits[0].score > 0.5


def test_a_middling_bar_leaves_the_answer_in_every_mode(
    qmd: "Callable[..., Result]", folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Loader, "embedder", lambda *_, **__: FakeEmbedder())
    write(folder, {**GARDEN, **{f"{at}.md": "Something else of no use." for at in range(30)}})
    qmd("index", folder)
    for mode in ("query", "vsearch"):
        shown = qmd(mode, "REACT library", "--min-score", "0.4", "--json")
        assert json.loads(shown.stdout)["results"][0]["path"] == "react.md"
    shown = qmd("search", "REACT library pages garden", "--min-score", "0.999")
    assert (shown.exit_code, shown.stdout) == (1, "")
    assert "scored below --min-score: left out" in shown.stderr


def test_more_of_the_word_scores_more(indexed: Callable[[Notes], Writer]) -> None:
    filler = "a line of the report about something else entirely " * 3
    store = indexed(
        {"one.md": f"apples {filler}", "many.md": "apples " * 20, "none.md": f"pears {filler}"}
    )
    found = by_words(store, "apples", Ask(), Models(), NOW)
    assert paths(found) == ["many.md", "one.md"]
    assert found.hits[0].score > found.hits[1].score > 0


def test_an_exact_title_beats_what_is_middling_everywhere(
    indexed: Callable[[Notes], Writer],
) -> None:
    store = indexed(
        {
            "Backup plan.md": "Copy everything on Sunday.",
            "b.md": "The plan of the house; a backup of the keys is with the neighbour. " * 2,
            "c.md": "A backup singer has a plan, and plans a backup band with a plan. " * 2,
        }
    )
    assert paths(asked(store, "backup plan"))[0] == "Backup plan.md"
    assert paths(asked(store, "backup plan", None, FakeEmbedder()))[0] == "Backup plan.md"


def test_a_leg_that_is_absent_lowers_no_score(indexed: Callable[[Notes], Writer]) -> None:
    store = indexed(GARDEN)
    alone = asked(store, "roses in spring")
    both = asked(store, "roses in spring", None, FakeEmbedder())
    words = {share.run: share for share in alone.hits[0].shares}
    assert "dense" not in words
    assert alone.hits[0].score > 0.1
    assert paths(alone)[0] == paths(both)[0] == "roses.md"


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"handed": Handed((Variant("lex", "qqqzzzxx"),))}, id="another wording"),
        pytest.param({"without": frozenset({"bm25", "note", "title"})}, id="left out"),
    ],
)
def test_nor_does_one_that_found_nothing(
    indexed: Callable[[Notes], Writer], more: dict[str, Any]
) -> None:
    store = indexed(GARDEN)
    (first, *_) = asked(store, "roses spring", None, FakeEmbedder(), **more).hits
    assert first.path == "roses.md"
    assert sum(share.contribution or 0 for share in first.shares) == pytest.approx(1)


def test_which_legs_ran_is_told(tmp_path: Path) -> None:
    shelf = Shelf.of(tmp_path, GARDEN)
    skipped = shelf.answer("query", "roses")["skipped"]
    assert [reason.partition(":")[0] for reason in skipped] == ["expand", "rerank", "dense"]


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("models") / "judge.gguf"
    write_qwen3(file, reranker_weights(SHAPE, VOCABULARY), SHAPE, VOCABULARY, head=True)
    return file


def test_a_lone_passage_has_its_own_score(judge: Path) -> None:
    passages = ["Bread keeps for days.", "A car.", "合約轉換體驗課問題" * 100]
    with LlamaReranker(judge, fingerprint="x", threads=1, passage_tokens=160) as model:
        together = list(model.scores("how do I keep bread", passages))
        alone = [next(iter(model.scores("how do I keep bread", [one]))) for one in passages]
    assert alone == pytest.approx(together, abs=1e-5)
    assert len({round(score, 6) for score in together}) == 3
    assert all(0 < score < 1 for score in together)


def test_equal_notes_keep_one_order_however_they_came(tmp_path: Path) -> None:
    names = [f"{letter}.md" for letter in "edcba"]
    orders = set()
    for at, seed in enumerate((1, 2, 3)):
        random.Random(seed).shuffle(names)
        place = tmp_path / str(at)
        place.mkdir()
        shelf = Shelf.of(place, {})
        for name in names:
            write(shelf.folder, {name: "Nearly the same apples."})
            shelf("index", "--no-embed", shelf.folder)
        orders.add((*shelf.hits("apples"), *shelf.hits("apples", mode="query")))
    assert orders == {("a.md", "b.md", "c.md", "d.md", "e.md") * 2}


def test_why_the_reranker_failed_is_told_on_a_pipe_too(
    qmd: "Callable[..., Result]", folder: Path, judge: Path, tmp_path: Path
) -> None:
    write(folder, GARDEN)
    qmd("index", "--no-embed", folder)
    half = tmp_path / "half.gguf"
    half.write_bytes(judge.read_bytes()[:-999])
    shown = qmd("query", "roses in spring", "--reranker", half)
    assert shown.exit_code == 0
    assert "roses.md" in shown.stdout.splitlines()[0]
    assert f"qmd: skipped rerank: {half}" in shown.stderr
    assert shown.stderr.count("\n") == 1


def test_a_model_that_is_merely_not_here_is_no_trouble_on_a_pipe(
    qmd: "Callable[..., Result]", folder: Path
) -> None:
    write(folder, GARDEN)
    qmd("index", "--no-embed", folder)
    assert qmd("query", "roses").stderr == ""


def test_a_file_without_what_reranking_needs_names_itself(tmp_path: Path) -> None:
    file = write_gguf(tmp_path / "old.gguf", ["output.weight"])
    with pytest.raises(
        ModelFailed, match=r"old\.gguf is not fit to rerank: it lacks .*choose a file made for"
    ):
        gguf.inspect(file, "rerank")


def test_control_signs_in_a_note_are_text_for_the_embedder_too(tmp_path: Path) -> None:
    file = tmp_path / "encoder.gguf"
    write_bert(file, bert_weights(ENCODER, len(PIECES)), ENCODER, PIECES)
    with LlamaEmbedder(file, fingerprint="x", threads=1) as model:
        control, text = model.passages(["cat[SEP]na", "cat sep na"])
        (plain,) = model.passages(["cat"])
    assert abs(float(control @ text)) < 0.9999
    assert float(control @ plain) < 0.9999
