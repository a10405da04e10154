from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from qmd_py import embedding, indexing, meaning, registry, retrieval
from qmd_py.config import Settings
from qmd_py.errors import IndexUnusable, ModelMissing
from qmd_py.records.answers import Candidate, Run, Scope
from qmd_py.retrieval import Asked
from qmd_py.store import embeddings
from qmd_py.store.writer import Writer
from qmd_py.terms import Analyzer
from tests.fakes import FailingEmbedder, FakeEmbedder

ENGLISH_AND_RUSSIAN = Analyzer(("en", "ru"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Writer]:
    with Writer.open(tmp_path / "index.sqlite") as opened:
        yield opened


def put(store: Writer, folder: Path, notes: dict[str, str]) -> None:
    for name, text in notes.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    indexing.update(store, registry.collection_for(store, folder), Settings())


def understood(store: Writer, text: str) -> Asked:
    return retrieval.understand(store, text, ENGLISH_AND_RUSSIAN)


def dense(store: Writer, text: str, scope: Scope | None = None) -> Run:
    space = embeddings.space_of(store, meaning.fingerprint(store, FakeEmbedder()))
    assert space
    asked = understood(store, text)
    rows = meaning.vectors_of(FakeEmbedder(), asked.query.plain, ())
    return meaning.by_meaning(store, space, asked.query, scope or Scope(), rows)[0]


def paths(store: Writer, run: Run) -> list[str]:
    notes = store.notes(candidate.pid for candidate in run)
    return [notes[candidate.pid].path for candidate in run]


@pytest.mark.parametrize(
    ("question", "respelled"),
    [
        pytest.param("frontmatter", {}, id="a word it knows"),
        pytest.param("frontmater", {"frontmater": "frontmatter"}, id="a slip"),
        pytest.param("Frontmater!", {"Frontmater!": "frontmatter"}, id="case and marks aside"),
        pytest.param("плагин", {"плагин": "plugin"}, id="a word heard in the other alphabet"),
        pytest.param("zametka", {"zametka": "заметка"}, id="and the other way"),
        pytest.param("frontm*", {}, id="a beginning is meant as it is"),
        pytest.param("xylophone", {}, id="nothing near"),
        pytest.param("12345", {}, id="a number is no slip"),
        pytest.param("the frontmatter", {}, id="a stop-word"),
    ],
)
def test_unknown_words_are_looked_for_as_their_nearest(
    store: Writer, folder: Path, question: str, respelled: dict[str, str]
) -> None:
    put(store, folder, {"a.md": "A plugin for the frontmatter 12346.", "b.md": "Новая заметка."})
    found = understood(store, question).respelled
    assert found.keys() == respelled.keys()
    for typed, term in respelled.items():
        assert term in found[typed]


def test_of_a_pasted_text_the_first_unknown_words_are_looked_for(
    store: Writer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, folder, {"a.md": "A plugin for the frontmatter."})
    read: list[str] = []
    whole = store.terms_from

    def terms_from(beginning: str) -> list[str]:
        read.append(beginning)
        return whole(beginning)

    monkeypatch.setattr(store, "terms_from", terms_from)
    numbers = " ".join(map(str, range(30)))
    pasted = " ".join(f"frontmater{chr(letter)}" for letter in range(ord("a"), ord("z")))
    found = understood(store, f"{numbers} {pasted} plugni")
    assert list(found.respelled) == pasted.split()[:20]
    assert read == ["f"]
    assert understood(store, f"{numbers} plugni").respelled.keys() == {"plugni"}


@pytest.mark.parametrize(
    ("question", "coverage"),
    [
        pytest.param("apples bread", 1, id="all known"),
        pytest.param("apples xylophone", 1 / 2, id="one of two"),
        pytest.param("xylophone", 0, id="none"),
        pytest.param("aples", 1 / 2, id="a respelled word counts half"),
        pytest.param("apples aples xylophone", 1.5 / 3, id="one of each"),
        pytest.param('"apples and bread" xylophone', 1 / 2, id="a phrase counts as a word"),
    ],
)
def test_coverage_is_the_share_of_words_known(
    store: Writer, folder: Path, question: str, coverage: float
) -> None:
    put(store, folder, {"a.md": "apples and bread"})
    assert understood(store, question).coverage == pytest.approx(coverage)


def test_word_runs(store: Writer, folder: Path) -> None:
    put(store, folder, {"a.md": "frontmatter", "b.md": "frontmatter and bread"})
    runs = retrieval.by_words(store, understood(store, "bread"), Scope())
    assert {name: paths(store, run) for name, run in runs.items()} == {
        "bm25": ["b.md"],
        "note": ["b.md"],
    }
    runs = retrieval.by_words(store, understood(store, "bread frontmater"), Scope())
    assert paths(store, runs["bm25"]) == ["b.md"]
    assert sorted(paths(store, runs["near"])) == ["a.md", "b.md"]


@pytest.mark.parametrize(
    ("question", "scores"),
    [
        pytest.param("rate limit", {"limit.md": 1.0, "rate.md": 0.8}, id="the very title"),
        pytest.param("the rate of limits", {"limit.md": 1.0, "rate.md": 0.8}, id="its words"),
        pytest.param("throttle", {"limit.md": 1.0}, id="an alias"),
        pytest.param("requests", {}, id="a word of the text alone"),
        pytest.param("limit", {"limit.md": 2 / 3, "rate.md": 0.5}, id="a word of the title"),
    ],
)
def test_titles_are_compared_with_the_question(
    store: Writer, folder: Path, question: str, scores: dict[str, float]
) -> None:
    put(
        store,
        folder,
        {
            "limit.md": "---\ntitle: Rate limit\naliases: [Throttle]\n---\nHow many requests.",
            "rate.md": "---\ntitle: The rate limit tests\n---\nWhat is tested.",
        },
    )
    run = retrieval.by_title(store, understood(store, question), Scope(), ENGLISH_AND_RUSSIAN)
    found = dict(zip(paths(store, run), [candidate.score for candidate in run], strict=True))
    assert found == pytest.approx(scores)
    assert list(found) == list(scores)


def test_meaning_finds_what_words_do_not(store: Writer, folder: Path) -> None:
    put(store, folder, {"a.md": "Park the automobile.", "b.md": "Ripe fruit.", "c.md": "Машина."})
    embedding.embed(store, FakeEmbedder())
    assert set(paths(store, dense(store, "car"))[:2]) == {"a.md", "c.md"}
    assert retrieval.by_words(store, understood(store, "car"), Scope())["bm25"] == []


def test_the_dense_run_has_every_note_that_shares_a_passage(store: Writer, folder: Path) -> None:
    same = "---\ntitle: Same\n---\nAn automobile."
    put(store, folder, {"b.md": same, "a.md": same, "c.md": "Fruit."})
    embedding.embed(store, FakeEmbedder())
    run = dense(store, "car")
    assert paths(store, run) == ["a.md", "b.md", "c.md"]
    assert run[0].score == run[1].score > run[2].score


def test_a_scope_and_no_scope_score_alike(store: Writer, folder: Path) -> None:
    put(store, folder, {"a.md": "A car.", "b.md": "An apple.", "sub/c.md": "A cat and a car."})
    embedding.embed(store, FakeEmbedder())
    whole, scoped = dense(store, "car"), dense(store, "car", Scope(paths=("*",)))
    assert [(c.id, c.pid) for c in whole] == [(c.id, c.pid) for c in scoped]
    assert [c.score for c in whole] == pytest.approx([c.score for c in scoped])
    assert paths(store, dense(store, "car", Scope(paths=("sub",)))) == ["sub/c.md"]
    assert dense(store, "car", Scope(paths=("none",))) == []


def test_vectors_that_no_note_uses_any_more_take_no_place(
    store: Writer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrieval, "DEPTH", 3)
    crowd = {f"{n}.md": f"car car {n}" for n in range(20)}
    put(store, folder, {**crowd, "y.md": "A car in the garage.", "z.md": "A car on the road."})
    embedding.embed(store, FakeEmbedder())
    for name in crowd:
        (folder / name).unlink()
    put(store, folder, {})
    assert sorted(paths(store, dense(store, "car"))) == ["y.md", "z.md"]


@pytest.mark.parametrize("value", [float("nan"), 0.0])
def test_a_question_without_a_usable_vector_is_told(
    store: Writer, folder: Path, value: float
) -> None:
    put(store, folder, {"a.md": "apples"})
    embedder = FailingEmbedder("poison", value)
    embedding.embed(store, embedder)
    with pytest.raises(ModelMissing, match="no usable vector for this question"):
        meaning.vectors_of(embedder, "poison", ())


def test_damaged_vectors_are_told(store: Writer, folder: Path) -> None:
    put(store, folder, {"a.md": "apples"})
    embedding.embed(store, FakeEmbedder())
    (space,) = embeddings.spaces(store)
    store.file.with_name(space.file).unlink()
    with pytest.raises(IndexUnusable, match="run 'qmd embed --force'"):
        dense(store, "apples")


def test_what_there_is_to_search_in(store: Writer, folder: Path) -> None:
    put(store, folder, {"a.md": "apples"})
    mine, other = FakeEmbedder("mine"), FakeEmbedder("other")
    assert meaning.space_for(store, mine) == (
        None,
        "dense: nothing is embedded yet: run 'qmd embed'",
    )
    embedding.embed(store, other)
    assert meaning.space_for(store, mine) == (
        None,
        "dense: the vectors are of another model or setting: run 'qmd embed'",
    )
    embedding.embed(store, mine)
    space, remark = meaning.space_for(store, mine)
    assert space
    assert (space.rows, remark) == (1, None)
    put(store, folder, {"b.md": "bread", "c.md": "cake"})
    space, remark = meaning.space_for(store, mine)
    assert space
    assert (space.rows, remark) == (1, "dense: 2 passages wait for 'qmd embed'")


def test_the_way_notes_are_cut_is_part_of_the_fingerprint(store: Writer, folder: Path) -> None:
    put(store, folder, {"a.md": "apples"})
    before = meaning.fingerprint(store, FakeEmbedder())
    collection = registry.collection_for(store, folder)
    indexing.update(store, collection, Settings(chunk_chars=300))
    assert meaning.fingerprint(store, FakeEmbedder()) != before
    assert meaning.fingerprint(store, FakeEmbedder("other")) != meaning.fingerprint(
        store, FakeEmbedder()
    )


def run_of(*candidates: tuple[int, float]) -> Run:
    return [Candidate(id_, pid, score) for id_, (pid, score) in enumerate(candidates)]


@pytest.mark.parametrize(
    ("run", "second", "notes"),
    [
        pytest.param(run_of(), 0.0, {}, id="nothing"),
        pytest.param(run_of((1, 0.9), (2, 0.8), (1, 0.7)), 0.0, {1: 0.9, 2: 0.8}, id="the best"),
        pytest.param(
            run_of((1, 0.9), (2, 0.8), (1, 0.5)), 0.5, {2: 0.8, 1: 0.7}, id="and its runner-up"
        ),
        pytest.param(run_of((1, 0.9)), 0.5, {1: 0.9}, id="a lone chunk loses nothing"),
        pytest.param(
            run_of((1, 0.9), (1, 0.5), (1, 0.4)), 0.5, {1: 0.7}, id="a third does not count"
        ),
    ],
)
def test_notes_of_a_run(run: Run, second: float, notes: dict[int, float]) -> None:
    found = retrieval.notes_of(run, second)
    assert found == pytest.approx(notes)
    assert list(found) == list(notes)


@pytest.mark.parametrize("scope", [Scope(), Scope(paths=("*.md",))], ids=["all", "some"])
def test_a_vector_that_is_none_is_told(store: Writer, folder: Path, scope: Scope) -> None:
    """It would be no note's nearest, or every note's."""
    put(store, folder, {"a.md": "apples grow on trees", "b.md": "bees fly"})
    embedding.embed(store, FakeEmbedder())
    (space,) = embeddings.spaces(store)
    file = store.file.with_name(space.file)
    content = bytearray(file.read_bytes())
    content[:8] = np.full(2, np.nan, dtype="<f4").tobytes()
    file.write_bytes(content)
    with pytest.raises(IndexUnusable, match="damaged: run 'qmd embed --force'"):
        dense(store, "apples", scope)
