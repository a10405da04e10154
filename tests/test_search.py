import datetime
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from qmd_py import indexing, sections
from qmd_py.config import Settings
from qmd_py.errors import UsageError
from qmd_py.models import Models
from qmd_py.records import Answer, Hit, Scope
from qmd_py.search import Ask, by_words, hybrid
from qmd_py.store.writer import Writer

LIMIT = 1_000_000  # bytes
NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
MODELS = Models(missing=("dense: no embedder here",))
GOLDEN = Path(__file__).parent / "vault-golden.json"

Search = Callable[..., Answer]


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
    indexing.update(store, indexing.collection_for(store, folder), Settings())


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
    assert search("worker pool") == search("worker pool")


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


def test_a_note_that_changed_or_went_is_marked(store: Writer, search: Search, folder: Path) -> None:
    put(store, folder, {"a.md": "apples"})
    assert _only(search("apples")).stale is None
    (folder / "a.md").write_text("edited since")
    assert _only(search("apples")).stale == "the file has changed since it was indexed"
    (folder / "a.md").unlink()
    assert _only(search("apples")).stale == "the file is gone"


def test_the_whole_note_comes_when_it_is_asked_for(
    store: Writer, search: Search, folder: Path
) -> None:
    put(store, folder, {"a.md": "# A\n\napples\n\n# B\n\nand more"})
    assert _only(search("apples")).body is None
    assert _only(search("apples", full=LIMIT)).body == "# A\n\napples\n\n# B\n\nand more"
    (folder / "a.md").unlink()
    assert _only(search("apples", full=LIMIT)).body is None


def test_the_source_says_what_the_note_says_of_itself(
    store: Writer, search: Search, folder: Path
) -> None:
    head = "revision: r7\npublished: 2025-01-01\nexpires: 2025-03-01\naccess: [eng, ops]"
    put(store, folder, {"a b.md": f"---\n{head}\n---\n# Die Äpfel\n\napples"})
    source = _only(search("apples")).source
    assert source.revision == "r7"
    assert (source.published_at, source.expires_at) == ("2025-01-01", "2025-03-01")
    assert source.access == ("eng", "ops")
    assert source.uri == f"file://{folder}/a%20b.md#die-%C3%A4pfel"


def test_a_changed_file_has_no_proven_revision(store: Writer, search: Search, folder: Path) -> None:
    put(store, folder, {"a.md": "apples"})
    revision = _only(search("apples")).source.revision
    assert revision is not None
    assert revision.startswith("sha256:")
    (folder / "a.md").write_text("pears")
    assert _only(search("apples")).source.revision is None


def test_an_answer_names_its_time_and_what_was_skipped(
    store: Writer, search: Search, folder: Path
) -> None:
    put(store, folder, {"a.md": "apples"})
    answer = search("apples")
    assert answer.retrieved_at == "2026-01-02T03:04:05Z"
    assert answer.skipped == (MODELS.missing if answer.mode == "query" else ())
    assert _only(answer).matches[0].evidence["bm25"] == 1
