import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from typer.testing import Result

Qmd = Callable[..., "Result"]


@pytest.fixture
def notes(qmd: Qmd, folder: Path) -> Path:
    for name in "abc":
        (folder / f"{name}.md").write_text(f"apples {'and more ' * ord(name)}")
    assert qmd("index", "--no-embed", folder).exit_code == 0
    return folder


@pytest.mark.parametrize("command", ["search", "query"])
def test_gone_notes_are_left_out_and_told_in_one_line(qmd: Qmd, notes: Path, command: str) -> None:
    (notes / "a.md").unlink()
    (notes / "b.md").write_text("apples, edited")
    result = qmd(command, "apples", "-n", "2", "--json")
    answer = json.loads(result.stdout)
    assert [hit["path"] for hit in answer["results"]] == ["b.md", "c.md"]
    assert [bool(hit["stale"]) for hit in answer["results"]] == [True, False]
    assert answer["gone"] == ["notes/a.md"]
    assert result.stderr == (
        "qmd: notes/b.md: the file has changed since it was indexed; "
        "notes/a.md: the file is gone, so it is left out: run 'qmd index'\n"
    )


def test_when_all_are_gone_nothing_is_found(qmd: Qmd, notes: Path) -> None:
    for name in "abc":
        (notes / f"{name}.md").unlink()
    result = qmd("search", "apples")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "qmd: notes/a.md: the file is gone, so it is left out (3 such notes): run 'qmd index'\n"
    )


def test_a_list_leaves_gone_notes_out_too(qmd: Qmd, notes: Path) -> None:
    (notes / "a.md").unlink()
    result = qmd("search", "-c", "notes", "-n", "2")
    assert len(result.stdout.splitlines()) == 2
    assert "notes/a.md: the file is gone" in result.stderr


@pytest.mark.parametrize("command", ["search", "query", "vsearch"])
def test_refresh_indexes_first(qmd: Qmd, notes: Path, command: str) -> None:
    (notes / "a.md").unlink()
    (notes / "d.md").write_text("fresh apricots")
    result = qmd(command, "apricots", "--refresh", "-n", "1", "--json")
    assert json.loads(result.stdout)["results"][0]["path"] == "d.md"
    assert "qmd: notes: 1 new, 1 removed, 2 unchanged\n" in result.stderr
    assert "notes:" not in qmd(command, "apricots", "--refresh", "-n", "1", "--json").stderr


def test_refresh_needs_an_index_and_makes_none(qmd: Qmd, isolated: Path) -> None:
    result = qmd("search", "x", "--refresh")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "run 'qmd index DIR' first" in result.stderr
    assert not (isolated / "index.sqlite").exists()


def test_refresh_of_no_collection_is_told(qmd: Qmd, notes: Path) -> None:
    assert "no collection 'nope'" in qmd("search", "x", "--refresh", "-c", "nope").stderr
