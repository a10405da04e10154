"""The table of faults is whole, and the tests it names are there."""

import ast
import functools
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

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
NAMED = [pytest.param(test, id=f"{row.number} {test}") for row in ROWS for test in row.tests]


def test_every_number_has_one_row() -> None:
    chapters = re.findall(r"^(\d+): (.+)$", TABLE, re.MULTILINE)
    numbers = [f"{chapter}.{number}" for chapter, all_ in chapters for number in all_.split()]
    assert [row.number for row in ROWS] == numbers
    assert len(set(numbers)) == 166


@pytest.mark.parametrize("row", [pytest.param(row, id=row.number) for row in ROWS])
def test_every_row_says_where_it_is_tested_or_why_not(row: Row) -> None:
    assert row.kind
    assert row.tests or row.instead
    assert len(set(row.tests)) == len(row.tests)


@pytest.mark.parametrize("test", NAMED)
def test_every_named_test_is_there(test: str) -> None:
    file, _, rest = test.partition("::")
    name, _, case = rest.removesuffix("]").partition("[")
    ids = _tests(TESTS / file)[name]
    assert not case or case in ids


def test_a_test_that_is_not_there_is_missed() -> None:
    found = _tests(Path(__file__))
    assert "test_every_number_has_one_row" in found
    assert "test_of_old" not in found
    assert "a case of old" not in found["test_every_number_has_one_row"]


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
