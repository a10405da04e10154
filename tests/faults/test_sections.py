"""A section is what a reader takes for one, and its pointer finds it again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.faults.shelf import Shelf, said, write

if TYPE_CHECKING:
    from typer.testing import Result

Qmd = Callable[..., "Result"]

RULES = "".join(
    f"### Rule {n}\n\n{f'Rule number {n} is about case{n}. ' * 60}\n\n" for n in range(7)
)
ITEMS = "".join(f"- item {at} of the deep list with some words\n" for at in range(130))
NOTES: dict[str, str | bytes] = {
    "fence.md": "# Real\n\n```bash\n# install\n## more\n```\n\n~~~\n# no\n~~~\n\ntext\n",
    "open.md": "# Alpha\n\n## Beta\n\n```\ncode\n\n## Gamma\n\nlost zebra\n",
    "kinds.md": "Title\n=====\n\nSub\n---\n\n    # no\n\n<!--\n# no\n-->\n\n#no\n\n####### no\n\n\\# no\n",
    "front.md": "---\ntitle: X\ntags: [a]\n---\n# Real\n\ntext\n\n## Two\n",
    "bom.md": b"\xef\xbb\xbf# A\n\ntext\n\n# B\n",
    "blank.md": "#\u00a0x\n\n# A\0b\n\n# \u3000Wide\u3000\n",
    "hash.md": "# Signs\n\n## C#\n\n## F##\n\n## foo ##\n\n## a # b\n\n## #hash\n",
    "deep.md": f"# Top\n\n## 5\n\n### 5.9\n\n#### 5.9.2\n\n{ITEMS}",
    "rules.md": f"# Code\n\n## Rules\n\n{RULES}",
    "log.md": "# Log\n\n## 2.0\n\n### Breaking\n\nnew quagga\n\n## 1.0\n\n### Breaking\n\nold quagga\n",
    "same.md": "# Same\n\n## Topic\n\nfirst gnu\n\n## Topic\n\nsecond gnu\n",
    "styled.md": "# T\n\n## [Some](http://x) `code` **b** [[w|alias]] the #1 thing ^id\n\nstyled\n\n## next\n",
    "partial.md": "# 🚀 1. Installation\n\n## Linux\n\napt\n\n## Windows\n\nchoco\n\n# Usage\n\n## Linux\n\nrun\n",
    "twin1.md": "# Twin\n\nequal kiwi\n",
    "twin2.md": "# Twin\n\nequal kiwi\n",
    "lines.md": "\n\n\n---\ntitle: no\n---\n\n# One\n\nx\n\n# Two\n\nx\n\n# Three\n\nx\n\nfind okapi here\n",
    "after.md": "---\ntitle: T\n# c\n---\n\n\n\n# One\n\n# Two\n\n\nfind eland here\n",
    "comment.md": "---\n# c\ntitle: T\n---\n<!-- x -->\n# H\n\ntext\n",
    "untitled.md": "---\n# c\n---\n<!-- x\n# no\n-->\n# H\n\ntext\n",
    "flat.md": "just some words about tapirs\n\nand more\n",
    "callout.md": "# C\n\n> [!quote]- Said\n> ![[pic.png|300]] the ibex of [[Page|the kinds]] is ==rare== ^id1\n",
    "inner.md": "# Outer\n\n> # quoted oryx\n\n- # listed oryx\n\n1. ## numbered oryx\n",
    "separators.md": "# A\n\nx\x0cy\u2028z\x85w\x0bv\x1cu\n\n## B\n\nlemur\n",
    "cr.md": b"# A\r\rtext\r\r## B\r\rloris\r",
    "crlf.md": b"# A\r\n\r\ntext\r\n\r\n## B\r\n\r\npotto\r\n",
    "empty-heading.md": "# E\n\n##\n\nunder nothing\n\n## \n\nagain\n",
    "skipped.md": "#### Four\n\na\n\n# One\n\nb\n\n###### Six\n\nc\n",
    "json.md": '# J\n\n## ["a", "b"]\n\nlist\n\n## A > B\n\nangle\n\n## #x\n\nhash\n\n## 42\n\nnumber\n',
}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return Shelf.of(tmp_path_factory.mktemp("sections"), NOTES)


def toc(shelf: Shelf, note: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = shelf.answer("toc", note)["toc"]
    return found


@pytest.mark.parametrize(
    ("note", "headings"),
    [
        pytest.param("fence.md", ["Real"], id="code holds none"),
        pytest.param("open.md", ["Alpha", "Beta"], id="nor a fence left open"),
        pytest.param("kinds.md", ["Title", "Sub"], id="underlined ones are, other things are not"),
        pytest.param("front.md", ["Real", "Two"], id="front matter is none"),
        pytest.param("bom.md", ["A", "B"], id="a byte order mark hides none"),
        pytest.param("hash.md", ["Signs", "C#", "F##", "foo", "a # b", "#hash"], id="hashes"),
        pytest.param("styled.md", ["T", "Some code b alias the #1 thing", "next"], id="plain text"),
        pytest.param("inner.md", ["Outer"], id="those in quotes and lists are text"),
        pytest.param("cr.md", ["A", "B"], id="lines that end in CR"),
        pytest.param("crlf.md", ["A", "B"], id="lines that end in CR LF"),
        pytest.param("separators.md", ["A", "B"], id="separators that end no line"),
        pytest.param("flat.md", [], id="a note without any"),
    ],
)
def test_the_headings_of_a_note(shelf: Shelf, note: str, headings: list[str]) -> None:
    assert [entry["title"] for entry in toc(shelf, note)] == headings


def test_a_nul_and_odd_blanks_in_a_heading(shelf: Shelf) -> None:
    titles = [str(entry["title"]) for entry in toc(shelf, "blank.md")]
    assert "A b" in titles
    assert "Wide" in titles
    assert not any("\0" in title or "\ufffd" in title for title in titles)


@pytest.mark.parametrize(
    ("question", "note", "path"),
    [
        pytest.param("lost zebra", "open.md", ["Beta"], id="behind a fence left open"),
        pytest.param("case5", "rules.md", ["Rules", "Rule 5"], id="a section of the third level"),
        pytest.param("item 129 deep", "deep.md", ["5", "5.9", "5.9.2"], id="the end of a long one"),
        pytest.param('"old quagga"', "log.md", ["1.0", "Breaking"], id="a heading of many"),
        pytest.param('"second gnu"', "same.md", ["Topic (2)"], id="a second of its text"),
        pytest.param("tapirs", "flat.md", [], id="a note without headings"),
        pytest.param("oryx", "inner.md", ["Outer"], id="a heading that is text"),
        pytest.param("lemur", "separators.md", ["B"], id="behind separators"),
        pytest.param("loris", "cr.md", ["B"], id="behind CRs"),
        pytest.param('"under nothing"', "empty-heading.md", ["(untitled)"], id="an empty heading"),
    ],
)
def test_a_hit_leads_to_its_own_section(
    shelf: Shelf, question: str, note: str, path: list[str]
) -> None:
    (hit,) = (hit for hit in shelf.answer("search", question)["results"] if hit["path"] == note)
    found = hit["matches"][0]["toc_path"]
    assert found[-len(path) :] == path if path else found == []
    shown = shelf("section", "--", hit["pid"], json.dumps(found)).stdout
    assert question.strip('"').split()[0] in shown


def test_all_rules_of_a_long_section_can_be_pointed_at(shelf: Shelf) -> None:
    text = shelf("section", "rules.md", "Rules", "Rule 3").stdout
    assert text.startswith("### Rule 3\n")
    assert "Rule 4" not in text
    assert "Rule 2" not in text


@pytest.mark.parametrize("note", sorted(set(NOTES) - {"flat.md", "cr.md"}))
def test_every_pointer_resolves_to_the_line_of_its_heading(shelf: Shelf, note: str) -> None:
    lines = (shelf.folder / note).read_bytes().decode("utf-8-sig").split("\n")
    entries = toc(shelf, note)
    assert len({json.dumps(entry["path"]) for entry in entries}) == len(entries) > 0
    for entry in entries:
        found = shelf.answer("section", note, json.dumps(entry["path"]))
        assert (found["toc_path"], found["line"]) == (entry["path"], entry["line"])
        first = lines[found["line"] - 1].rstrip("\r").replace("\0", " ")
        assert found["text"].split("\n")[0] == first
        if entry["anchor"]:
            assert shelf.answer("section", note, f"#{entry['anchor']}")["line"] == entry["line"]


@pytest.mark.parametrize("word", ["okapi", "eland", "potto", "lemur"])
def test_a_line_number_is_that_of_sed(shelf: Shelf, word: str) -> None:
    (hit,) = shelf.answer("search", word)["results"]
    match = hit["matches"][0]
    lines = (shelf.folder / hit["path"]).read_bytes().split(b"\n")
    held = [at for at, line in enumerate(lines, 1) if word.encode() in line]
    assert match["line"] <= held[0] <= match["last_line"]
    place = shelf("search", word).stdout.splitlines()[0].split("  ")[0]
    number = int(place.rpartition(":")[2])
    assert held == [number]
    assert word in shelf("get", place.rpartition("/")[2] + ":1").stdout


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param(["#insTALL > linux"], "apt", id="beginnings in other case"),
        pytest.param(["Installation", "Windows"], "choco", id="no emoji, no number"),
        pytest.param(["#windows"], "choco", id="an anchor"),
        pytest.param(["usage > LINUX"], "run", id="the other of one text"),
    ],
)
def test_a_pointer_typed_from_memory(shelf: Shelf, path: list[str], text: str) -> None:
    assert text in shelf("section", "partial.md", *path).stdout


def test_a_pointer_that_fits_several_names_them(shelf: Shelf) -> None:
    message = said(shelf("section", "partial.md", "# > linux"))
    assert '["Usage", "Linux"]' in message
    assert '["🚀 1. Installation", "Linux"]' in message
    for wrong in ("Nothing", "Linux"):
        assert "Linux" in said(shelf("section", "partial.md", wrong))


@pytest.mark.parametrize(
    ("heading", "text"),
    [('["a", "b"]', "list"), ("A > B", "angle"), ("#x", "hash"), ("42", "number")],
)
def test_a_heading_that_looks_like_syntax_is_found(shelf: Shelf, heading: str, text: str) -> None:
    assert text in shelf("section", "json.md", heading).stdout
    assert text in shelf("section", "json.md", json.dumps([heading])).stdout


def test_equal_notes_have_names_of_their_own(shelf: Shelf) -> None:
    hits = {hit["path"]: hit["pid"] for hit in shelf.answer("search", "kiwi")["results"]}
    assert set(hits) == {"twin1.md", "twin2.md"}
    assert len(set(hits.values())) == 2


def test_every_name_that_is_printed_opens_the_note_everywhere(shelf: Shelf) -> None:
    (hit,) = shelf.answer("search", "tapirs")["results"]
    printed = shelf("search", "tapirs").stdout
    names = {
        str(hit["pid"]),
        f"#{hit['pid']}",
        hit["path"],
        f"{hit['collection']}/{hit['path']}",
        shelf("search", "tapirs", "-l").stdout.strip(),
        printed.splitlines()[1].split()[0],
        next(row["path"] for row in shelf.answer("ls") if row["pid"] == hit["pid"]),
    }
    assert len(names) >= 5
    for name in names:
        assert "tapirs" in shelf("get", name).stdout
        assert shelf.answer("section", name)["pid"] == hit["pid"]
        assert shelf.answer("toc", name)["pid"] == hit["pid"]


def test_edits_above_move_no_pointer(qmd: Qmd, folder: Path) -> None:
    text = "# S\n\n## Topic\n\n" + "long words\n" * 50 + "\n## Topic\n\nsecond one\n"
    write(folder, {"a.md": text})
    qmd("index", "--no-embed", folder)
    write(folder, {"a.md": text.replace("long words\n" * 50, "short\n")})
    assert "second one" in qmd("section", "a.md", "Topic (2)").stdout
    write(folder, {"a.md": "# S\n\n## Topic\n\nsecond one\n"})
    message = said(qmd("section", "a.md", "Topic (2)"))
    assert message.startswith('no heading ["Topic (2)"] in the note now')
    assert '["Topic"]' in message


@pytest.mark.parametrize(
    ("note", "title"),
    [
        pytest.param("comment.md", "T", id="the front matter's"),
        pytest.param("untitled.md", "H", id="else the leading heading's"),
        pytest.param("fence.md", "Real", id="not that in code"),
        pytest.param("lines.md", "lines", id="else the file's"),
        pytest.param("flat.md", "flat", id="in a note without headings as well"),
    ],
)
def test_the_title(shelf: Shelf, note: str, title: str) -> None:
    assert shelf.answer("section", note)["title"] == title


def test_a_note_without_headings_is_pointed_at_by_file_and_line(shelf: Shelf) -> None:
    (hit,) = shelf.answer("search", "tapirs")["results"]
    assert (hit["toc"], hit["matches"][0]["toc_path"], hit["matches"][0]["line"]) == ([], [], 1)
    assert shelf("section", hit["pid"], "[]").stdout == NOTES["flat.md"]
    assert "has no headings" in said(shelf("section", hit["pid"], "x"))


def test_marks_are_not_in_a_snippet(shelf: Shelf) -> None:
    (hit,) = shelf.answer("search", "ibex")["results"]
    snippet = hit["matches"][0]["snippet"]
    assert "the ibex of the kinds is rare" in snippet
    assert not any(mark in snippet for mark in ("[!", "![[", "[[", "|300", "^id1", "==", ">"))


HOSTILE = {
    "quotes.md": ">" * 5000 + " deep",
    "lists.md": "\n".join("  " * at + "- deep" for at in range(300)),
    "numbers.md": "1. " * 1000 + "deep",
    "brackets.md": "[" * 20_000 + " deep",
    "stars.md": "*a " * 5000 + "deep",
    "line.md": "deep " + "word " * 60_000,
    "links.md": "[a](" * 5000 + "deep",
    "ticks.md": "".join("`" * at for at in range(300)) + " deep",
    "tags.md": "<a" * 20_000 + " deep",
    "heading.md": "# " + "[x](" * 2000 + "deep",
    "table.md": "|" * 20_000 + "\n" + "|-" * 20_000 + "|\ndeep",
    "references.md": "\n".join(f"[{at}]: <" for at in range(5000)) + "\ndeep",
    "levels.md": "\n".join("#" * (at % 6 + 1) + f" h{at}" for at in range(3000)) + "\ndeep",
    "underlines.md": "=\n" * 10_000 + "deep\n===",
    "comments.md": "<!--" * 20_000 + "deep",
}


def test_notes_that_break_parsers_are_indexed_and_read(tmp_path: Path) -> None:
    shelf = Shelf.of(tmp_path, HOSTILE)
    found = shelf.answer("search", "deep", "-n", "99")["results"]
    assert sorted(hit["path"] for hit in found) == sorted(HOSTILE)
    for hit in found:
        path = json.dumps(hit["matches"][0]["toc_path"])
        assert shelf("section", "--", hit["pid"], path).exit_code == 0


def test_what_may_have_lost_its_headings_is_named(qmd: Qmd, folder: Path) -> None:
    write(
        folder,
        {
            "open.md": NOTES["open.md"],
            "tildes.md": "text\n\n~~~~\n# a\n~~~\n",
            "closed.md": NOTES["fence.md"],
            "code.md": "# A\n\n```\nls | wc\n",  # nothing below it looks like a heading
            "quoted.md": "> ```\n> # a\n\ntext\n",  # the quote ends it
            "longer.md": "```\n# a\n`````  \n",
        },
    )
    qmd("index", "--no-embed", folder)
    never = "is never closed: headings below it are text"
    for command in ("doctor", "status"):
        shown = qmd(command).stdout
        assert f"notes/open.md: the code that begins in line 5 {never}" in shown
        assert f"notes/tildes.md: the code that begins in line 3 {never}" in shown
        assert shown.count(never) == 2
