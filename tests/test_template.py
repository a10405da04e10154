"""`--format` and `--batch`: what scripts take from a search."""

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
    (folder / "a.md").write_text("Opening.\n\n# Storing\tapples\n\nKeep them\ncool\tand dry.\n")
    (folder / "b.md").write_text("Bread, and an apple.\n")
    assert qmd("index", "--no-embed", folder).exit_code == 0
    return folder


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        pytest.param("{path}:{snippet_line}", "a.md:6\n", id="a place"),
        pytest.param("{path}\\t{pid:03d}", "a.md\t001\n", id="a tab and a width"),
        pytest.param("{collection}/{path:>8}|", "notes/    a.md|\n", id="to the right"),
        pytest.param("{{{pid}}}", "{1}\n", id="braces themselves"),
        pytest.param("{snippet}", "cool and dry.\n", id="a text on one line"),
        pytest.param("{heading} < {title}", "Storing apples < a\n", id="heading and title"),
        pytest.param("{query}\\n{anchor}", "cool\nstoring-apples\n", id="two lines a hit"),
        pytest.param("{record_id}", "notes/1/storing-apples\n", id="an id"),
        pytest.param("{file}\\0", "{folder}/a.md\0", id="ended by NUL"),
        pytest.param("\\\\t", "\\t\n", id="a backslash itself"),
        pytest.param("", "\n", id="nothing"),
        pytest.param("no field", "no field\n", id="a text alone"),
    ],
)
def test_a_line_a_hit(qmd: Qmd, notes: Path, template: str, shown: str) -> None:
    result = qmd("search", "cool", "--format", template)
    assert result.stdout == (shown.format(folder=notes) if "{folder}" in shown else shown)


@pytest.mark.parametrize("command", ["search", "query"])
def test_every_hit_has_its_line_in_order(qmd: Qmd, notes: Path, command: str) -> None:
    found = json.loads(qmd(command, "apple", "--json").stdout)["results"]
    lines = qmd(command, "apple", "--format", "{pid} {score:.3f}").stdout
    assert lines == "".join(f"{hit['pid']} {hit['score']:.3f}\n" for hit in found)
    assert len(found) == 2


def test_nothing_found_gives_no_line(qmd: Qmd, notes: Path) -> None:
    result = qmd("search", "zzz", "--format", "{path}")
    assert (result.exit_code, result.stdout) == (1, "")


@pytest.mark.parametrize(
    ("template", "message"),
    [
        pytest.param("{nope}", "no field 'nope': there are pid, collection, path,", id="unknown"),
        pytest.param("{}", "no field ''", id="no name"),
        pytest.param("{0}", "no field '0'", id="a number"),
        pytest.param("{path.__class__}", "no field 'path.__class__'", id="an attribute"),
        pytest.param("{path[0]}", "no field 'path[0]'", id="an item"),
        pytest.param("{path!r}", "can only be formatted as", id="a conversion"),
        pytest.param("{path:{pid}}", "can only be formatted as", id="a field in a field"),
        pytest.param("{score:d}", "does not fit 'score'", id="a float as an integer"),
        pytest.param("{path:.2f}", "does not fit 'path'", id="a text as a number"),
        pytest.param("{pid:c}", "can only be formatted as", id="a number as a character"),
        pytest.param("{pid:999999999}", "cannot be wider than 1000", id="a width too large"),
        pytest.param("{score:.999999f}", "cannot be wider than 1000", id="a precision too large"),
        pytest.param("{score:" + "9" * 5000 + "}", "cannot be wider than 1000", id="long digits"),
        pytest.param("{path", "write a brace itself as {{ or }}", id="never closed"),
        pytest.param("path}", "write a brace itself as {{ or }}", id="never opened"),
    ],
)
def test_a_wrong_template_is_told_before_anything_is_searched(
    qmd: Qmd, template: str, message: str
) -> None:
    for command in ("search", "vsearch", "query"):
        result = qmd(command, "apple", "--format", template)
        assert (result.exit_code, result.stdout) == (2, "")
        assert message in result.stderr
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [("search",), ("query",), ("query", "--batch")])
def test_a_byte_order_mark_is_no_part_of_a_question(
    qmd: Qmd, notes: Path, command: tuple[str, ...]
) -> None:
    result = qmd(*command, "-", "--json", stdin="\ufeffcool\n")
    assert json.loads(result.stdout)["query"] == "cool"


def test_a_format_is_one_form_among_others(qmd: Qmd, notes: Path) -> None:
    result = qmd("search", "apple", "--format", "{path}", "--json")
    assert result.stderr == "qmd: --json and --format together: choose one\n"


def test_a_batch_gives_one_line_a_question(qmd: Qmd, notes: Path) -> None:
    questions = "cool\n\nlex: bread\n  zzz  \r\n"
    for words in ([], ["-"]):
        result = qmd("query", *words, "--batch", stdin=questions)
        cool, bread, none = map(json.loads, result.stdout.splitlines())
        assert (cool["query"], cool["results"][0]["path"]) == ("cool", "a.md")
        assert (bread["query"], bread["results"][0]["path"]) == ("bread", "b.md")
        assert (none["query"], none["results"]) == ("zzz", [])
        assert (result.exit_code, result.stderr) == (0, "")


def test_a_batch_answers_as_single_questions_are_answered(qmd: Qmd, vault: Path) -> None:
    assert qmd("index", "--no-embed", vault).exit_code == 0
    questions = ["limit concurrency Go", "хлеб", '{"searches": [{"type": "lex", "query": "loaf"}]}']
    batch = qmd("query", "--batch", "-n", "3", stdin="\n".join(questions)).stdout.splitlines()
    for question, line in zip(questions, batch, strict=True):
        alone = json.loads(qmd("query", "-n", "3", "--json", "-", stdin=question).stdout)
        assert json.loads(line) | {"retrieved_at": ""} == alone | {"retrieved_at": ""}


def test_a_wrong_question_costs_only_itself(qmd: Qmd, notes: Path) -> None:
    result = qmd("query", "--batch", stdin='-only\ncool\n{"searches": 3}\n')
    first, second, third = map(json.loads, result.stdout.splitlines())
    assert first == {
        "query": "-only",
        "error": result.stderr.split("qmd: -only: ")[1].split("\n")[0],
    }
    assert second["results"]
    assert third["error"] == '"searches" must be a JSON array'
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 2


def test_a_batch_in_lines_of_ones_own(qmd: Qmd, notes: Path) -> None:
    result = qmd("query", "--batch", "--format", "{query}: {path}", stdin="cool\nzzz\nbread\n")
    assert result.stdout == "cool: a.md\nbread: b.md\n"
    assert qmd("query", "--batch", "--format", "{path}", stdin="zzz\n").exit_code == 1


@pytest.mark.parametrize(
    ("args", "stdin", "message"),
    [
        pytest.param([], "", "no question on stdin", id="no questions"),
        pytest.param([], " \n\n", "no question on stdin", id="blank lines"),
        pytest.param(["words"], "x", "leave out the words", id="words too"),
        pytest.param(["--csv"], "x", "several questions and --csv together", id="another form"),
        pytest.param(["-0"], "x", "several questions and -0 together", id="files for xargs"),
        pytest.param(["-c", "nope"], "x", "no collection 'nope'", id="an unknown collection"),
    ],
)
def test_a_wrong_batch(qmd: Qmd, notes: Path, args: list[str], stdin: str, message: str) -> None:
    result = qmd("query", "--batch", *args, stdin=stdin)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


@pytest.mark.parametrize(
    ("stdin", "queries"),
    [
        pytest.param("cool\n\n  zzz\r\nbread", ["cool", "zzz", "bread"], id="lines"),
        pytest.param("\ufeffcool\nbread\n", ["cool", "bread"], id="behind a mark"),
        pytest.param("cool bread\n\n", ["cool bread"], id="one line"),
        pytest.param("query: cool\nlex: bread\n", ["cool"], id="a document"),
        pytest.param('{"query": "cool",\n"searches": [{"type": "lex", "query": "x"}]}', ["cool"],
                     id="a document in JSON"),
        pytest.param('{"query": "cool", "searches": []}\n{"query": "bread", "searches": []}\n',
                     ["cool", "bread"], id="documents, a line each"),
    ],
)  # fmt: skip
def test_lines_behind_a_dash_are_questions(
    qmd: Qmd, notes: Path, stdin: str, queries: list[str]
) -> None:
    result = qmd("query", "-", "--json", stdin=stdin)
    assert [json.loads(line)["query"] for line in result.stdout.splitlines()] == queries
    if len(queries) > 1:
        assert qmd("query", "-", stdin=stdin).stdout.startswith('{"query": ')
        assert "several questions and --csv" in qmd("query", "-", "--csv", stdin=stdin).stderr
