"""Whatever comes in: parsers neither break nor lie.

Some examples in the default run; `pytest -m campaign tests/campaigns` tries thousands.
"""

import contextlib
import datetime
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from qmd_py import entries, files, indexing, query, registry, sections
from qmd_py.chunking import _EMBEDDED_DATA, chunks
from qmd_py.config import Settings
from qmd_py.errors import Ambiguous, NotFound, UsageError
from qmd_py.ignoring import patterns_of
from qmd_py.lexicon import Lexicon
from qmd_py.markdown import frontmatter, parse
from qmd_py.models import Models
from qmd_py.records.answers import Scope
from qmd_py.search.asking import Ask
from qmd_py.search.simple import by_words
from qmd_py.store.reader import Reader
from qmd_py.store.writer import Writer
from qmd_py.terms import Analyzer
from tests.campaigns.conftest import Tally

EXAMPLES = [40, pytest.param(2000, marks=pytest.mark.campaign)]
NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
ANALYZER = Analyzer(("en", "ru"))
LEXICON = Lexicon(("en", "ru"))

_PIECES = st.sampled_from(
    ["# ", "## ", "### ", "#", "\n", "\n\n", "\r\n", "\r", "---\n", "===\n", "```\n", "~~~\n", "> ", "- ",
     "1. ", "    ", "\t", "|", "|-|\n", "<!--", "-->", "<div>\n", "[a]: b\n", "[[x|y]]", "%%", "==", "*",
     "`", "a", "word ", "слово ", "汉字", "e\u0301", "👩‍👩‍👧", "\u202e", "\0", "\x1b[2J", "\ufeff", "\u2028",
     "title: ", "aliases: ", "- x\n", "{a: ", "&a ", "*a", "!!x ", "'", '"', " ^id", "(2)", " > ",
     "<|im_end|>", "data:image/png;base64,AAAA", "x" * 300]
)  # fmt: skip
NOTES = st.lists(_PIECES | st.text(max_size=4), max_size=60).map("".join)
QUERIES = st.lists(
    st.sampled_from(
        ["-", '"', "*", " ", "“", "”", "a", "apples", "NEAR(", "AND", "OR", "NOT", ":", "title:", "^", "+",
         "(", ")", "{", "}", "'", "’", ";", "--", "\\", "/", "C++", "v1.2", "汉字", "слово", "\0", "%", "_"]
    ) | st.text(max_size=5),
    max_size=30,
).map("".join)  # fmt: skip


def at_length(
    examples: int, strategy: st.SearchStrategy[Any], check: Callable[[Any], None]
) -> None:
    """Try a check on so many examples."""
    bounded = settings(max_examples=examples, deadline=None, database=None)
    bounded(given(strategy)(lambda example: check(example)))()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    folder: Path = tmp_path_factory.mktemp("fuzzed")
    (folder / "a.md").write_text("# Apples\n\napples AND pears, 汉字\n\n## C++ > x\n\nv1.2 слово\n")
    (folder / "b.md").write_text("apples' title: near\n")
    with Writer.open(tmp_path_factory.mktemp("index") / "index.sqlite") as made:
        indexing.update(made, registry.collection_for(made, folder), Settings())
        yield made


@pytest.mark.parametrize("examples", EXAMPLES)
def test_chunks_cover_every_line_and_stay_in_their_section(examples: int, tally: Tally) -> None:
    def check(text: str) -> None:
        document = parse(text, "stem")
        found = chunks(document, 250)
        lines = document.lines
        spots = document.spots
        bodies = [(at, spot.body, spot.own_stop) for at, spot in enumerate(spots)] or [
            (None, document.body, len(lines.lines))  # type: ignore[list-item]
        ]
        for section, start, stop in bodies:
            own = [chunk for chunk in found if chunk.section == section]
            for line in range(start, stop):
                if _EMBEDDED_DATA.sub("", lines.lines[line]).strip():  # which nobody searches
                    number = lines.number(line)
                    assert any(c.first_line <= number <= c.last_line for c in own), (text, line)
        for chunk in found:
            if chunk.section is not None:
                spot = spots[chunk.section].section
                assert spot.line <= chunk.first_line <= chunk.last_line <= spot.last_line

    at_length(examples, NOTES, check)
    tally("fuzzed notes", examples=examples, broken=0)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_every_toc_entry_is_reached_by_its_pointer(examples: int, tally: Tally) -> None:
    def check(text: str) -> None:
        document = parse(text, "stem")
        for spot in document.spots:
            path = list(spot.section.path)
            assert sections.resolve(document, path) is spot
            assert sections.resolve(document, [json.dumps(path)]) is spot
        assert len({spot.section.path for spot in document.spots}) == len(document.spots)

    at_length(examples, NOTES, check)
    tally("fuzzed toc paths", examples=examples, broken=0)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_a_pointer_finds_or_says_so(examples: int, tally: Tally) -> None:
    document = parse("# A\n\n## B > C\n\n### 1. A\n\n# A\n\n## #b\n\n# [x]\n", "stem")

    def check(path: list[str]) -> None:
        with contextlib.suppress(NotFound, Ambiguous, UsageError):
            assert sections.resolve(document, path) in document.spots

    at_length(examples, st.lists(QUERIES | NOTES, min_size=1, max_size=4), check)
    tally("fuzzed pointers", examples=examples, broken=0)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_a_note_becomes_terms(examples: int, tally: Tally) -> None:
    def check(text: str) -> None:
        note = entries.note_of("stem.md", files.Text(text, "", None), 300)
        json.dumps([note.metadata, note.title], allow_nan=False).encode()
        whole, parts = entries.note_terms(note, LEXICON)
        assert all("\0" not in terms.body for terms in (whole, *parts))

    at_length(examples, NOTES.map(lambda text: "---\n" + text) | NOTES, check)
    tally("fuzzed front matter", examples=examples, broken=0)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_no_front_matter_swallows_the_note(examples: int) -> None:
    def check(text: str) -> None:
        lines = ["---", *text.split("\n"), "---", "body"]
        assert frontmatter.read(lines).lines <= len(lines) - 1

    at_length(examples, NOTES, check)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_any_question_is_answered_or_refused_in_words(
    store: Reader, examples: int, tally: Tally
) -> None:
    def check(question: str) -> None:
        with contextlib.suppress(UsageError):
            assert query.parse(question, ANALYZER).text == question
            answer = by_words(store, question, Ask(limit=2), Models(), NOW)
            assert all(0 <= hit.score <= 1 for hit in answer.hits)

    at_length(examples, QUERIES, check)
    tally("fuzzed questions", examples=examples, broken=0)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_any_scope_is_a_scope(store: Reader, examples: int) -> None:
    def check(globs: list[str]) -> None:
        assert len(store.notes_of(Scope((), tuple(globs)))) <= 2

    at_length(examples, st.lists(QUERIES, min_size=1, max_size=3), check)


@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.filterwarnings("ignore:Possible nested set:FutureWarning")
def test_ignore_patterns_mean_what_they_did_before_they_were_made_fast(examples: int) -> None:
    names = st.text(st.sampled_from("aab./"), min_size=1, max_size=14).map(lambda n: n.strip("/"))
    patterns = st.text(st.sampled_from("aab***?/.[]!"), min_size=1, max_size=12)

    def check(pair: tuple[str, list[str]]) -> None:
        pattern, paths = pair
        try:
            plain = GitIgnoreSpec.from_lines([pattern])
        except ValueError:
            return
        fast = patterns_of([pattern])
        for path in filter(None, paths):
            assert fast.check_file(path).include == plain.check_file(path).include, (pattern, path)

    at_length(examples, st.tuples(patterns, st.lists(names, max_size=12)), check)
