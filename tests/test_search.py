import datetime
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qmd_py import embedding, indexing, processors, registry, sections
from qmd_py.config import Settings
from qmd_py.errors import ModelMissing, UsageError
from qmd_py.meaning import fingerprint
from qmd_py.models import Embedder, Models
from qmd_py.records.answers import Answer, Hit, Scope
from qmd_py.search.asking import Ask
from qmd_py.search.hybrid import hybrid
from qmd_py.search.simple import by_meaning, by_words
from qmd_py.store import embeddings
from qmd_py.store.writer import Writer
from tests.fakes import FailingEmbedder, FakeEmbedder

if TYPE_CHECKING:
    from typer.testing import Result

LIMIT = 1_000_000  # bytes
NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
MODELS = Models(missing=("dense: no embedder here",))
GOLDEN = Path(__file__).parent / "vault-golden.json"

Search = Callable[..., Answer]
Pipeline = Callable[[Writer, str, Ask, Models, datetime.datetime], Answer]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Writer]:
    with Writer.open(tmp_path / "index.sqlite") as opened:
        yield opened


@pytest.fixture(params=[by_words, hybrid], ids=["by words", "hybrid"])
def search(request: pytest.FixtureRequest, store: Writer) -> Search:
    """Ask in either way: `search("question", limit=3)`."""
    return lambda question, **ask: request.param(store, question, Ask(**ask), MODELS, NOW)


def put(store: Writer, folder: Path, notes: dict[str, str]) -> None:
    for name, text in notes.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    index(store, folder)


def index(store: Writer, folder: Path) -> None:
    indexing.update(store, registry.collection_for(store, folder), Settings())


def paths(answer: Answer) -> list[str]:
    return [hit.path for hit in answer.hits]


def questions() -> list[str]:
    return [row["query"] for row in json.loads(GOLDEN.read_text())]


def test_every_hit_of_a_judged_question_leads_to_a_section_that_holds_it(
    store: Writer, search: Search, vault: Path
) -> None:
    index(store, vault)
    assert len(questions()) > 10
    for question in questions():
        answer = search(question, limit=50)
        assert answer.hits, question
        for hit in answer.hits:
            lines = (vault / hit.path).read_text().splitlines()
            for match in hit.matches:
                found = sections.section(store, str(hit.pid), match.toc_path, LIMIT)
                assert found.toc_path == match.toc_path
                assert "\n".join(lines[match.line - 1 : match.last_line]) in found.text


def test_answers_have_the_promised_shape(store: Writer, search: Search, vault: Path) -> None:
    index(store, vault)
    for question in questions():
        for hit in search(question, limit=50).hits:
            entries = [entry.path for entry in hit.toc]
            assert 1 <= len(hit.matches) <= 3
            assert len({match.toc_path for match in hit.matches}) == len(hit.matches)
            assert 0 < hit.score <= 1
            assert hit.matches[0].score == pytest.approx(hit.score)
            for match in hit.matches:
                assert match.toc_path in (entries or [()])
                assert match.breadcrumb.startswith(hit.title)
                assert match.line <= match.snippet_line <= match.last_line
                assert all(rank >= 1 for rank in match.evidence.values())


def test_hits_stand_in_order_of_score_and_no_note_twice(
    store: Writer, search: Search, vault: Path
) -> None:
    index(store, vault)
    for question in questions():
        hits = search(question, limit=50).hits
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True)
        assert len({hit.pid for hit in hits}) == len(hits)


def test_a_shorter_answer_is_the_beginning_of_a_longer_one(
    store: Writer, search: Search, vault: Path
) -> None:
    index(store, vault)
    for question in questions():
        longest = search(question, limit=50).hits
        for limit in (1, 3, 10):
            assert search(question, limit=limit).hits == longest[:limit]


def test_the_same_question_has_the_same_answer(store: Writer, search: Search, vault: Path) -> None:
    index(store, vault)
    answers = [replace(search("worker pool"), stages=()) for _ in range(2)]  # stages have times
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("question", "path", "toc_path"),
    [
        pytest.param(
            "pool of workers Go",
            "en/Go Concurrency Patterns.md",
            ("Goroutines", "Worker pool"),
            id="the English one of the pair",
        ),
        pytest.param(
            "пул воркеров Go",
            "ru/Паттерны конкурентности в Go.md",
            ("Горутины", "Пул воркеров"),
            id="the Russian one of the pair",
        ),
    ],
)
def test_the_pair_of_notes_on_concurrency(
    store: Writer, search: Search, vault: Path, question: str, path: str, toc_path: tuple[str, ...]
) -> None:
    index(store, vault)
    best = search(question).hits[0]
    assert best.path == path
    assert toc_path in [match.toc_path for match in best.matches]
    assert f"{best.title} > {' > '.join(toc_path)}" in [m.breadcrumb for m in best.matches]


@pytest.mark.parametrize(
    ("text", "toc_path", "breadcrumb"),
    [
        pytest.param("about apples", (), "a", id="no headings, no path"),
        pytest.param("# Fruit\n\napples", ("Fruit",), "Fruit", id="a title alone"),
        pytest.param("x\n\n# B\n\napples", ("B",), "a > B", id="one short section"),
        pytest.param(
            "x\n\n# B\n\n## C\n\napples", ("B", "C"), "a > B > C", id="the innermost heading"
        ),
        pytest.param("apples\n\n# B\n\nx", ("a",), "a", id="text before the first heading"),
        pytest.param(
            "x\n\n# B\n\n## Apples", ("B", "Apples"), "a > B > Apples", id="a bare heading"
        ),
        pytest.param(
            "x\n\n# B\n\none\n\n# B\n\napples", ("B (2)",), "a > B (2)", id="a second of one text"
        ),
    ],
)
def test_where_a_hit_points(
    store: Writer,
    search: Search,
    folder: Path,
    text: str,
    toc_path: tuple[str, ...],
    breadcrumb: str,
) -> None:
    put(store, folder, {"a.md": text, "z.md": "nothing"})
    (hit,) = search("apples").hits
    assert (hit.matches[0].toc_path, hit.matches[0].breadcrumb) == (toc_path, breadcrumb)


@pytest.mark.parametrize(
    "head",
    [
        pytest.param("", id="no head"),
        pytest.param("\n\n\n", id="blank lines"),
        pytest.param("---\ntitle: X\ntags: [y]\n---\n", id="front matter"),
        pytest.param("\n\n---\nnot: front matter\n---\n", id="blank lines and a rule"),
        pytest.param("first\x0csecond\u2028third\n", id="separators that end no line"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_are_those_of_sed(
    store: Writer, search: Search, folder: Path, head: str, end: str
) -> None:
    text = f"{head}# One\n\na\n\n# Two\n\nb\n\n# Three\n\nthe apples\n\n".replace("\n", end)
    (folder / "a.md").write_bytes(text.encode())
    put(store, folder, {"z.md": "nothing"})
    match = search("apples").hits[0].matches[0]
    assert text.split("\n")[match.snippet_line - 1].strip() == "the apples"
    assert match.line <= match.snippet_line <= match.last_line


@pytest.mark.parametrize(
    ("question", "found"),
    [
        pytest.param("apples bread", {"both", "apples", "bread"}, id="any word will do"),
        pytest.param("the apples", {"both", "apples"}, id="stop-words do not count"),
        pytest.param('"apples and bread"', {"both"}, id="a phrase must occur"),
        pytest.param("apples -bread", {"apples"}, id="an excluded word must not"),
        pytest.param('apples -"and bread"', {"apples"}, id="nor an excluded phrase"),
        pytest.param("appl*", {"both", "apples"}, id="a beginning"),
        pytest.param("apple", {"both", "apples"}, id="another form"),
        pytest.param("zzqx", set(), id="a word that nothing holds"),
        pytest.param("AND OR NOT apples*) NEAR(", {"both", "apples"}, id="no syntax of FTS5"),
    ],
)
def test_what_a_question_finds(
    store: Writer, search: Search, folder: Path, question: str, found: set[str]
) -> None:
    put(
        store,
        folder,
        {
            "both.md": "We bring apples and bread.",
            "apples.md": "We bring apples.",
            "bread.md": "We bring bread.",
            "z.md": "Nothing.",
        },
    )
    assert {path.removesuffix(".md") for path in paths(search(question))} == found


@pytest.mark.parametrize("question", ["", "   ", '""', "!?", "-apples", '-"a b"'])
def test_a_question_that_asks_for_nothing_is_refused(search: Search, question: str) -> None:
    with pytest.raises(UsageError):
        search(question)


def test_a_note_named_exactly_beats_one_that_mentions_it(
    store: Writer, search: Search, folder: Path
) -> None:
    notes = {f"{n}.md": f"The rate limit is mentioned here, {n}. " + "x " * n for n in range(20)}
    put(store, folder, notes | {"Rate limit.md": "How many requests are let through."})
    assert paths(search("rate limit"))[0] == "Rate limit.md"


def test_equal_notes_are_both_found_in_order_of_path(
    store: Writer, search: Search, folder: Path
) -> None:
    put(store, folder, {"b.md": "# Same\n\napples", "sub/a.md": "# Same\n\napples"})
    put(store, folder, {"a.md": "# Same\n\napples", "z.md": "nothing"})
    assert paths(search("apples")) == ["a.md", "b.md", "sub/a.md"]


def test_the_scope_acts_before_the_cut(store: Writer, search: Search, tmp_path: Path) -> None:
    put(store, tmp_path / "crowd", {f"{n}.md": "# Apples\n\napples apples" for n in range(300)})
    put(store, tmp_path / "few", {f"{n}.md": f"apples and {'much ' * n}else" for n in range(5)})
    few = search("apples", limit=3, scope=Scope(("few",)))
    assert [hit.collection for hit in few.hits] == ["few"] * 3
    one = search("apples", limit=3, scope=Scope(paths=("4.md",)))
    assert sorted(hit.collection for hit in one.hits) == ["crowd", "few"]
    both = search("apples", limit=400, scope=Scope(("few", "crowd")))
    assert len(both.hits) == 305


def test_a_scope_without_notes_finds_nothing(store: Writer, search: Search, folder: Path) -> None:
    put(store, folder, {"a.md": "apples"})
    assert search("apples", scope=Scope(("none",))).hits == ()
    assert len(search("apples", scope=Scope(("none", "notes"))).hits) == 1


def _only(answer: Answer) -> Hit:
    (hit,) = answer.hits
    return hit


def test_a_note_that_changed_is_marked_and_one_that_went_left_out(
    store: Writer, search: Search, folder: Path
) -> None:
    put(store, folder, {"a.md": "apples"})
    assert _only(search("apples")).stale is None
    (folder / "a.md").write_text("edited since")
    assert _only(search("apples")).stale == "the file has changed since it was indexed"
    (folder / "a.md").unlink()
    gone = search("apples")
    assert (gone.hits, gone.gone) == ((), ("notes/a.md",))


def test_notes_further_down_come_up_for_those_that_are_gone(
    store: Writer, search: Search, folder: Path
) -> None:
    put(store, folder, {f"{n:02}.md": f"apples {'and more ' * n}" for n in range(12)})
    before = paths(search("apples", limit=12))
    for path in (before[1], before[2], before[5], before[6]):
        (folder / path).unlink()
    after = search("apples", limit=4)
    assert paths(after) == [before[0], before[3], before[4], before[7]]
    assert after.gone == (f"notes/{before[1]}", f"notes/{before[2]}")
    assert paths(search("apples", limit=2)) == paths(after)[:2]


def test_a_folder_that_is_away_gives_nothing_and_is_told(
    store: Writer, search: Search, folder: Path
) -> None:
    put(store, folder, {f"{n}.md": "apples" for n in range(30)})
    folder.rename(folder.with_name("away"))
    answer = search("apples", limit=3)
    assert answer.hits == ()
    assert len(answer.gone) == 3


def test_the_whole_note_comes_when_it_is_asked_for(
    store: Writer, search: Search, folder: Path
) -> None:
    put(store, folder, {"a.md": "# A\n\napples\n\n# B\n\nand more"})
    assert _only(search("apples")).body is None
    assert _only(search("apples", full=LIMIT)).body == "# A\n\napples\n\n# B\n\nand more"
    assert _only(search("apples", full=3)).body is None


def test_the_source_says_what_the_note_says_of_itself(
    store: Writer, search: Search, folder: Path
) -> None:
    head = "revision: r7\npublished: 2025-01-01\nexpires: 2025-03-01\naccess: [eng, ops]"
    put(store, folder, {"a b.md": f"---\n{head}\n---\n# Die Äpfel\n\napples"})
    source = _only(search("apples")).source
    assert source.revision == "r7"
    assert source.published_at == "2025-01-01T00:00:00Z"
    assert source.expires_at == "2025-03-01T00:00:00Z"
    assert (source.proof, source.access) == ("front-matter", ("eng", "ops"))
    assert source.uri == f"file://{folder}/a%20b.md#die-%C3%A4pfel"


def test_a_changed_file_has_no_proven_revision(store: Writer, search: Search, folder: Path) -> None:
    put(store, folder, {"a.md": "apples"})
    revision = _only(search("apples")).source.revision
    assert revision is not None
    assert revision.startswith("sha256:")
    (folder / "a.md").write_text("pears")
    assert _only(search("apples")).source.revision is None
    put(store, folder, {"a.md": "---\nrevision: 3\n---\napples"})
    assert _only(search("apples")).source.revision == "3"
    (folder / "a.md").write_text("---\nrevision: 3\n---\npears")
    assert _only(search("apples")).source.revision is None


def test_an_answer_names_its_time_and_what_was_skipped(
    store: Writer, search: Search, folder: Path
) -> None:
    put(store, folder, {"a.md": "apples"})
    answer = search("apples")
    assert answer.retrieved_at == "2026-01-02T03:04:05Z"
    assert answer.skipped == (MODELS.missing if answer.mode == "query" else ())
    assert _only(answer).matches[0].evidence["bm25"] == 1


FAKE = FakeEmbedder()
MEANT = [pytest.param(hybrid, id="hybrid"), pytest.param(by_meaning, id="by meaning")]


def ask(
    store: Writer,
    question: str,
    pipeline: Pipeline = hybrid,
    embedder: Embedder | None = FAKE,
    **ask,
) -> Answer:
    """Ask with a model that knows a few synonyms."""
    return pipeline(store, question, Ask(**ask), Models(embedder), NOW)


def embed(store: Writer, embedder: Embedder = FAKE) -> None:
    embedding.embed(store, embedder)


CARS = {
    "a.md": "Car.",
    "b.md": "Automobile, parked.",
    "c.md": "Всё про автомобиль.",
    "z.md": "Bread.",
}


def test_only_meaning_finds_another_word_for_the_same(store: Writer, folder: Path) -> None:
    put(store, folder, CARS)
    embed(store)
    assert paths(ask(store, "car", by_words)) == ["a.md"]
    found = ask(store, "car", limit=3)
    assert paths(found) == ["a.md", "b.md", "c.md"]
    assert [hit.matches[0].evidence for hit in found.hits] == [
        {"bm25": 1, "note": 1, "dense": 1},
        {"dense": 2},
        {"dense": 3},
    ]


def test_a_question_in_another_language_is_left_to_meaning(store: Writer, folder: Path) -> None:
    put(store, folder, {"a.md": "Car.", "b.md": "Bread and butter.", "c.md": "A cat."})
    embed(store)
    found = ask(store, "автомобиль")
    assert paths(found)[0] == "a.md"
    assert found.hits[0].matches[0].evidence == {"dense": 1}
    assert found.hits[0].score == pytest.approx(1)


@pytest.mark.parametrize("pipeline", MEANT)
def test_what_is_not_embedded_yet_is_told_and_the_rest_found(
    store: Writer, folder: Path, pipeline
) -> None:
    put(store, folder, {"a.md": "An automobile."})
    embed(store)
    put(store, folder, {"b.md": "A car.", "c.md": "A vehicle."})
    found = ask(store, "car", pipeline)
    assert paths(found) == (["b.md", "a.md"] if pipeline is hybrid else ["a.md"])
    assert found.skipped == ("dense: 2 passages wait for 'qmd embed'",)
    embed(store)
    found = ask(store, "car", pipeline)
    assert set(paths(found)) == {"a.md", "b.md", "c.md"}
    assert found.skipped == ()


def test_vectors_of_another_model_are_left_out_and_kept(store: Writer, folder: Path) -> None:
    put(store, folder, CARS)
    embed(store, FakeEmbedder("old"))
    found = ask(store, "car")
    assert paths(found) == ["a.md"]
    remark = "the vectors are of another model or setting: run 'qmd embed'"
    assert found.skipped == (f"dense: {remark}",)
    with pytest.raises(ModelMissing, match=remark):
        ask(store, "car", by_meaning)
    (space,) = embeddings.spaces(store)
    assert (space.fingerprint, space.rows) == (fingerprint(store, FakeEmbedder("old")), 4)


def test_an_index_that_was_never_embedded_says_so(store: Writer, folder: Path) -> None:
    put(store, folder, CARS)
    assert ask(store, "car").skipped == ("dense: nothing is embedded yet: run 'qmd embed'",)
    with pytest.raises(ModelMissing, match="nothing is embedded yet: run 'qmd embed'"):
        ask(store, "car", by_meaning)


def test_without_an_embedder_words_answer_and_meaning_says_why(store: Writer, folder: Path) -> None:
    put(store, folder, CARS)
    embed(store)
    assert paths(hybrid(store, "car", Ask(), MODELS, NOW)) == ["a.md"]
    with pytest.raises(ModelMissing, match=r"^no embedder here$"):
        by_meaning(store, "car", Ask(), MODELS, NOW)
    with pytest.raises(ModelMissing, match=r"^no embedder$"):
        by_meaning(store, "car", Ask(), Models(), NOW)


def test_lost_vectors_take_no_words_away(store: Writer, folder: Path) -> None:
    put(store, folder, CARS)
    embed(store)
    (space,) = embeddings.spaces(store)
    store.file.with_name(space.file).unlink()
    found = ask(store, "car")
    assert paths(found) == ["a.md"]
    assert "run 'qmd embed --force' to make them anew" in found.skipped[0]
    with pytest.raises(ModelMissing, match="run 'qmd embed --force'"):
        ask(store, "car", by_meaning)


@pytest.mark.parametrize("value", [float("nan"), 0.0, float("inf")])
def test_a_model_that_fails_takes_no_words_away(store: Writer, folder: Path, value: float) -> None:
    put(store, folder, {"a.md": "poison", "b.md": "bread"})
    embedder = FailingEmbedder("poison", value)
    embed(store, embedder)
    assert paths(ask(store, "bread", embedder=embedder)) == ["b.md"]
    found = ask(store, "poison", embedder=embedder)
    assert paths(found) == ["a.md"]
    assert 0 < found.hits[0].score <= 1
    assert found.skipped == (
        "dense: the model has no usable vector for this question: use other words",
    )


@pytest.mark.parametrize("pipeline", MEANT)
def test_filters_act_before_the_cut_of_the_dense_run(
    store: Writer, tmp_path: Path, pipeline
) -> None:
    put(store, tmp_path / "A", {f"{n}.md": f"car car {n}" for n in range(1000)})
    put(store, tmp_path / "B", {f"{n}.md": f"One automobile of {n} others." for n in range(5)})
    embed(store)
    few = ask(store, "car", pipeline, limit=3, scope=Scope(("B",)))
    assert [hit.collection for hit in few.hits] == ["B"] * 3
    assert len(ask(store, "car", pipeline, limit=9, scope=Scope(("B",))).hits) == 5
    assert len(ask(store, "car -car", by_words, limit=3).hits) == 0
    others = ask(store, "vehicle -car", pipeline, limit=9)
    assert [hit.collection for hit in others.hits] == ["B"] * 5


@pytest.mark.parametrize("pipeline", MEANT)
@pytest.mark.parametrize(
    ("question", "found"),
    [
        pytest.param("car -garage", {"road.md", "z.md"}, id="an excluded word"),
        pytest.param('car -"the road"', {"garage.md", "z.md"}, id="an excluded phrase"),
        pytest.param('vehicle "the garage"', {"garage.md"}, id="a phrase that must occur"),
        pytest.param('vehicle "no such"', set(), id="a phrase that nothing holds"),
    ],
)
def test_what_must_and_must_not_occur_holds_for_meaning(
    store: Writer, folder: Path, pipeline, question: str, found: set[str]
) -> None:
    put(
        store,
        folder,
        {
            "garage.md": "# In\n\nAn automobile.\n\n# Where\n\nIt is in the garage.",
            "road.md": "# In\n\nAn automobile.\n\n# Where\n\nIt is on the road.",
            "z.md": "Bread.",
        },
    )
    embed(store)
    assert set(paths(ask(store, question, pipeline))) == found


@pytest.mark.parametrize("pipeline", MEANT)
def test_nonsense_scores_far_below_an_answer(store: Writer, folder: Path, pipeline) -> None:
    from qmd_py.embedded import BuiltIn

    built_in = BuiltIn(processors.threads())
    put(
        store,
        folder,
        {
            "Backups.md": "Copy the folder to another disk every week.",
            "Bread.md": "Knead the dough and let it rise overnight.",
            "Розы.md": "Обрезать кусты поздней зимой, пока почки спят.",
        },
    )
    embed(store, built_in)
    nonsense = [
        hit.score
        for question in ("zzqx flurb", "asdf qwer uiop", "щщъыь ваыпр")
        for hit in ask(store, question, pipeline, built_in).hits
    ]
    for question in ("how to knead dough for bread", "when should I prune the roses"):
        assert ask(store, question, pipeline, built_in).hits[0].score > 2 * max(nonsense)


def test_nonsense_has_no_words_in_common(store: Writer, vault: Path) -> None:
    index(store, vault)
    assert ask(store, "zzqx flurb", by_words).hits == ()


@pytest.mark.parametrize("pipeline", MEANT)
def test_both_notes_of_one_text_are_found(store: Writer, folder: Path, pipeline) -> None:
    same = "---\ntitle: Same\n---\nAn automobile."
    put(store, folder, {"b.md": same, "sub/a.md": same, "z.md": "Bread."})
    counting = FakeEmbedder()
    embed(store, counting)
    assert len(counting.seen) == 2
    assert paths(ask(store, "car", pipeline))[:2] == ["b.md", "sub/a.md"]
    (folder / "b.md").unlink()
    index(store, folder)
    assert paths(ask(store, "car", pipeline))[0] == "sub/a.md"


def test_a_moved_note_is_found_by_meaning_at_once(store: Writer, folder: Path) -> None:
    put(store, folder, {"a.md": "# Wheels\n\nAn automobile.", "z.md": "Bread."})
    embed(store)
    (pid,) = [hit.pid for hit in ask(store, "car", limit=1).hits]
    (folder / "a.md").rename(folder / "moved.md")
    index(store, folder)
    found = ask(store, "car", limit=1)
    assert [(hit.path, hit.pid) for hit in found.hits] == [("moved.md", pid)]


@pytest.mark.parametrize("pipeline", [*MEANT, pytest.param(by_words, id="by words")])
def test_the_least_score_leaves_out_and_counts(store: Writer, vault: Path, pipeline) -> None:
    index(store, vault)
    embed(store)
    whole = ask(store, "worker pool", pipeline, limit=99)
    bar = whole.hits[0].score
    kept = ask(store, "worker pool", pipeline, limit=99, min_score=bar)
    assert kept.hits == tuple(hit for hit in whole.hits if hit.score >= bar)
    assert (whole.cut, kept.cut) == (0, len(whole.hits) - len(kept.hits))
    assert len(kept.hits) < len(whole.hits)


@pytest.mark.parametrize("pipeline", MEANT)
def test_a_shorter_answer_by_meaning_is_the_beginning_of_a_longer_one(
    store: Writer, vault: Path, pipeline
) -> None:
    index(store, vault)
    embed(store)
    for question in questions():
        longest = ask(store, question, pipeline, limit=50).hits
        assert longest == ask(store, question, pipeline, limit=50).hits
        for limit in (1, 3, 10):
            assert ask(store, question, pipeline, limit=limit).hits == longest[:limit]


RUNS = ("bm25", "note", "near", "title", "dense")


@pytest.mark.parametrize("run", RUNS)
def test_a_run_can_be_left_out(store: Writer, folder: Path, run: str) -> None:
    put(store, folder, {**CARS, "frontmatter.md": "A vehicle with frontmatter."})
    embed(store)
    question = "frontmater frontmatter"
    assert {share.run for share in ask(store, question).hits[0].shares} == {*RUNS, "words"}
    left = ask(store, question, without=frozenset({run})).hits[0]
    assert {share.run for share in left.shares} == {*RUNS, "words"} - {run}
    assert run not in left.matches[0].evidence


def test_nothing_is_left_of_meaning_without_its_run(store: Writer, folder: Path) -> None:
    put(store, folder, CARS)
    embed(store)
    with pytest.raises(UsageError, match="no run is left"):
        ask(store, "car", by_meaning, without=frozenset({"dense"}))
    assert ask(store, "car", without=frozenset({"dense"})).skipped == ()


def test_a_run_more_changes_no_rank_in_the_others(store: Writer, vault: Path) -> None:
    index(store, vault)
    embed(store)
    for question in questions():
        whole = {hit.pid: hit.shares for hit in ask(store, question, limit=50).hits}
        for run in ("note", "title", "dense"):
            less = ask(store, question, limit=50, without=frozenset({run})).hits
            for hit in less:
                before = {share.run: share.rank for share in hit.shares if share.run != "words"}
                after = {share.run: share.rank for share in whole[hit.pid]}
                assert before.items() <= after.items()


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        pytest.param(
            "car", {"words": 4 / 9, "title": 1 / 9, "dense": 4 / 9}, id="words and meaning alike"
        ),
        pytest.param(
            "car butterfly",
            {"words": 2 / 6.5, "title": 0.5 / 6.5, "dense": 4 / 6.5},
            id="half known",
        ),
        pytest.param("vehicle", {"dense": 1.0}, id="unknown words leave it to meaning"),
    ],
)
def test_runs_weigh_as_much_as_the_index_knows_of_the_question(
    store: Writer, folder: Path, question: str, parts: dict[str, float]
) -> None:
    put(store, folder, {"Car.md": "Car.", "z.md": "Bread."})
    embed(store)
    best = ask(store, question).hits[0]
    assert best.path == "Car.md"
    found = {share.run: share.contribution for share in best.shares if share.contribution}
    assert found == pytest.approx(parts)


def test_a_score_by_meaning_is_on_the_scale_of_the_model(store: Writer, folder: Path) -> None:
    # cosines of 1, 2/√5 and 1/2, where .2 is unrelated and .6 surely related
    put(store, folder, {"car.md": "Car.", "red.md": "Car, vehicle.", "old.md": "Car on road."})
    put(store, folder, {"z.md": "Bread."})
    embed(store)
    scores = {hit.path: hit.score for hit in ask(store, "car", by_meaning).hits}
    assert scores == pytest.approx({"car.md": 1, "red.md": 1, "old.md": 0.75, "z.md": 0})


def test_contributions_add_up_in_proportion_to_the_score(store: Writer, vault: Path) -> None:
    index(store, vault)
    embed(store)
    for question in questions():
        hits = ask(store, question, limit=50).hits
        parts = [sum(share.contribution or 0 for share in hit.shares) for hit in hits]
        # the score is the fused score times how sure it is that there is an answer
        sure = hits[0].score / parts[0]
        assert 0 < sure <= 1
        assert [hit.score for hit in hits] == pytest.approx([sure * part for part in parts])


@pytest.mark.parametrize("pipeline", MEANT)
def test_a_hit_by_meaning_leads_to_a_section_that_holds_it(
    store: Writer, vault: Path, pipeline
) -> None:
    index(store, vault)
    embed(store)
    for question in questions():
        for hit in ask(store, question, pipeline, limit=5).hits:
            lines = (vault / hit.path).read_text().splitlines()
            for match in hit.matches:
                found = sections.section(store, str(hit.pid), match.toc_path, LIMIT)
                assert "\n".join(lines[match.line - 1 : match.last_line]) in found.text


def test_a_piped_question_gives_the_same_bytes_but_for_the_time(
    qmd: Callable[..., "Result"], vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qmd_py.embedded.BuiltIn", lambda threads: FakeEmbedder())
    qmd("index", vault)
    for mode in ("query", "vsearch"):
        shown = [qmd(mode, "worker pool", "--json", "--explain").stdout for _ in range(2)]
        first, second = (re.sub(r'"(retrieved_at|seconds)": [^,]*', "", text) for text in shown)
        assert first == second
        assert "retrieved_at" not in first
        assert json.loads(shown[0])["results"]


def test_what_a_least_score_cut_is_told(
    qmd: Callable[..., "Result"], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qmd_py.embedded.BuiltIn", lambda threads: FakeEmbedder())
    for name, text in CARS.items():
        (folder / name).write_text(text)
    qmd("index", folder)
    shown = qmd("vsearch", "bread", "--files", "--min-score", "0.9")
    assert shown.stdout == f"{folder}/z.md\n"
    assert shown.stderr == "qmd: 3 notes scored below --min-score: left out\n"
    none = qmd("vsearch", "butterfly", "--min-score", "1")
    assert (none.exit_code, none.stdout) == (1, "")
