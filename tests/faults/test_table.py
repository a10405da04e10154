"""The table of faults is whole, and the tests it names are there."""

import ast
import functools
import re
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parents[1]
TABLE = Path(__file__).with_name("table.md").read_text()


@dataclass(frozen=True, slots=True)
class Row:
    """A kind of fault."""

    number: str
    kind: str
    tests: tuple[str, ...]
    """Each as `file::function[case]`, the case left out where all are meant."""
    instead: str
    """Why there is no test, or what is not tested by those that are named."""


def rows() -> list[Row]:
    """The rows of all chapters in order."""
    found, file = [], ""
    for line in TABLE.splitlines():
        if chapter := re.match(r"## \d+\. .*: `(.+)`$", line):
            file = chapter[1]
        elif re.match(r"\| \d", line):
            number, kind, tests, instead = (cell.strip() for cell in line.strip("| ").split(" | "))
            named = re.findall(r"`(.+?)`", tests)
            whole = tuple(
                test if "::" in test.split("[")[0] else f"{file}::{test}" for test in named
            )
            found.append(Row(number, kind, whole, instead.strip("-")))
    return found


ROWS = rows()


def test_every_number_has_one_row() -> None:
    chapters = re.findall(r"^(\d+): (.+)$", TABLE, re.MULTILINE)
    numbers = [f"{chapter}.{number}" for chapter, all_ in chapters for number in all_.split()]
    assert [row.number for row in ROWS] == numbers
    ours = [number for number in numbers if number.startswith("12.")]
    assert len(set(numbers)) == 166 + len(ours)


def test_every_row_says_where_it_is_tested_or_why_not() -> None:
    assert [row.number for row in ROWS if not row.kind or not (row.tests or row.instead)] == []
    assert [row.number for row in ROWS if len(set(row.tests)) < len(row.tests)] == []


def test_every_named_test_is_there() -> None:
    named = [(row.number, test) for row in ROWS for test in row.tests]
    assert [(number, test) for number, test in named if not _is_there(test)] == []


def test_every_test_of_a_chapter_has_a_row() -> None:
    named = {test.partition("[")[0] for row in ROWS for test in row.tests}
    chapters = re.findall(r"^## \d+\. .*: `(.+)`$", TABLE, re.MULTILINE)
    ours = {f"{file}::{name}" for file in chapters for name in _tests(TESTS / file)}
    assert ours - named == set()


def test_a_test_that_is_not_there_is_missed() -> None:
    assert _is_there("test_markdown.py::test_title")
    assert _is_there("test_markdown.py::test_title[an empty note has the file's name]")
    assert not _is_there("test_markdown.py::test_title[a case of old]")
    assert not _is_there("test_markdown.py::test_of_old")
    assert not _is_there("test_of_old.py::test_title")


def _is_there(test: str) -> bool:
    file, _, rest = test.partition("::")
    name, _, case = rest.removesuffix("]").partition("[")
    if not (TESTS / file).is_file() or name not in _tests(TESTS / file):
        return False
    return not case or case in _tests(TESTS / file)[name]


@functools.cache
def _tests(file: Path) -> dict[str, frozenset[str]]:
    """Every test of a file, `Class::test` in classes, with the texts that may be ids of its cases."""
    found: dict[str, frozenset[str]] = {}
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.ClassDef):
            inner = [member for member in node.body if isinstance(member, ast.FunctionDef)]
            found |= {f"{node.name}::{member.name}": _ids(member) for member in inner}
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = _ids(node)
    return {name: ids for name, ids in found.items() if "test_" in name}


def _ids(function: ast.FunctionDef) -> frozenset[str]:
    nodes = (node for mark in function.decorator_list for node in ast.walk(mark))
    return frozenset(
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
