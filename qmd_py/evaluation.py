"""A search over a set of judged questions → measures."""

import json
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from qmd_py import measures
from qmd_py.errors import UsageError
from qmd_py.records import Hit

MEASURES: Mapping[str, Callable[[Sequence[str], measures.Gains], float]] = {
    "nDCG@5": lambda run, gains: measures.ndcg(run, gains, 5),
    "nDCG@10": lambda run, gains: measures.ndcg(run, gains, 10),
    "RR": measures.reciprocal_rank,
    "Success@1": lambda run, gains: measures.success(run, gains, 1),
    "R@10": lambda run, gains: measures.recall(run, gains, 10),
}
DEPTH = 10
"""Notes asked for: the deepest cut-off of the measures."""


@dataclass(frozen=True, slots=True)
class Question:
    """A judged question."""

    id: str
    query: str
    category: str
    gains: measures.Gains
    """Collection-relative path in NFC → 1 for an answer, ½ for a part of one."""
    section: str | None = None
    """Heading text of the section that answers, where it is judged."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A question, what was found for it, and what that is worth."""

    question: Question
    paths: tuple[str, ...]
    values: Mapping[str, float]


def read_golden(file: Path) -> list[Question]:
    """Read a JSON list of judged questions.

    Each has id, query, relevant_paths, partial_paths, category and perhaps section_heading.

    Raises:
        UsageError: it cannot be read or has another form.
    """
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))
        return [_question(row) for row in rows]
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{file} is not a list of judged questions: {error!r}") from error


def evaluate(questions: Iterable[Question], find: Callable[[str], Sequence[Hit]]) -> list[Judged]:
    """Ask every question and measure what comes back; notes count once, at their best rank."""
    return [judge(question, find(question.query)) for question in questions]


def judge(question: Question, hits: Sequence[Hit]) -> Judged:
    """Measure one ranking."""
    paths = tuple(dict.fromkeys(_nfc(hit.path) for hit in hits))
    values = {name: measure(paths, question.gains) for name, measure in MEASURES.items()}
    return Judged(question, paths, values)


def mean(judged: Sequence[Judged], measure: str) -> float:
    """The mean of a measure over questions; 0 for none."""
    return sum(each.values[measure] for each in judged) / len(judged) if judged else 0.0


def _question(row: Mapping[str, object]) -> Question:
    gains: dict[str, float] = {}
    for key, gain in (("partial_paths", 0.5), ("relevant_paths", 1.0)):
        for path in _list(row.get(key) or []):
            gains[_nfc(path)] = gain
    heading = row.get("section_heading")
    return Question(
        id=str(row["id"]),
        query=str(row["query"]),
        category=str(row.get("category") or "all"),
        gains=gains,
        section=str(heading) if heading else None,
    )


def _list(value: object) -> list[str]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list of paths")
    return [str(item) for item in value]


def _nfc(path: str) -> str:
    return unicodedata.normalize("NFC", path)
