"""Sections → chunks."""

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from qmd_py.chunking import chunks
from qmd_py.markdown import Document, parse
from qmd_py.records.stored import Chunk, breadcrumb

LIMIT = 1400
BOUNDED = settings(deadline=None, max_examples=120)


def cut(text: str, limit: int = LIMIT) -> tuple[Chunk, ...]:
    return chunks(parse(text, "stem"), limit)


def words(count: int, word: str = "word") -> str:
    return " ".join([word] * count)


# What becomes a chunk


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("one\n\ntwo\n", [Chunk(None, 1, 3, "one\n\ntwo")], id="no headings: the note"),
        pytest.param("\n\n\none\n\n", [Chunk(None, 4, 4, "one")], id="without blank lines around"),
        pytest.param("# T\n\none\n\n## A\ntwo", [Chunk(0, 3, 3, "one"), Chunk(1, 6, 6, "two")],
                     id="bodies without their headings"),
        pytest.param("intro\n## A\ntwo", [Chunk(0, 1, 1, "intro"), Chunk(1, 3, 3, "two")],
                     id="text before the first heading"),
        pytest.param("## A\n\n## B\nb", [Chunk(0, 1, 1, "## A"), Chunk(1, 4, 4, "b")],
                     id="a heading with nothing below is a chunk of its own"),
        pytest.param("## A\n### B\nb", [Chunk(1, 3, 3, "b")],
                     id="not one whose subsections lead to it"),
        pytest.param("# T\n\n## A\na", [Chunk(1, 4, 4, "a")], id="nor the title of other sections"),
        pytest.param("# T\n", [Chunk(0, 1, 1, "# T")], id="but a title alone"),
        pytest.param("Two\nlines\n===\n", [Chunk(0, 1, 3, "Two\nlines\n===")], id="of any form"),
        pytest.param("---\ntitle: X\ntags: [a]\n---\n", [Chunk(None, 1, 1, "")],
                     id="only front matter: an empty chunk, so that the note is found"),
        pytest.param("", [Chunk(None, 1, 1, "")], id="nothing: an empty chunk"),
        pytest.param("---\ntitle: X\n---\n\n# Y\n\ntext", [Chunk(0, 7, 7, "text")],
                     id="lines count from the head of the file"),
        pytest.param("a\r## B\r\rb\r\n## C\nc", [Chunk(0, 1, 1, "a"), Chunk(1, 1, 1, "b"),
                     Chunk(2, 3, 3, "c")], id="as sed counts them"),
        pytest.param("```\n# no\n## Gamma", [Chunk(None, 1, 3, "```\n# no\n## Gamma")],
                     id="what an open fence swallows is text"),
    ],
)  # fmt: skip
def test_chunks(text: str, found: list[Chunk]):
    assert list(cut(text)) == found


@pytest.mark.parametrize(
    ("text", "left"),
    [
        pytest.param("![x](data:image/png;base64,iVBORw0KGgo=) y", "![x]() y", id="an image"),
        pytest.param("[x](data:text/plain;charset=utf-8;base64,AAAA)", "[x]()", id="a link"),
        pytest.param("[i]: <data:image/png;base64,AA-_%3D>", "[i]: <>", id="a reference"),
        pytest.param("the data: about base64, is text", "the data: about base64, is text",
                     id="not words that look alike"),
    ],
)  # fmt: skip
def test_embedded_data_is_left_out(text: str, left: str):
    assert [chunk.text for chunk in cut(text)] == [left]


def test_a_megabyte_of_embedded_image_is_no_text():
    text = "# T\n\nbefore\n\n![x](data:image/png;base64," + "A" * 1_000_000 + ")\n\nafter"
    assert [chunk.text for chunk in cut(text)] == ["before\n\n![x]()\n\nafter"]


# Where it is cut


def test_neighbouring_blocks_stay_together_while_there_is_room():
    paragraph = words(100)  # 499 characters
    found = cut("\n\n".join([paragraph] * 5))
    assert [(chunk.first_line, chunk.last_line) for chunk in found] == [(1, 3), (5, 7), (9, 9)]


def test_the_breadcrumb_counts():
    body = words(50)  # 249 characters
    # "T > A", a blank line and the body: 5 + 2 + 249
    assert len(cut(f"# T\n## A\n{body}", 256)) == 1
    assert len(cut(f"# T\n## A\n{body}", 255)) == 2


def test_a_breadcrumb_longer_than_the_limit_leaves_200_characters():
    found = cut(f"# T\n## {words(100)}\n{words(100)}", 300)
    assert [len(chunk.text) for chunk in found] == [200, 200, 99]


def test_a_long_list_is_cut_between_its_items():
    item = f"- {words(60)}\n  {words(60)}"
    found = cut("\n".join([item] * 6))
    assert [chunk.text for chunk in found] == ["\n".join([item] * 2)] * 3


def test_a_long_item_is_cut_between_its_own_blocks():
    inner = [words(180, name) for name in ("aaaa", "bbbb", "cccc")]
    found = cut("- " + "\n\n  ".join(inner))
    assert [chunk.text.split()[-1] for chunk in found] == ["aaaa", "bbbb", "cccc"]
    assert [chunk.first_line for chunk in found] == [1, 3, 5]


def test_a_long_table_is_cut_between_its_rows():
    rows = [f"| {at} | {words(40)} |" for at in range(40)]
    found = cut("\n".join(["| a | b |", "|---|---|", *rows]))
    assert len(found) > 5
    assert "\n".join(chunk.text for chunk in found).split("\n")[2:] == rows


def test_a_long_paragraph_is_cut_between_its_lines():
    line = words(100)
    found = cut("\n".join([line] * 5))
    assert [chunk.text for chunk in found] == ["\n".join([line] * 2)] * 2 + [line]


def test_a_long_line_is_cut_between_its_words():
    found = cut(words(1000))
    assert [chunk.text for chunk in found[:2]] == [words(278) + " "] * 2
    assert {(chunk.first_line, chunk.last_line) for chunk in found} == {(1, 1)}


def test_a_word_without_end_is_cut_between_its_characters():
    assert [len(chunk.text) for chunk in cut("x" * 3000)] == [1394, 1394, 212]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("👨‍👩‍👧" * 1000, id="a family of emoji"),
        pytest.param("e\u0301" * 2500, id="letters with accents"),
        pytest.param("e\u0301 \u0301" * 1000, id="spaces with accents"),
        pytest.param("🇩🇪" * 1500, id="flags"),
        pytest.param("हिन्दी" * 900, id="Hindi syllables"),
        pytest.param("\u1112\u1161\u11ab" * 900, id="Korean syllables in parts"),
    ],
)
def test_no_grapheme_is_cut(text: str):
    found = cut("x " + text)
    assert len(found) > 1
    whole = regex.findall(r"\X", "x " + text)
    assert [part for chunk in found for part in regex.findall(r"\X", chunk.text)] == whole


@pytest.mark.parametrize(
    "note",
    [
        pytest.param("{fence}", id="alone"),
        pytest.param("before\n\n{fence}\n\nafter", id="between paragraphs"),
        pytest.param("- {fence}", id="in an item"),
        pytest.param("1. a\n\n   {fence}\n\n   b", id="in the middle of an item"),
        pytest.param("> {fence}", id="in a quote"),
        pytest.param("{fence}\n" + "[r]: http://x.y\n" * 200, id="before references"),
    ],
)
def test_a_fence_of_less_than_8000_characters_is_whole(note: str):
    mark, _, after = note.partition("{fence}")
    indent = {"- ": "  ", "> ": "> "}.get(mark, "   " if mark.startswith("1") else "")
    lines = ["```", *(f"code {at} {words(10)}" for at in range(120)), "```"]
    fence = f"\n{indent}".join(lines)
    assert LIMIT < len(fence) < 8000
    found = [chunk.text for chunk in cut(mark + fence + after)]
    assert any(text.endswith(fence) for text in found)
    assert all(len(text) <= LIMIT for text in found if fence not in text)


def test_a_longer_fence_is_cut_between_its_lines():
    lines = ["```", *[words(20)] * 200, "```"]
    found = cut("\n".join(lines))
    assert "\n".join(chunk.text for chunk in found).split("\n") == lines
    assert all(len(chunk.text) <= LIMIT for chunk in found)


def test_every_part_of_a_long_section_has_the_path_in_force_at_its_start():
    items = "\n".join(f"- {at} {words(20)}" for at in range(50))
    note = parse(f"# T\n## 5\na\n### 5.9\nb\n#### 5.9.2\n{items}\n### 5.10\nc", "stem")
    found = chunks(note, LIMIT)
    crumbs = [" > ".join(note.spots[chunk.section or 0].section.path) for chunk in found]
    deep = [crumb for crumb in crumbs if crumb == "5 > 5.9 > 5.9.2"]
    assert len(deep) > 3
    assert crumbs == ["5", "5 > 5.9", *deep, "5 > 5.10"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("# A\n" + "word " * 400_000, id="one line of 2 MB"),
        pytest.param("x" * 2_000_000, id="one word of 2 MB"),
        pytest.param("e" + "\u0301" * 50_000, id="one grapheme of 50,000"),
        pytest.param("data:" * 100_000, id="100,000 beginnings of embedded data"),
        pytest.param("para\n\n" * 20_000, id="20,000 paragraphs"),
        pytest.param("- item\n" * 20_000, id="20,000 items"),
        pytest.param("|a|b|\n|-|-|\n" + "|1|2|\n" * 15_000, id="15,000 rows"),
        pytest.param("\n".join(">" * depth for depth in range(500)), id="500 nested quotes"),
        pytest.param("\n".join("  " * at + "- x" for at in range(300)), id="300 nested lists"),
        pytest.param("```\n" + "code\n" * 50_000, id="a fence left open over 50,000 lines"),
        pytest.param("## h\n\ntext\n" * 20_000, id="20,000 sections"),
    ],
)
def test_hostile_notes_are_cut(text: str):
    assert all(len(chunk.text) <= LIMIT for chunk in cut(text) if "\u0301" not in chunk.text)


# Whatever a note holds


_WORD = st.text(st.sampled_from("abcё日 \u0301👨\u200d👩.*_`[]|>-#\u2028"), min_size=1, max_size=60)
_LINE = st.builds(lambda word, count: " ".join([word] * count), _WORD, st.integers(1, 40))
_FENCE = st.builds(
    lambda line, count: "```\n" + f"{line}\n" * count + "```",
    st.text(st.sampled_from("abc# \u0301日"), max_size=60),
    st.integers(0, 80),
)
_TABLE = st.builds(
    lambda count: "|a|b|\n|-|-|\n" + "|one cell|two cells|\n" * count, st.integers(1, 40)
)
_ITEM = st.builds(
    lambda mark, block: mark + block.replace("\n", "\n" + " " * len(mark)),
    st.sampled_from(["- ", "> ", "1. ", "- - "]),
    _LINE | _FENCE | _TABLE,
)
_HEADING = st.builds("{} {}".format, st.sampled_from(["#", "##", "###"]), _LINE)
_BLOCK = st.one_of(
    _LINE, _FENCE, _TABLE, _ITEM, _HEADING, st.sampled_from(["", "---", "<!-- x", "[r]: /x"])
)
_NOTES = st.builds(
    lambda head, blocks, gap: head + gap.join(blocks),
    st.sampled_from(["", "---\ntitle: x\n---\n"]),
    st.lists(_BLOCK, max_size=10),
    st.sampled_from(["\n", "\n\n", "\n\n\n\n"]),
)
_LIMITS = st.sampled_from([250, 400, 900, 1400])


def bodies(document: Document) -> list[tuple[int | None, int, int]]:
    """What has to be covered: section, 0-based first line, exclusive stop."""
    if not document.spots:
        return [(None, document.body, len(document.lines.lines))]
    return [(at, spot.body, spot.own_stop) for at, spot in enumerate(document.spots)]


def letters(text: str) -> str:
    return "".join(text.split())


@BOUNDED
@given(_NOTES, _LIMITS)
def test_chunks_hold_the_bodies_once_and_in_order(text: str, limit: int):
    document = parse(text, "stem")
    found = chunks(document, limit)
    for section, start, stop in bodies(document):
        body = letters(document.lines.text(start, stop))
        held = [chunk for chunk in found if chunk.section == section and chunk.first_line > start]
        assert letters("".join(chunk.text for chunk in held)) == body


@BOUNDED
@given(_NOTES, _LIMITS)
def test_every_line_that_is_not_blank_lies_in_a_chunk_of_its_section(text: str, limit: int):
    document = parse(text, "stem")
    found = chunks(document, limit)
    for section, start, stop in bodies(document):
        for line in range(start, stop):
            assert not document.lines.lines[line].strip() or any(
                chunk.first_line <= line + 1 <= chunk.last_line and chunk.section == section
                for chunk in found
            )


@BOUNDED
@given(_NOTES, _LIMITS)
def test_a_chunk_lies_inside_one_section(text: str, limit: int):
    document = parse(text, "stem")
    for chunk in chunks(document, limit):
        assert chunk.first_line <= chunk.last_line <= len(document.lines.lines)
        if chunk.section is None:
            assert not document.spots
        else:
            spot = document.spots[chunk.section]
            assert spot.start < chunk.first_line
            assert chunk.last_line <= spot.own_stop


@BOUNDED
@given(_NOTES, _LIMITS)
def test_no_chunk_but_a_fence_is_longer_than_the_limit(text: str, limit: int):
    document = parse(text, "stem")
    for chunk in chunks(document, limit):
        path = document.spots[chunk.section].section.path if chunk.section is not None else ()
        room = max(limit - len(breadcrumb(document.title, path)) - 2, 200)
        fence = len(chunk.text) <= 8000 and "```" in chunk.text.split("\n")[0]
        assert len(chunk.text) <= room or fence


@BOUNDED
@given(st.lists(_FENCE, min_size=1, max_size=4), _LINE, _LIMITS)
def test_no_fence_is_cut(fences: list[str], line: str, limit: int):
    found = cut(f"\n\n{line}\n\n".join(fences), limit)
    for fence in fences:
        assert len(fence) > 8000 or any(fence in chunk.text for chunk in found)


@BOUNDED
@given(st.text(), _LIMITS)
def test_a_line_of_any_text_is_cut_between_graphemes(text: str, limit: int):
    line = "x" + " ".join(text.replace("\0", "").split()) * 9
    found = cut(line, limit)
    graphemes = [part for chunk in found for part in regex.findall(r"\X", chunk.text)]
    assert graphemes == regex.findall(r"\X", line)
