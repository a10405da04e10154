import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from typer.testing import Result

Qmd = Callable[..., "Result"]


@pytest.fixture
def vault_index(qmd: Qmd, vault: Path) -> Path:
    assert qmd("index", "--no-embed", vault).exit_code == 0
    return vault


def contexts(qmd: Qmd, question: str) -> list[str]:
    found: list[str] = json.loads(qmd("search", question, "-n", 1, "--json").stdout)["results"][0][
        "context"
    ]
    return found


def test_a_hit_comes_with_all_contexts_above_it_the_outermost_first(
    qmd: Qmd, vault_index: Path
) -> None:
    assert contexts(qmd, "закваска хлеб") == []
    for place, text in (
        ("vault/ru/Хлеб на закваске.md", "Проверено"),
        ("vault", "My own  notes"),
        ("vault/ru/", "По-русски"),
        ("qmd://vault/en", "In English"),
    ):
        assert qmd("context", "add", place, text).exit_code == 0
    assert contexts(qmd, "закваска хлеб") == ["My own notes", "По-русски", "Проверено"]
    assert contexts(qmd, "борщ") == ["My own notes", "По-русски"]
    assert contexts(qmd, "goroutines worker pool") == ["My own notes", "In English"]
    assert qmd("search", "борщ", "-n", "1").stdout.splitlines()[2:4] == [
        "about My own notes",
        "about По-русски",
    ]
    assert "По-русски" in qmd("search", "борщ", "--md").stdout


def test_contexts_are_listed_replaced_and_removed(qmd: Qmd, vault_index: Path) -> None:
    assert qmd("context", "list").exit_code == 1
    assert qmd("context", "add", "vault", "old").stderr == "qmd: added the context of 'vault'\n"
    assert qmd("context", "add", "vault", "new").stderr == "qmd: replaced the context of 'vault'\n"
    qmd("context", "add", "vault/ru", "in Russian")
    assert qmd("context", "list").stdout == "vault     new\nvault/ru  in Russian\n"
    qmd("collection", "rename", "vault", "mine")
    assert json.loads(qmd("context", "list", "--json").stdout) == [
        {"collection": "mine", "path": "", "text": "new"},
        {"collection": "mine", "path": "ru", "text": "in Russian"},
    ]
    assert qmd("context", "remove", "mine/ru").exit_code == 0
    assert qmd("context", "list").stdout == "mine  new\n"
    qmd("collection", "remove", "mine", "--force")
    assert qmd("context", "list").exit_code == 1


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["add", "valt", "x"], "no collection 'valt' (did you mean 'vault'?)"),
        (["add", "nope", "x"], "no collection 'nope'"),
        (["add", "vault/nope", "x"], "no folder or note 'nope' in 'vault': see 'qmd ls'"),
        (["add", "vault/r", "x"], "'r' in 'vault' (did you mean 'vault/ru'?): see 'qmd ls'"),
        (["add", "vault/*", "x"], "no folder or note '*' in 'vault'"),
        (["add", "vault/../vault", "x"], "no folder or note '../vault' in 'vault'"),
        (["add", "vault", " "], "no text: say what"),
        (["add", "vault", "x" * 2001], "the text has 2001 characters"),
        (["add", "vault"], "missing argument 'TEXT'"),
        (["remove", "vault"], "no context for 'vault': see 'qmd context list'"),
        (["remove", "nope"], "no collection 'nope'"),
    ],
)
def test_wrong_input_is_told(qmd: Qmd, vault_index: Path, args: list[str], told: str) -> None:
    result = qmd("context", *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr


def test_without_an_index_none_is_made(qmd: Qmd, isolated: Path) -> None:
    for args in (("add", "x", "y"), ("list",), ("remove", "x")):
        assert "run 'qmd index DIR' first" in qmd("context", *args).stderr
    assert not (isolated / "index.sqlite").exists()
