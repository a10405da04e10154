"""Markdown text → front matter, lines, plain headings, section tree."""

import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from qmd_py import files
from qmd_py.markdown import Document, Lines, document, frontmatter, parse, plain_heading
from qmd_py.markdown.frontmatter import FrontMatter
from qmd_py.markdown.html import to_html
from qmd_py.markdown.tree import slugify
from qmd_py.sections import resolve

BOUNDED = settings(deadline=None, max_examples=120)


def front(yaml: str) -> FrontMatter:
    return frontmatter.read(["---", *yaml.split("\n"), "---", "body"])


def paths(text: str, stem: str = "stem") -> list[list[str]]:
    return [list(spot.section.path) for spot in parse(text, stem).spots]


def headings(text: str) -> list[tuple[str, int, int]]:
    """Title, level and line of every toc entry."""
    sections = [spot.section for spot in parse(text, "stem").spots]
    return [(section.title, section.level, section.line) for section in sections]


# Lines


@pytest.mark.parametrize(
    ("text", "lines", "numbers"),
    [
        pytest.param("a\nb\n", ("a", "b"), (1, 2), id="LF"),
        pytest.param("a\r\nb\r\n", ("a", "b"), (1, 2), id="CR LF"),
        pytest.param("a\rb\r", ("a", "b"), (1, 1), id="a lone CR ends no line for sed"),
        pytest.param("a\rb\nc\r\nd", ("a", "b", "c", "d"), (1, 1, 2, 3), id="all three"),
        pytest.param("a\r\r\nb", ("a", "", "b"), (1, 1, 2), id="CR before CR LF"),
        pytest.param("a\n\nb", ("a", "", "b"), (1, 2, 3), id="blank lines count"),
        pytest.param("a\x0cb\u2028c\x85d\x0be\x1cf", ("a\x0cb\u2028c\x85d\x0be\x1cf",), (1,),
                     id="form feeds and Unicode separators end nothing"),
        pytest.param("a\0b", ("a b",), (1,), id="NUL is a space"),
        pytest.param("", ("",), (1,), id="nothing is one empty line"),
    ],
)  # fmt: skip
def test_lines(text: str, lines: tuple[str, ...], numbers: tuple[int, ...]):
    found = Lines.of(text)
    assert (found.lines, tuple(found.numbers)) == (lines, numbers)


def test_a_line_past_the_end_has_the_number_of_the_last():
    assert Lines.of("a\nb\n").number(7) == 2


# Front matter


@pytest.mark.parametrize(
    ("lines", "taken"),
    [
        pytest.param(["---", "a: b", "---", "x"], 3, id="fenced"),
        pytest.param(["---", "---"], 2, id="empty"),
        pytest.param(["---", "a: b", "---  "], 3, id="spaces after the closing fence"),
        pytest.param(["--- ", "a: b", "---"], 0, id="spaces after the opening fence: a rule"),
        pytest.param(["", "---", "a: b", "---"], 0, id="not on line 1"),
        pytest.param(["----", "a: b", "---"], 0, id="four hyphens"),
        pytest.param(["---", "a: b"], 0, id="never closed"),
        pytest.param([], 0, id="nothing at all"),
        pytest.param(["---", "", "a: b", "", "---"], 5, id="blank lines in it"),
        pytest.param(["---", "", "---"], 3, id="a blank line alone"),
        pytest.param(["---", "# a", "---"], 3, id="a comment alone"),
        pytest.param(["---", "a: b: c", "", "d", "---"], 5, id="broken, with a blank line"),
        pytest.param(["---", "", "text", "", "---"], 0, id="a paragraph between rules"),
        pytest.param(["---", "# H", "", "x: y: z", "---"], 0, id="a section between rules"),
        pytest.param(["---", "- a", "", "- b", "---"], 0, id="a list between rules"),
    ],
)
def test_front_matter_starts_on_line_1_and_is_closed(lines: list[str], taken: int):
    assert frontmatter.read(lines).lines == taken


@pytest.mark.parametrize(
    ("yaml", "says"),
    [
        pytest.param("family: [[A]]  [[B]]", "line 2", id="two wikilinks"),
        pytest.param("a: 1\n\ttitle: x", "line 3", id="a tab for indent"),
        pytest.param("a: b: c", "line 2", id="an unquoted colon"),
        pytest.param("title: x\ntitle: y", "'title' stands there twice, line 3", id="a key twice"),
        pytest.param("created: {{date}}", "not YAML", id="a template"),
        pytest.param("a: &x [1]\nb: *x", "aliases", id="an alias"),
        pytest.param("a: &x [*x]", "aliases", id="an alias of itself"),
        pytest.param("x: !!python/object:os.system {}", "not YAML", id="a Python object"),
        pytest.param("x: !!timestamp soon", "not YAML", id="a claimed type: timestamp"),
        pytest.param("x: !!bool maybe", "not YAML", id="a claimed type: bool"),
        pytest.param("x: !!float abc", "not YAML", id="a claimed type: float"),
        pytest.param("x: !!map [a]", "not YAML", id="a claimed type: map"),
        pytest.param("? [a, b]\n: c", "not YAML", id="a list for a key"),
        pytest.param("x: \x07", "not YAML", id="a control character"),
        pytest.param("x: \ud800", "not YAML", id="a lone surrogate"),
        pytest.param("- a\n- b", "key: value", id="a list"),
        pytest.param("just words", "key: value", id="a sentence"),
        pytest.param("a: " + "[" * 20_000, "not YAML", id="20,000 brackets"),
        pytest.param("a: b\n" * 20_000, "100000 characters", id="100,000 characters"),
    ],
)
def test_odd_yaml_loses_the_metadata_but_not_the_note(yaml: str, says: str):
    document = parse(f"---\n{yaml}\n---\n# Real\ntext", "stem")
    assert document.front.metadata == {}
    assert document.front.problem
    assert says in document.front.problem
    assert "\n" not in document.front.problem
    assert document.title == "Real"
    assert document.lines.text(document.body, document.body + 2) == "# Real\ntext"


def test_aliases_that_stand_for_a_billion_words_are_refused():
    rows = [f"{name}: &{name} [{','.join(['*' + before] * 9)}]" for before, name in
            zip("abcdefghi", "bcdefghij", strict=True)]  # fmt: skip
    assert front("\n".join(["a: &a [x, x, x, x, x, x, x, x, x]", *rows])).metadata == {}


@pytest.mark.parametrize(
    ("yaml", "metadata"),
    [
        pytest.param("", {}, id="nothing"),
        pytest.param("# only a comment", {}, id="a comment"),
        pytest.param("a: text\nb: 7\nc: true\nd:", {"a": "text", "b": 7, "c": True, "d": None},
                     id="text, number, truth, nothing"),
        pytest.param("a: No\nb: on", {"a": "No", "b": "on"}, id="No and on are words"),
        pytest.param("a: 12:30", {"a": "12:30"}, id="a time of day is no number"),
        pytest.param("a: 010", {"a": "010"}, id="a number keeps its zeros"),
        pytest.param("a: !!int 0x1F", {"a": 31}, id="a number in another system"),
        pytest.param(f"a: !!int {10**18}", {"a": str(10**18)}, id="a longer number is text"),
        pytest.param("a: 1.10", {"a": "1.10"}, id="a revision keeps its zeros"),
        pytest.param("a: .nan", {"a": ".nan"}, id="what JSON cannot hold is text"),
        pytest.param("a: 2024-03-01", {"a": "2024-03-01"}, id="a date"),
        pytest.param("a: 2025-03-17T10:00:00Z", {"a": "2025-03-17T10:00:00+00:00"}, id="a moment"),
        pytest.param("a: 2024-02-31", {"a": "2024-02-31"}, id="no such day: as it is written"),
        pytest.param("a: [x, [y], {z: 1}]", {"a": ["x", ["y"], {"z": 1}]}, id="nested"),
        pytest.param("a: !!set {y, x}", {"a": ["x", "y"]}, id="a set, always in one order"),
        pytest.param("1: x\ntrue: y", {"1": "x", "true": "y"}, id="keys are text"),
        pytest.param("a: &x 1", {"a": 1}, id="an anchor nobody uses"),
    ],
)  # fmt: skip
def test_metadata(yaml: str, metadata: dict[str, object]):
    found = front(yaml)
    assert (found.metadata, found.problem) == (metadata, None)


@pytest.mark.parametrize("number", ["0x" + "f" * 4000, "0b" + "1" * 20_000, "1" + ":59" * 4000,
                                    "9" * 5000, "-" + "0" * 5000, "0x_" + "f" * 4000])  # fmt: skip
@pytest.mark.parametrize("key", ["x", "title", "tags", "aliases"])
def test_a_number_without_end_is_text(key: str, number: str):
    found = front(f"{key}: !!int {number}")
    assert found.metadata == {key: number}
    assert found.aliases == found.tags == ()


def test_values_nested_deeper_than_twenty_levels_are_cut():
    assert str(front("a: " + "[" * 60 + "]" * 60).metadata).count("[") == 21


@pytest.mark.parametrize(
    ("yaml", "title"),
    [
        pytest.param("title: X", "X", id="a word"),
        pytest.param("# c\ntitle: T", "T", id="after a comment"),
        pytest.param("title: 2024", "2024", id="a number"),
        pytest.param("title: No", "No", id="a word that YAML once took for false"),
        pytest.param("title: |\n  a\n  b", "a b", id="two lines are one"),
        pytest.param("title: e\u0301", "é", id="composed"),
        pytest.param("title: '  '", None, id="blank is none"),
        pytest.param("title:", None, id="nothing is none"),
        pytest.param("title: [a]", None, id="a list is none"),
        pytest.param("other: x", None, id="not given"),
    ],
)
def test_title_of_the_front_matter(yaml: str, title: str | None):
    assert front(yaml).title == title


@pytest.mark.parametrize(
    ("yaml", "aliases"),
    [
        pytest.param("aliases: [ЗК, Zettel]", ("ЗК", "Zettel"), id="a list"),
        pytest.param("aliases:\n  - ЗК\n  - Zettel", ("ЗК", "Zettel"), id="a list of lines"),
        pytest.param("""aliases: '["ЗК","Zettel"]'""", ("ЗК", "Zettel"), id="a JSON list as text"),
        pytest.param("aliases: ЗК, Zettel", ("ЗК", "Zettel"), id="commas"),
        pytest.param("aliases: ЗК", ("ЗК",), id="one name"),
        pytest.param("alias: ЗК", ("ЗК",), id="in the singular"),
        pytest.param("aliases: '[ЗК, Zettel]'", ("ЗК", "Zettel"), id="a broken JSON list"),
        pytest.param("aliases: [a, a, ' ']", ("a",), id="each once, no blanks"),
        pytest.param("aliases: [2024, No, None]", ("2024", "No", "None"), id="words as written"),
        pytest.param("aliases: [~, a]", ("a",), id="nothing is no name"),
        pytest.param("aliases: {a: b}", (), id="a mapping names nothing"),
        pytest.param("aliases:", (), id="empty"),
    ],
)
def test_aliases_in_every_form(yaml: str, aliases: tuple[str, ...]):
    assert front(yaml).aliases == aliases


@pytest.mark.parametrize(
    ("yaml", "tags"),
    [
        pytest.param("tags: foo", ("foo",), id="one"),
        pytest.param("tags: [a, '#b']", ("a", "b"), id="a list, with a hash"),
        pytest.param("tags: a b, c", ("a", "b", "c"), id="spaces and commas"),
        pytest.param("tags: #a, b", ("a", "b"), id="an unquoted hash, a comment to YAML"),
        pytest.param("tag: #a", ("a",), id="in the singular"),
        pytest.param("tags: #mine\n  - a", ("a",), id="a comment before a list is a comment"),
        pytest.param("tags: # mine", (), id="a comment after a space is a comment"),
        pytest.param("tags: ['#']", (), id="a hash alone is none"),
    ],
)
def test_tags_in_every_form(yaml: str, tags: tuple[str, ...]):
    assert front(yaml).tags == tags


# Plain headings


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        pytest.param("Plain", "Plain", id="nothing to reduce"),
        pytest.param(
            "[Some](http://x) `code` **b** [[w|alias]] the #1 thing ^id",
            "Some code b alias the #1 thing",
            id="link, code, emphasis, wikilink, hash, block id",
        ),
        pytest.param("[[Target]] and ![[img.png]]", "Target and img.png", id="links without alias"),
        pytest.param("[[Target|]]", "Target", id="an empty alias"),
        pytest.param("![alt](a.png) x", "alt x", id="an image is its description"),
        pytest.param(
            "[ref][r] [x]", "[ref][r] [x]", id="references are text: nothing defines them"
        ),
        pytest.param("a *b* __c__ ~~d~~ ==e==", "a b c d e", id="every emphasis"),
        pytest.param("snake_case_name", "snake_case_name", id="underscores inside a word"),
        pytest.param("a %%hidden%% b", "a b", id="a comment"),
        pytest.param("`a==b` and `c==d`", "a==b and c==d", id="no highlight in code"),
        pytest.param("`%%x%%`", "%%x%%", id="no comment in code"),
        pytest.param("``a ` b`` ==c==", "a ` b c", id="code with a backtick"),
        pytest.param("a == b == c", "a == b == c", id="spaced equals signs are no highlight"),
        pytest.param("AT&amp;T &lt;b&gt; \\*x\\*", "AT&T <b> *x*", id="entities and escapes"),
        pytest.param("<b>x</b> <!-- y -->", "x", id="tags and comments"),
        pytest.param("🚀 1. Installation", "🚀 1. Installation", id="emoji and numbers stay"),
        pytest.param("x^2 is", "x^2 is", id="a power is no block id"),
        pytest.param("a \t b\u2028c", "a b c", id="white space is one space"),
        pytest.param("и\u0306од", "йод", id="composed"),
        pytest.param("<http://x.y>", "http://x.y", id="an address"),
        pytest.param("*" * 3000, "*" * 3000, id="too long to be reduced"),
    ],
)
def test_plain_heading(source: str, plain: str):
    assert plain_heading(source) == plain


# Headings in a note


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("## a\n### b", [("a", 2, 1), ("b", 3, 2)], id="levels as written"),
        pytest.param("## C#\n## F##\n## foo ##", [("C#", 2, 1), ("F##", 2, 2), ("foo", 2, 3)],
                     id="only hashes after a space close a heading"),
        pytest.param("One\n===\nTwo\nlines\n---", [("One", 0, 1), ("Two lines", 2, 3)],
                     id="setext"),
        pytest.param("## Real\n```bash\n# install\n```\n~~~\n# no\n~~~", [("Real", 2, 1)],
                     id="a comment in a fence"),
        pytest.param("## Real\n<!--\n# no\n-->", [("Real", 2, 1)], id="in a comment"),
        pytest.param("## Real\n\n    # no", [("Real", 2, 1)], id="in indented code"),
        pytest.param("## Real\n> # q\n\n- # l", [("Real", 2, 1)], id="in quotes and lists"),
        pytest.param("## Real\n<div>\n# no\n</div>", [("Real", 2, 1)], id="in HTML"),
        pytest.param("## Real\n#no\n#\u00a0no\n####### no", [("Real", 2, 1)], id="no heading at all"),
        pytest.param("## Real\n```\ncode\n\n## Gamma", [("Real", 2, 1)], id="in a fence left open"),
        pytest.param("---\ntitle: X\n---\n## Real", [("Real", 2, 4)], id="front matter is none"),
        pytest.param("##\n## ", [("(untitled)", 2, 1), ("(untitled)", 2, 2)], id="without text"),
        pytest.param("   ## a", [("a", 2, 1)], id="three spaces before"),
    ],
)  # fmt: skip
def test_what_is_a_heading(text: str, found: list[tuple[str, int, int]]):
    assert headings(text) == found


@pytest.mark.parametrize(
    ("text", "title"),
    [
        pytest.param("---\n# c\ntitle: T\n---\n<!-- x -->\n# H", "T", id="the front matter's"),
        pytest.param(
            "---\n# c\n---\n<!-- x -->\n# H", "H", id="else the leading H1, after comments"
        ),
        pytest.param("%% x\ny %%\n\n# H\n## a", "H", id="comments may take lines"),
        pytest.param("intro\n\n# H", "stem", id="an H1 after text leads nothing"),
        pytest.param("## a\n# H", "stem", id="nor one after a heading"),
        pytest.param("# H\n# I", "stem", id="nor one of several"),
        pytest.param("# \ntext", "stem", id="nor one without text"),
        pytest.param("```\n# c\n```", "stem", id="nor one in code"),
        pytest.param("H\n=", "H", id="a setext H1 leads"),
        pytest.param("", "stem", id="an empty note has the file's name"),
    ],
)
def test_title(text: str, title: str):
    assert parse(text, "stem").title == title


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("plain text", [], id="no heading, no toc"),
        pytest.param("# T", [["T"]], id="a title alone is the level-0 entry"),
        pytest.param("# T\nx\n## A\n### B", [["T"], ["A"], ["A", "B"]], id="the title is no level"),
        pytest.param("# T\n## T", [["T (0)"], ["T"]], id="a heading of the title's very text"),
        pytest.param("# T\n## T\n## T (0)", [["T (0) (0)"], ["T"], ["T (0)"]], id="and of its name"),
        pytest.param("intro\n## A", [["stem"], ["A"]], id="text before the first heading"),
        pytest.param("intro\n## stem", [["stem (0)"], ["stem"]], id="told apart from its like"),
        pytest.param("---\ntitle: F\n---\n# H\n## A", [["H"], ["H", "A"]],
                     id="an H1 that is not the title is a level"),
        pytest.param("---\ntitle: H\n---\n# H\n## A", [["H"], ["A"]], id="the same title twice"),
        pytest.param("# A\n# B", [["A"], ["B"]], id="several H1 are levels"),
        pytest.param("### deep\n## up\n### down", [["deep"], ["up"], ["up", "down"]],
                     id="levels may be skipped"),
        pytest.param("## A\n#### C\n### B", [["A"], ["A", "C"], ["A", "B"]],
                     id="a higher heading closes a deeper one"),
        pytest.param("## v2\n### Breaking\n## v1\n### Breaking",
                     [["v2"], ["v2", "Breaking"], ["v1"], ["v1", "Breaking"]],
                     id="cousins of one text"),
        pytest.param("## A\n### x\n## A\n### x\n## A",
                     [["A"], ["A", "x"], ["A (2)"], ["A (2)", "x"], ["A (3)"]],
                     id="siblings of one text are numbered"),
        pytest.param("## A\n## A (2)\n## A", [["A"], ["A (2)"], ["A (3)"]],
                     id="a number that is taken is passed over"),
        pytest.param("## A\n## A\n## A (2)", [["A"], ["A (2)"], ["A (2) (2)"]],
                     id="and so is one taken before"),
    ],
)  # fmt: skip
def test_paths(text: str, found: list[list[str]]):
    assert paths(text) == found


@pytest.mark.parametrize(
    ("text", "anchors"),
    [
        pytest.param("# T\n## Search terms", ["t", "search-terms"], id="hyphens for spaces"),
        pytest.param("## Привет, мир!", ["привет-мир"], id="Cyrillic, without punctuation"),
        pytest.param("## a\n## a\n## a-1", ["a", "a-1", "a-1-1"], id="numbered, never twice"),
        pytest.param("## a\n## a-1\n## a", ["a", "a-1", "a-2"], id="past a number taken before"),
        pytest.param("## C#\n## C", ["c", "c-1"], id="alike only as anchors"),
        pytest.param("## 🚀\n## !", ["section", "section-1"], id="no letters at all"),
        pytest.param("intro\n## A", ["", "a"], id="text before the first heading has none"),
    ],
)
def test_anchors(text: str, anchors: list[str]):
    assert [spot.section.anchor for spot in parse(text, "stem").spots] == anchors


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        pytest.param("What's new?", "whats-new", id="punctuation goes"),
        pytest.param("a - b", "a---b", id="a dash between spaces stays"),
        pytest.param("snake_case", "snake_case", id="an underscore stays"),
    ],
)
def test_slugify(title: str, slug: str):
    assert slugify(title) == slug


def test_sections_span_their_subsections_and_no_blank_lines_after_them():
    text = "# T\n\nintro\n\n## A\na\n### B\nb\n\n\n## C\n"
    spans = [(s.section.line, s.section.last_line) for s in parse(text, "stem").spots]
    assert spans == [(1, 3), (5, 8), (7, 8), (11, 11)]


def test_the_text_of_a_section_is_its_heading_and_all_below():
    document = parse("## A\r\na\r\n### B\r\nb\r\n\r\n## C", "stem")
    assert [document.text(s) for s in document.spots] == ["## A\na\n### B\nb", "### B\nb", "## C"]


# Line numbers are those of sed


def with_line_ends(ends: str) -> bytes:
    return ends.join(["one", "", "# Alpha", "text", "", "Beta", "----", "## Gamma", ""]).encode()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(with_line_ends("\n"), id="LF"),
        pytest.param(with_line_ends("\r\n"), id="CR LF"),
        pytest.param(with_line_ends("\r"), id="lone CR"),
        pytest.param(b"a\rb\n# Alpha\r\nc\r# Beta\n\r\n## Gamma", id="all of them"),
        pytest.param(b"\xef\xbb\xbf# Alpha\n\n## Beta\n", id="a byte order mark"),
        pytest.param(b"---\ntitle: x\n---\n\n\n# Alpha\n## Beta", id="front matter"),
        pytest.param(b"---\r\n: [broken\r\n---\r\n# Alpha\r\n", id="broken front matter"),
        pytest.param(b"\n\n\n# Alpha\nx\n# Beta", id="blank lines first"),
        pytest.param("x\x0cy\u2028z\x85\n# Alpha\n\x0c\n# Beta".encode(), id="no line ends"),
        pytest.param(b"x\0y\n# Alpha\0\n# Beta", id="NUL"),
    ],
)
def test_sed_prints_the_heading_at_its_line(folder: Path, content: bytes):
    file = folder / "note.md"
    file.write_bytes(content)
    spots = parse(files.read(folder, "note.md", len(content)).text, "note").spots
    named = [spot.section for spot in spots if spot.section.anchor]
    assert named
    for section in named:
        printed = subprocess.run(
            ["sed", "-n", f"{section.line}p", file], capture_output=True, check=True
        )
        assert section.title in printed.stdout.decode()


_PROSE = st.sampled_from(["word", "", " ", "x\x0cy", "x\u2028y", "\x85", "> q", "- i", "\0", "ёж"])


@BOUNDED
@given(
    st.lists(st.tuples(_PROSE, st.sampled_from(["\n", "\r\n", "\r"]))),
    st.sampled_from(["", "---\ntitle: x\n---\n", "---\r\na: [\r\n---\r\n"]),
    st.integers(0, 2**32),
)
def test_a_heading_anywhere_has_the_number_of_line_feeds_before_it_and_one(
    lines: list[tuple[str, str]], head: str, seed: int
):
    text, wanted = head, []
    choose = random.Random(seed)
    for at, (line, end) in enumerate(lines):
        if choose.random() < 0.3:
            # blank, so that nothing before it makes it a part of itself
            text += "\n\n"
            wanted.append((f"h{at}", text.count("\n") + 1))
            text += f"## h{at}{end}"
        text += line + end
    found = [(s.section.title, s.section.line) for s in parse(text, "stem").spots]
    assert [entry for entry in found if entry[0] != "stem" and entry[0] != "x"] == wanted


# Whatever a note holds


# Prose, which is read ahead of all rules

_OPENINGS = ["word", "слово", "# h", "#tag", "# a | b", "a | b", "|---|", "---", "===", "- item", "-",
             "- - x", "1. one", "2. two", "10) ten", "> quote", "> - a", ">", "```", "~~~", "<div>",
             "<!-- c -->", "[a]: b", "t'", "", "  ", "***", "* * *", ": x", "| x |", "-\tb", "A"]  # fmt: skip
_ODD_LINES = st.builds(
    lambda room, mark, text, end: " " * room + mark + text + end,
    st.sampled_from([0, 0, 0, 0, 1, 2, 3, 4, 6, 10]),
    st.sampled_from(["", "", "", "", "> ", "- "]),
    st.sampled_from(_OPENINGS),
    st.sampled_from(["", "", "", "", " ", "\t", " | x", " #"]),
)


def blocks(parser: MarkdownIt, text: str) -> list[tuple[object, ...]]:
    tokens = parser.parse(text)
    return [
        (token.type.removesuffix("_open"), token.level, token.map, after.content)
        if token.type == "heading_open"
        else (token.type.removesuffix("_open"), token.level, token.map)
        for token, after in zip(tokens, [*tokens[1:], *tokens[-1:]], strict=True)
        if token.map and token.nesting >= 0 and token.type != "inline"
    ]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("# a | b\n---|---\n1 | 2", id="a heading is the head of a table"),
        pytest.param("a | b\n---|---\n1 | 2", id="a line is the head of a table"),
        pytest.param("a\nb\n---\nc", id="setext"),
        pytest.param("a\n- b\nc\n  - d\n\n  e", id="lists after prose"),
        pytest.param("a\n2. b", id="a number that begins no list"),
        pytest.param("> - a\n          - b", id="a line that goes on with a quote's item"),
        pytest.param("    a\n\n     # b", id="code"),
    ],
)
def test_prose_makes_the_blocks_that_all_rules_make(text: str):
    plain = MarkdownIt("commonmark").enable("table")
    assert blocks(document._parser(references=True), text) == blocks(plain, text)


@BOUNDED
@given(st.lists(_ODD_LINES, min_size=1, max_size=9))
def test_prose_among_anything_makes_the_same_blocks(lines: list[str]):
    test_prose_makes_the_blocks_that_all_rules_make("\n".join(lines))


HOSTILE = [
    pytest.param(">" * 5000 + " x", id="5,000 nested quotes"),
    pytest.param("\n".join("  " * depth + "- x" for depth in range(300)), id="300 nested lists"),
    pytest.param("1. " * 1000 + "x", id="1,000 numbered lists in a line"),
    pytest.param("- - 3\n- 2. x\n* -", id="odd but legal lists"),
    pytest.param("[" * 20_000, id="20,000 brackets"),
    pytest.param("# " + "[" * 1990, id="as many as a heading holds"),
    pytest.param("# " + "[" * 20_000, id="a heading of 20,000 brackets"),
    pytest.param("# " + "*a " * 660, id="stars in a heading"),
    pytest.param("*a " * 5000, id="5,000 stars"),
    pytest.param("[a\n" * 20_000, id="20,000 openings of a reference"),
    pytest.param("# A\n" + "word " * 400_000, id="one line of 2 MB"),
    pytest.param("\n" * 200_000 + "x\n# H", id="200,000 blank lines before the text"),
    pytest.param("```\n" + "<!--\n" * 50_000 + "```\n# H", id="50,000 comments never closed"),
    pytest.param("# a^" + " " * 300_000 + "b", id="300,000 spaces in a heading"),
    pytest.param("# a " + "#" * 300_000 + " b", id="300,000 hashes in a heading"),
    pytest.param("---\n" + "a: b\n" * 50_000, id="front matter never closed"),
    pytest.param("\ud800 # \udfff", id="lone surrogates"),
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_notes_are_parsed(text: str):
    assert parse(text, "stem").lines.lines


def test_thirty_thousand_headings_have_paths_and_anchors_of_their_own():
    sections = [s.section for s in parse("## same\n" * 30_000, "stem").spots]
    assert len({section.path for section in sections}) == 30_000
    assert len({section.anchor for section in sections}) == 30_000
    assert sections[-1].path == ("same (30000)",)


_TITLES = st.sampled_from(
    ["A", "A (2)", "T", "T (0)", "B > C", "#a", '["A"]', "C#", "1. A", "🚀 A", "a", "", "(untitled)",
     "e\u0301", "é", "[[A|b]]", "`A`", "ß", "İ", "-", "и\u0306", "A ^id", "\\#", "stem"]
) | st.text(max_size=8)  # fmt: skip
_BODIES = st.sampled_from(["", "text", "> # q", "```\n# x\n```", "<!-- c -->", "---", "===", "%%"])
_HEADINGS = st.builds(
    "{} {}\n{}\n".format, st.sampled_from(["#", "##", "###", "####"]), _TITLES, _BODIES
)
_HEADS = st.sampled_from(["", "intro\n\n", "---\ntitle: T\n---\n", "---\ntitle: A\n---\n"])
NOTES = st.builds(lambda head, rest: head + "".join(rest), _HEADS, st.lists(_HEADINGS, max_size=8))


def own_spots(document: Document, pointers: list[list[str]]) -> bool:
    return [resolve(document, pointer) for pointer in pointers] == list(document.spots)


@BOUNDED
@given(NOTES)
def test_every_path_is_unique_and_resolves_to_its_own_section(text: str):
    document = parse(text, "stem")
    found = [list(spot.section.path) for spot in document.spots]
    assert len({tuple(path) for path in found}) == len(found)
    assert own_spots(document, found)


@BOUNDED
@given(NOTES)
def test_every_anchor_is_unique(text: str):
    anchors = [s.section.anchor for s in parse(text, "stem").spots if s.section.anchor]
    assert len(set(anchors)) == len(anchors)


@BOUNDED
@given(st.text() | NOTES | st.text(st.sampled_from("#-=`~>|[]()*_ \n\r\t\0a1.:!<%^\\")))
def test_no_text_is_too_odd_to_parse(text: str):
    document = parse(text, "stem")
    assert document.title
    last = document.lines.numbers[-1]
    assert all(1 <= s.section.line <= s.section.last_line <= last for s in document.spots)
    assert all(a.start < b.start for a, b in zip(document.spots, document.spots[1:], strict=False))


@BOUNDED
@given(
    st.text(), st.sampled_from(["", "title: ", "tags: ", "a: [", "- ", "? ", "!!int ", "&a *a "])
)
def test_no_front_matter_is_too_odd_to_read(text: str, before: str):
    found = front(before + text)
    assert isinstance(found.metadata, dict)
    assert isinstance((found.title, found.description, found.aliases, found.tags), tuple)


# HTML


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        pytest.param("**a** `b`", "<p><strong>a</strong> <code>b</code></p>\n", id="Markdown"),
        pytest.param("<script>x</script>", "<p>&lt;script&gt;x&lt;/script&gt;</p>\n", id="no tags"),
        pytest.param("[a](javascript:x)", "<p>[a](javascript:x)</p>\n", id="no script addresses"),
    ],
)
def test_to_html(markdown: str, html: str):
    assert to_html(markdown) == html
