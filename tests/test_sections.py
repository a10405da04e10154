import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from qmd_py import indexing, markdown, passages, registry, sections
from qmd_py.config import Settings
from qmd_py.errors import Ambiguous, FileUnreadable, NotFound
from qmd_py.records.answers import Scope
from qmd_py.records.notes import SectionText
from qmd_py.store.writer import Writer

LIMIT = 1_000_000  # bytes

NOTE = """\
---
title: Tools
---
Opening words.

# 🚀 1. Installation

Get it.

## Linux

apt

## Windows

choco

# Usage

## Linux

run

## [Some](http://x) `code` **b** [[w|alias]] the #1 thing ^id

styled

# Topic

first

# Topic

second

# 2026-03

march

# C#

sharp
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Writer]:
    with Writer.open(tmp_path / "index.sqlite") as opened:
        yield opened


@pytest.fixture
def section(store: Writer, folder: Path) -> Callable[..., SectionText]:
    """Print a section of `a.md`, which holds NOTE."""
    (folder / "a.md").write_text(NOTE)
    index(store, folder)
    return lambda *path: sections.section(store, "a.md", path, LIMIT)


def index(store: Writer, folder: Path) -> None:
    indexing.update(store, registry.collection_for(store, folder), Settings())


LINUX = ("🚀 1. Installation", "Linux")
STYLED = ("Usage", "Some code b alias the #1 thing")


@pytest.mark.parametrize(
    ("path", "found"),
    [
        pytest.param(LINUX, LINUX, id="the very path"),
        pytest.param(['["🚀 1. Installation", "Linux"]'], LINUX, id="one JSON array"),
        pytest.param(["🚀 1. Installation > Linux"], LINUX, id="joined by angle brackets"),
        pytest.param(["#linux"], LINUX, id="an anchor"),
        pytest.param(["#linux-1"], ("Usage", "Linux"), id="the anchor of a second heading"),
        pytest.param(
            ["insTALLation", "LINUX"], LINUX, id="in other case, without emoji and number"
        ),
        pytest.param(["1 Installation", "Linux"], LINUX, id="with the number, without its dot"),
        pytest.param(["  🚀  1.  installation ", "linux"], LINUX, id="with other spaces"),
        pytest.param(
            ["Tools > 🚀 1. Installation > Linux"], LINUX, id="behind the title, as hits are shown"
        ),
        pytest.param(["#insTALL > linux"], LINUX, id="beginnings of words, behind a hash"),
        pytest.param(["#windows"], (LINUX[0], "Windows"), id="a heading by itself"),
        pytest.param(STYLED, STYLED, id="a heading's plain text"),
        pytest.param(
            ["Usage", "[Some](http://x) `code` **b** [[w|alias]] the #1 thing ^id"],
            STYLED,
            id="a heading's source",
        ),
        pytest.param(["Topic"], ("Topic",), id="the first of two headings of one text"),
        pytest.param(["Topic (2)"], ("Topic (2)",), id="the second of two"),
        pytest.param(["C#"], ("C#",), id="a sign that is part of the name"),
        pytest.param(["Tools"], ("Tools",), id="the text before the first heading"),
        pytest.param(["2026-03"], ("2026-03",), id="a date"),
    ],
)
def test_a_pointer_finds_its_section(
    section: Callable[..., SectionText], path: list[str], found: tuple[str, ...]
) -> None:
    assert section(*path).toc_path == found


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        pytest.param(
            ["Usage", "Linx"],
            NotFound,
            'no heading ["Usage", "Linx"] in the note now: the nearest are ["Usage", "Linux"]',
            id="a heading that was renamed",
        ),
        pytest.param(["2025-03"], NotFound, 'no heading ["2025-03"]', id="another date"),
        pytest.param(["2. Installation"], NotFound, "no heading", id="another number"),
        pytest.param(
            ["Linux"],
            NotFound,
            'nearest are ["🚀 1. Installation", "Linux"] (1:10), ["Usage", "Linux"] (1:20)',
            id="a child alone, in the form that programs use",
        ),
        pytest.param(["#Linux > "], NotFound, "no heading", id="an open end"),
        pytest.param(
            ["#l"],
            Ambiguous,
            'several headings fit ["l"]: ["🚀 1. Installation", "Linux"] (1:10), ["Usage", "Linux"] (1:20)',
            id="a beginning of two",
        ),
        pytest.param(
            ["#top"], Ambiguous, '["Topic"] (1:28), ["Topic (2)"] (1:32)', id="two of one text"
        ),
        pytest.param(['["Usage", 3]'], NotFound, "no heading", id="JSON of other things"),
    ],
)
def test_a_pointer_that_fits_none_or_several(
    section: Callable[..., SectionText], path: list[str], error: type[NotFound], message: str
) -> None:
    with pytest.raises(NotFound) as raised:
        section(*path)
    assert type(raised.value) is error
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("path", "first", "last", "text"),
    [
        pytest.param([LINUX[0]], 6, 16, NOTE.splitlines()[5:16], id="with its subsections"),
        pytest.param(LINUX, 10, 12, ["## Linux", "", "apt"], id="up to the next of its level"),
        pytest.param(["Tools"], 4, 4, ["Opening words."], id="just the opening text"),
        pytest.param(["C#"], 40, 42, ["# C#", "", "sharp"], id="up to the end"),
    ],
)
def test_a_section_is_its_heading_its_body_and_its_subsections(
    section: Callable[..., SectionText], path: list[str], first: int, last: int, text: list[str]
) -> None:
    found = section(*path)
    assert (found.line, found.last_line) == (first, last)
    assert found.text.rstrip("\n").split("\n") == text


@pytest.mark.parametrize("path", [[], [""], ["[]"], ["[ ]"]])
def test_no_heading_is_the_whole_note(section: Callable[..., SectionText], path: list[str]) -> None:
    found = section(*path)
    assert found.text == NOTE.rstrip("\n")
    assert (found.toc_path, found.line, found.last_line) == ((), 1, 42)
    assert found.section_tokens == found.note_tokens


def test_a_heading_of_brackets_is_a_heading(store: Writer, folder: Path) -> None:
    (folder / "a.md").write_text("# Title\n\n## []\n\nempty list\n\n## More\n\ntext\n")
    index(store, folder)
    for path in (["[]"], ['["[]"]']):
        found = sections.section(store, "a.md", path, 1000)
        assert (found.toc_path, found.text) == (("[]",), "## []\n\nempty list")


def test_a_section_is_smaller_than_its_note(section: Callable[..., SectionText]) -> None:
    found = section("Usage", "Linux")
    assert 0 < found.section_tokens < found.note_tokens / 10


def test_a_note_without_headings_is_read_whole(store: Writer, folder: Path) -> None:
    (folder / "a.md").write_text("only text")
    index(store, folder)
    assert sections.section(store, "a.md", ["[]"], LIMIT).text == "only text"
    with pytest.raises(NotFound, match="the note has no headings: read it whole"):
        sections.section(store, "a.md", ["Heading"], LIMIT)


def test_edits_of_the_body_break_no_pointer(
    section: Callable[..., SectionText], folder: Path
) -> None:
    (folder / "a.md").write_text(
        f"a new first line\n\n{NOTE.split('---')[2]}".replace("apt", "dnf")
    )
    found = section(*LINUX)
    assert found.text == "## Linux\n\ndnf"
    assert found.line == 10


def test_a_renamed_heading_is_told_with_the_nearest(
    section: Callable[..., SectionText], store: Writer, folder: Path
) -> None:
    (folder / "a.md").write_text(NOTE.replace("# Usage", "# Usages"))
    with pytest.raises(NotFound, match=r'no heading \["Usage"\].*the nearest are \["Usages"'):
        section("Usage")
    index(store, folder)
    assert section("Usages").toc_path == ("Usages",)


def test_a_vanished_note_says_so(section: Callable[..., SectionText], folder: Path) -> None:
    (folder / "a.md").unlink()
    with pytest.raises(NotFound) as raised:
        section("Usage")
    assert str(raised.value) == (
        f"{folder}/a.md is gone since it was indexed: run 'qmd index' and search again"
    )


def test_a_note_that_is_a_folder_now_cannot_be_read(
    section: Callable[..., SectionText], folder: Path
) -> None:
    (folder / "a.md").unlink()
    (folder / "a.md").mkdir()
    with pytest.raises(FileUnreadable, match=r"cannot read .*a\.md: Is a directory"):
        section("Usage")


@pytest.mark.parametrize(
    "reference",
    ["{pid}", "#{pid}", "sub/b.md", "notes/sub/b.md", "qmd://notes/sub/b.md", "{folder}/sub/b.md"],
)
def test_every_way_to_name_a_note(store: Writer, folder: Path, reference: str) -> None:
    (folder / "sub").mkdir()
    (folder / "sub/b.md").write_text("text")
    index(store, folder)
    pid = store.notes_of(Scope())[0].pid
    assert sections.find_note(store, reference.format(pid=pid, folder=folder)).pid == pid


def test_a_note_named_by_its_file_from_here(
    store: Writer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "sub").mkdir()
    (folder / "b.md").write_text("text")
    index(store, folder)
    monkeypatch.chdir(folder / "sub")
    assert sections.find_note(store, "../b.md").path == "b.md"


@pytest.mark.parametrize(
    ("reference", "error", "message"),
    [
        pytest.param("99", NotFound, "no note with pid 99: search again", id="an unknown pid"),
        pytest.param("no.md", NotFound, "no note at 'no.md': see 'qmd ls'", id="an unknown path"),
        pytest.param("", NotFound, "no note at ''", id="nothing"),
        pytest.param("../../etc/passwd", NotFound, "no note at", id="a path outside"),
        pytest.param(
            "a.md",
            Ambiguous,
            "'a.md' could be notes/a.md (pid 1), other/a.md (pid 2): name one of them",
            id="a path in two collections",
        ),
    ],
)
def test_a_note_that_is_named_wrongly(
    store: Writer, folder: Path, tmp_path: Path, reference: str, error: type, message: str
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for root in (folder, other):
        (root / "a.md").write_text("x")
        index(store, root)
    with pytest.raises(NotFound) as raised:
        sections.find_note(store, reference)
    assert type(raised.value) is error
    assert message in str(raised.value)


def test_every_toc_entry_of_the_vault_resolves_to_exactly_its_section(
    store: Writer, vault: Path
) -> None:
    index(store, vault)
    notes = store.notes_of(Scope())
    entries = [(note, section) for note in notes for section in store.toc(note.pid)]
    assert len(notes) == 15
    assert len(entries) > 50
    for note, entry in entries:
        paths = [section.path for section in store.toc(note.pid)]
        assert paths.count(entry.path) == 1
        lines = (vault / note.path).read_text().splitlines()
        for path in (entry.path, (json.dumps(entry.path),)):
            found = sections.section(store, str(note.pid), path, LIMIT)
            assert found.toc_path == entry.path
            assert found.text.split("\n") == lines[entry.line - 1 : entry.last_line]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param("", 0, id="nothing"),
        pytest.param("abcd" * 10, 10, id="four Latin characters"),
        pytest.param("слово" * 4, 8, id="two and a half Cyrillic ones"),
        pytest.param("日本語", 3, id="one in a script without spaces"),
    ],
)
def test_tokens_are_estimated(text: str, count: int) -> None:
    assert passages.tokens(text) == count


def test_headings_in_nfd_resolve_by_a_path_in_nfc() -> None:
    document = markdown.parse("# Cafe\u0301\n\ntext", "a")
    assert sections.resolve(document, ["Café"]).start == 0
