"""A search over judged questions → measures, intervals, comparisons."""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from qmd_py import measures
from qmd_py.errors import UsageError
from qmd_py.evaluation.questions import Question, QuestionSet, normal, number
from qmd_py.records.answers import Hit

MEASURES: Mapping[str, Callable[[Sequence[str], measures.Gains], float]] = {
    "nDCG@5": lambda run, gains: measures.ndcg(run, gains, 5),
    "nDCG@10": lambda run, gains: measures.ndcg(run, gains, 10),
    "RR": measures.reciprocal_rank,
    "Success@1": lambda run, gains: measures.success(run, gains, 1),
    "Success@5": lambda run, gains: measures.success(run, gains, 5),
    "R@10": lambda run, gains: measures.recall(run, gains, 10),
}
SECTION = "section"
"""Name of the section accuracy among a question's values."""

DEPTH = 10
"""Notes asked for: the deepest cut-off of the measures."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What was found for a question, and what that is worth."""

    id: str
    category: str
    paths: tuple[str, ...]
    values: Mapping[str, float]
    """Measure → value; `section` only where a heading was judged."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a report."""

    set: str
    category: str
    """Empty for the whole set."""
    questions: int
    measure: str
    value: float
    low: float
    high: float
    """Ends of the 95 % interval."""


def evaluate(asked: QuestionSet, find: Callable[[str], Sequence[Hit]]) -> tuple[Judged, ...]:
    """Ask every question of a set in its own words and measure what comes back."""
    return evaluate_each(asked, lambda question: find(question.query))


def evaluate_each(
    asked: QuestionSet, find: Callable[[Question], Sequence[Hit]]
) -> tuple[Judged, ...]:
    """The same where more than its words goes with a question."""
    found = []
    for question in asked.questions:
        start = time.perf_counter()
        hits = find(question)
        found.append(judge(question, hits, time.perf_counter() - start))
    return tuple(found)


def judge(question: Question, hits: Sequence[Hit], seconds: float = 0.0) -> Judged:
    """Measure one ranking; a note counts once, at its best rank."""
    paths = tuple(dict.fromkeys(normal(hit.path) for hit in hits))
    values = {name: measure(paths, question.gains) for name, measure in MEASURES.items()}
    if question.section:
        values[SECTION] = _right_section(question, hits)
    return Judged(question.id, question.category, paths, values, seconds)


def report(sets: Mapping[str, Sequence[Judged]], *, categories: bool = True) -> list[Row]:
    """Means with intervals for each set and each of its categories."""
    return [
        _row(name, category, measure, values)
        for name, judged in sets.items()
        for category, group in _groups(judged, categories)
        for measure, values in _columns(group).items()
    ]


def compare(
    before: Mapping[str, Sequence[Judged]], after: Mapping[str, Sequence[Judged]]
) -> list[Row]:
    """Differences question by question, with paired intervals; of the questions both have.

    Raises:
        UsageError: they have no set in common.
    """
    rows = []
    for name in before:
        earlier = {one.id: one for one in before[name]}
        common = [one for one in after.get(name, ()) if one.id in earlier]
        for category, group in _groups(common, True):
            rows += [
                _row(name, category, measure, values)
                for measure in _columns(group)
                if (values := _differences(earlier, group, measure))
            ]
    if not rows:
        raise UsageError("the two files share no set of questions: compare runs over the same ones")
    return rows


def save(file: Path, sets: Mapping[str, Sequence[Judged]], about: Mapping[str, object]) -> None:
    """Write a run for later comparison.

    Raises:
        UsageError: it cannot be written.
    """
    saved = {**about, "sets": {name: [asdict(one) for one in got] for name, got in sets.items()}}
    text = json.dumps(saved, ensure_ascii=False, indent=1, allow_nan=False)
    try:
        file.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from error


def load(file: Path) -> dict[str, tuple[Judged, ...]]:
    """Read a saved run.

    Raises:
        UsageError: it cannot be read or is none.
    """
    try:
        sets = json.loads(file.read_text(encoding="utf-8"))["sets"]
        return {name: tuple(map(_loaded, judged)) for name, judged in sets.items()}
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{file} is not a run saved by 'qmd eval -o': {error!r}") from error


def _loaded(row: Mapping[str, Any]) -> Judged:
    return Judged(
        str(row["id"]),
        str(row["category"]),
        tuple(map(str, row["paths"])),
        {name: number(value) for name, value in row["values"].items()},
        number(row["seconds"]),
    )


def _right_section(question: Question, hits: Sequence[Hit]) -> float:
    """1 when the best place of the first answering note is in the judged section."""
    for hit in hits:
        if question.gains.get(normal(hit.path), 0) >= 1:
            wanted = (question.section or "").casefold()
            return float(wanted in {heading.casefold() for heading in hit.matches[0].toc_path})
    return 0.0


def _differences(
    earlier: Mapping[str, Judged], later: Sequence[Judged], measure: str
) -> list[float]:
    """By how much each question changed, of those that both runs have a value for."""
    return [
        one.values[measure] - earlier[one.id].values[measure]
        for one in later
        if measure in one.values and measure in earlier[one.id].values
    ]


def _groups(judged: Sequence[Judged], categories: bool) -> Iterable[tuple[str, Sequence[Judged]]]:
    yield "", judged
    names = sorted({one.category for one in judged})
    if categories and len(names) > 1:
        for name in names:
            yield name, [one for one in judged if one.category == name]


def _columns(judged: Sequence[Judged]) -> dict[str, list[float]]:
    names = [*MEASURES, SECTION]
    columns = {n: [one.values[n] for one in judged if n in one.values] for n in names}
    return {name: values for name, values in columns.items() if values}


def _row(name: str, category: str, measure: str, values: Sequence[float]) -> Row:
    low, high = measures.interval(values)
    return Row(name, category, len(values), measure, measures.mean(values), low, high)
