"""`qmd get` with many names."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from typer.testing import Result

Qmd = Callable[..., "Result"]

A = "# Apples\n\nRed.\n\n## Storing\n\nCool.\n"
B = "Bread.\n"


@pytest.fixture
def notes(qmd: Qmd, folder: Path) -> Path:
    (folder / "sub").mkdir()
    (folder / "a.md").write_text(A)
    (folder / "sub/b.md").write_text(B)
    (folder / "sub/long.md").write_text("long " * 100 + "\n")
    assert qmd("index", "--no-embed", folder).exit_code == 0
    return folder


BOTH = f"==> notes/a.md <==\n{A}\n==> notes/sub/b.md <==\n{B}"


def test_several_notes_stand_under_their_names(qmd: Qmd, notes: Path) -> None:
    assert qmd("get", "a.md", "sub/b.md").stdout == BOTH


def test_the_same_is_printed_once_and_its_parts_apart(qmd: Qmd, notes: Path) -> None:
    assert qmd("get", "a.md", "1", "notes/a.md").stdout == A
    parts = qmd("get", "a.md:1:1", "a.md:3:1").stdout
    assert parts == "==> notes/a.md <==\n# Apples\n\n==> notes/a.md:3 <==\nRed.\n"


def test_lines_are_those_of_sed(qmd: Qmd, folder: Path) -> None:
    (folder / "cr.md").write_bytes(b"line one\rline two\rline three\nlast of sed\n")
    qmd("index", "--no-embed", folder)
    assert qmd("get", "cr.md:1:1").stdout == "line one\nline two\nline three\n"
    assert qmd("get", "cr.md:2").stdout == "last of sed\n"
    assert "the note has 2 lines" in qmd("get", "cr.md:3").stderr


def test_a_header_names_the_part_it_stands_over(qmd: Qmd, notes: Path) -> None:
    shown = qmd("get", "sub/b.md", "a.md:5").stdout
    name = shown.splitlines()[-4].removeprefix("==> ").removesuffix(" <==")
    assert qmd("get", name).stdout == "## Storing\n\nCool.\n"


@pytest.mark.parametrize("stdin", ["a.md\nsub/b.md\n", "a.md\r\n\r\nsub/b.md", "a.md\0sub/b.md\0"])
def test_names_come_from_stdin(qmd: Qmd, notes: Path, stdin: str) -> None:
    assert qmd("get", "-", stdin=stdin).stdout == BOTH


def test_what_a_search_lists_can_be_read_on(qmd: Qmd, notes: Path) -> None:
    for form in ("-l", "-0"):
        listed = qmd("search", "cool", "bread", form).stdout
        assert qmd("get", "-", stdin=listed).stdout.count("==> ") == 2


def test_no_names_on_stdin_is_nothing_found(qmd: Qmd, notes: Path) -> None:
    result = qmd("get", "-", stdin="")
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", "")


def test_what_is_too_long_is_left_out_by_name(qmd: Qmd, notes: Path) -> None:
    result = qmd("get", "sub/*", "--max-bytes", len(B))
    assert (result.exit_code, result.stdout) == (0, B)
    assert result.stderr == (
        "qmd: notes/sub/long.md left out: 500 bytes; see 'qmd toc 3' for its sections\n"
    )
    alone = qmd("get", "3", "--max-bytes", "499")
    assert (alone.exit_code, alone.stdout) == (1, "")
    assert qmd("get", "3", "--max-bytes", "500").exit_code == 0


def test_one_wrong_name_costs_only_itself(qmd: Qmd, notes: Path) -> None:
    result = qmd("get", "nope.md", "sub/b.md", "a.md:99", "no*")
    assert (result.exit_code, result.stdout) == (2, B)
    assert result.stderr.splitlines() == [
        "qmd: no note at 'nope.md': see 'qmd ls' for the paths",
        "qmd: notes/a.md: line 99 is past the end: the note has 7 lines",
        "qmd: no note fits 'no*': see 'qmd ls' for the paths",
    ]


def test_a_glob_passes_over_what_cannot_be_read(qmd: Qmd, notes: Path) -> None:
    (notes / "sub/long.md").unlink()
    result = qmd("get", "sub/*")
    assert (result.exit_code, result.stdout) == (2, B)
    assert "is gone since it was indexed" in result.stderr


def test_json_is_one_array_of_what_was_found(qmd: Qmd, notes: Path) -> None:
    first, second = json.loads(qmd("get", "a.md#storing", "sub/b.md", "--json").stdout)
    assert (first["path"], first["toc_path"], first["line"]) == ("a.md", ["Storing"], 5)
    assert (second["text"], second["pid"]) == ("Bread.", 2)
    assert json.loads(qmd("get", "-", "--json", stdin="").stdout) == []


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param([], "missing argument", id="no name"),
        pytest.param(["a.md", "--max-bytes", "0"], "'--max-bytes'", id="nothing allowed"),
    ],
)
def test_wrong_input(qmd: Qmd, notes: Path, args: list[str], message: str) -> None:
    result = qmd("get", *args)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
