"""Measures and times as aligned tables."""

import statistics
from collections.abc import Mapping, Sequence, Set

from qmd_py.evaluation.judging import Judged, Row
from qmd_py.render import styled
from qmd_py.render.styled import Line

_COUNT = 5  # columns of the number of questions
_CELL = 22  # columns of a measure


def measures(rows: Sequence[Row], *, signed: bool, columns: int = 0) -> list[Line]:
    """Value and interval of every measure, a line a category.

    Args:
        rows: in the order of sets, categories, measures.
        signed: whether values are differences.
        columns: the room; measures that find none stand in a further block. 0 for any.
    """
    names = list(dict.fromkeys(row.measure for row in rows))
    wide = max(styled.width(_label(row.set, row.category)) for row in rows)
    fit = max(1, (columns - wide - _COUNT) // _CELL) if columns else len(names)
    blocks = [_block(rows, names[at : at + fit], wide, signed) for at in range(0, len(names), fit)]
    return [line for block in blocks for line in ([], *block)][1:]


def _block(rows: Sequence[Row], names: Sequence[str], wide: int, signed: bool) -> list[Line]:
    keys = list(dict.fromkeys((row.set, row.category) for row in rows))
    cells = {(row.set, row.category, row.measure): row for row in rows}
    lines: list[Line] = [
        [(" " * (wide + _COUNT), ""), ("".join(f"{name:>{_CELL}}" for name in names), "faint")]
    ]
    for set_, category in keys:
        found = [cells.get((set_, category, name)) for name in names]
        count = max((row.questions for row in found if row), default=0)
        line: Line = [
            (styled.filled(_label(set_, category), wide), "" if category else "title"),
            (f"{count:>{_COUNT}}", "faint"),
        ]
        for row in found:
            line += _cell(row, signed)
        lines.append(line)
    return lines


def times(judged: Mapping[str, Sequence[Judged]], cold: float) -> list[Line]:
    """Median and slowest time of a question in a running process, and of a whole new process."""
    taken = sorted(one.seconds for found in judged.values() for one in found)
    median = statistics.median(taken)
    return [
        [
            ("warm ", "faint"),
            (f"{median * 1000:.0f} ms a question (slowest {taken[-1] * 1000:.0f})", ""),
            ("   cold ", "faint"),
            (f"{cold:.2f} s a process", ""),
        ]
    ]


def probe(judged: Mapping[str, Sequence[Judged]], led: Set[tuple[str, str]]) -> list[Line]:
    """How often one note clearly led by words alone, and how often the first hit was right then."""
    all_ = [(name, one) for name, found in judged.items() for one in found]
    fired = [one for name, one in all_ if (name, one.id) in led]
    if not fired:
        return []
    right = sum(one.values["Success@1"] for one in fired)
    return [
        [
            ("probe ", "faint"),
            (f"fired on {len(fired)} of {len(all_)}, the first hit was right on {right:.0f}", ""),
        ]
    ]


def _label(set_: str, category: str) -> str:
    return f"  {category}" if category else set_


def _cell(row: Row | None, signed: bool) -> Line:
    if row is None:
        return [(" " * _CELL, "")]
    sign = "+" if signed else ""
    bounds = f" {row.low:{sign}.3f}…{row.high:{sign}.3f}"
    # a difference whose interval leaves out zero is more than luck
    clear = signed and (row.low > 0 or row.high < 0)
    return [
        (f"{row.value:{sign}.3f}".rjust(_CELL - len(bounds)), "marked" if clear else ""),
        (bounds, "faint"),
    ]
