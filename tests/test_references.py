"""Whatever qmd prints to name a note is understood by every command that takes one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from qmd_py.errors import Ambiguous, NotFound, QmdError, UsageError
from qmd_py.references import find, matching
from qmd_py.store.reader import Reader

if TYPE_CHECKING:
    from typer.testing import Result

Qmd = Callable[..., "Result"]

ODD = "50% #1? ünï:12.md"
TEXT = "# First\n\nOne.\n\n# Zweiter Teil\n\nTwo.\n"


@pytest.fixture
def store(qmd: Qmd, folder: Path, isolated: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    (folder / "sub").mkdir()
    for name in (ODD, "plain.md", "sub/plain.md", "sub/a[1].md"):
        (folder / name).write_text(TEXT)
    assert qmd("index", "--no-embed", folder).exit_code == 0
    monkeypatch.chdir(folder.parent)
    return Reader.open(isolated / "index.sqlite")


def pid_of(store: Reader, path: str) -> int:
    (note,) = store.notes_at(path)
    return note.pid


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        pytest.param("sub/plan.md", "notes/sub/plain.md", id="a path"),
        pytest.param("notes/plane.md:12:3", "notes/plain.md", id="a path with lines"),
        pytest.param("PLAINE.MD#second", "notes/plain.md", id="a name with an anchor, in capitals"),
        pytest.param("Bakin bread", "notes/b.md", id="a title"),
        pytest.param("Baking Bread", "notes/b.md", id="a title, which is no name"),
        pytest.param("qmd://notes/sub/plane.md", "notes/sub/plain.md", id="a URI"),
        pytest.param("something else", "", id="nothing near"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_an_unknown_name_tells_the_nearest_note(
    qmd: Qmd, folder: Path, isolated: Path, typed: str, meant: str
) -> None:
    (folder / "sub").mkdir()
    for name in ("plain.md", "sub/plain.md"):
        (folder / name).write_text(TEXT)
    (folder / "b.md").write_text("---\ntitle: Baking Bread\n---\n")
    qmd("index", "--no-embed", folder)
    with Reader.open(isolated / "index.sqlite") as store, pytest.raises(NotFound) as raised:
        find(store, typed)
    hint = f" (did you mean '{meant}'?)" if meant else ""
    assert f"'{hint}: see 'qmd ls'" in str(raised.value)


@pytest.mark.parametrize(
    ("reference", "path", "place"),
    [
        pytest.param("notes/" + ODD, ODD, (0, 0, ""), id="a path full of odd characters"),
        pytest.param(ODD + ":5", ODD, (5, 0, ""), id="a colon and digits in the name and behind"),
        pytest.param("plain.md:5:2", "plain.md", (5, 2, ""), id="lines of a path"),
        pytest.param("notes/sub/plain.md:5", "sub/plain.md", (5, 0, ""), id="as search prints it"),
        pytest.param("{folder}/plain.md:3", "plain.md", (3, 0, ""), id="an absolute file, a line"),
        pytest.param("plain.md#first", "plain.md", (0, 0, "first"), id="an anchor behind a path"),
        pytest.param("qmd://notes/sub/plain.md", "sub/plain.md", (0, 0, ""), id="a qmd URI"),
        pytest.param("qmd://notes/{quoted}", ODD, (0, 0, ""), id="a quoted qmd URI"),
        pytest.param("qmd://notes/plain.md:5:1", "plain.md", (5, 1, ""), id="lines of a qmd URI"),
        pytest.param("qmd://notes/plain.md#first", "plain.md", (0, 0, "first"), id="its anchor"),
        pytest.param("file://{folder}/{quoted}", ODD, (0, 0, ""), id="a quoted file URI"),
        pytest.param(
            "file://localhost{folder}/plain.md#zweiter-teil",
            "plain.md", (0, 0, "zweiter-teil"), id="a file URI with host and anchor",
        ),
        pytest.param("notes/{pid}/first", "plain.md", (0, 0, "first"), id="a record id"),
        pytest.param("notes/{pid}/", "plain.md", (0, 0, ""), id="a record id without a heading"),
        pytest.param("#{pid}:2", "plain.md", (2, 0, ""), id="lines of a pid"),
        pytest.param("{pid}#first", "plain.md", (0, 0, "first"), id="an anchor of a pid"),
    ],
)  # fmt: skip
def test_a_reference_names_note_and_place(
    store: Reader, folder: Path, reference: str, path: str, place: tuple[int, int, str]
) -> None:
    names = {"folder": folder, "quoted": quote(ODD), "pid": pid_of(store, "notes/plain.md")}
    pointer = find(store, reference.format(**names))
    assert pointer.note.path == path
    assert (pointer.line, pointer.count, pointer.anchor) == place


@pytest.mark.parametrize(
    ("reference", "error"),
    [
        pytest.param("other/1/first", NotFound, id="a record id of another collection"),
        pytest.param("notes/99/first", NotFound, id="a record id of no note"),
        pytest.param("file:///etc/passwd", NotFound, id="a file outside"),
        pytest.param("file://server/plain.md", NotFound, id="a file on another machine"),
        pytest.param("qmd://", NotFound, id="a bare scheme"),
        pytest.param("#", NotFound, id="a bare mark"),
        pytest.param("plain.md:0", UsageError, id="line nought"),
        pytest.param("plain.md:3:0", UsageError, id="no lines"),
    ],
)
def test_a_reference_to_nothing(store: Reader, reference: str, error: type[QmdError]) -> None:
    with pytest.raises(error) as raised:
        find(store, reference)
    assert type(raised.value) is error


def test_a_file_from_here_and_a_path_elsewhere_are_not_mixed_up(
    store: Reader, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder / "sub")
    with pytest.raises(Ambiguous, match=r"could be notes/plain\.md .*notes/sub/plain\.md"):
        find(store, "plain.md")
    assert find(store, "a[1].md").note.path == "sub/a[1].md"


@pytest.mark.parametrize(
    ("glob", "paths"),
    [
        pytest.param("*.md", [ODD, "plain.md", "sub/a[1].md", "sub/plain.md"], id="all depths"),
        pytest.param("sub/*", ["sub/a[1].md", "sub/plain.md"], id="a folder"),
        pytest.param("notes/sub/*", ["sub/a[1].md", "sub/plain.md"], id="with its collection"),
        pytest.param("qmd://notes/sub/p*", ["sub/plain.md"], id="as a URI"),
        pytest.param("sub/a[1].m?", ["sub/a[1].md"], id="brackets are no class"),
        pytest.param(ODD, [ODD], id="a name with a question mark is itself"),
    ],
)
def test_a_glob_names_several(store: Reader, glob: str, paths: list[str]) -> None:
    assert [pointer.note.path for pointer in matching(store, glob)] == paths


@pytest.mark.parametrize("glob", ["nope*", "other/*", "*/", "?"])
def test_a_glob_that_fits_nothing_is_told(store: Reader, glob: str) -> None:
    with pytest.raises(NotFound, match="no note fits"):
        matching(store, glob)


def test_every_name_in_every_output_is_taken_by_every_command(qmd: Qmd, store: Reader) -> None:
    (hit,) = json.loads(qmd("search", "zweiter", "--path", "sub/plain.md", "--json").stdout)[
        "results"
    ]
    row = qmd("search", "zweiter", "--path", "sub/plain.md", "--csv").stdout.splitlines()[1]
    printed = qmd("search", "zweiter", "--path", "sub/plain.md").stdout.split("  ")[0]
    source, file = hit["source"], row.split(",")[3]
    assert source["uri"].endswith("#zweiter-teil")
    whole = [hit["pid"], f"#{hit['pid']}", f"{hit['collection']}/{hit['path']}", file]
    for reference in [*whole, source["record_id"], source["uri"], printed]:
        assert qmd("section", reference, "First").stdout == "# First\n\nOne.\n"
        assert qmd("toc", reference).stdout == "1  First\n5  Zweiter Teil\n"
        assert qmd("get", reference).exit_code == 0
    for reference in (source["record_id"], source["uri"]):
        assert qmd("get", reference).stdout == "# Zweiter Teil\n\nTwo.\n"
        assert qmd("section", reference).stdout == "# Zweiter Teil\n\nTwo.\n"
    assert printed.endswith("sub/plain.md:7")
    assert qmd("section", printed).stdout == "# Zweiter Teil\n\nTwo.\n"
    for reference in whole:
        assert qmd("get", reference).stdout == TEXT
