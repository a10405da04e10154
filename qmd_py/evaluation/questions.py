"""Files of judged questions."""

import json
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from qmd_py import measures
from qmd_py.errors import UsageError

T = TypeVar("T")

_MOST = 1e9  # so that sums of grades stay finite


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
class QuestionSet:
    """The questions of one file."""

    name: str
    questions: tuple[Question, ...]


def read(file: Path, queries: Path | None = None) -> QuestionSet:
    """Read a set of judged questions.

    `*.json` is a list of objects with id, query, relevant_paths, partial_paths, category and perhaps
    section_heading. Anything else is TREC qrels (`question 0 path grade`, white space between), whose
    questions stand in `queries` (`question<TAB>text`).

    Raises:
        UsageError: a file cannot be read or has another form.
    """
    if file.suffix.lower() == ".json":
        return QuestionSet(file.stem, tuple(_parsed(file, _golden)))
    grades = _parsed(file, _qrels)
    if queries is None:
        raise UsageError(f"{file} holds judgements only: give the questions with --queries FILE")
    texts = dict(_parsed(queries, _tsv))
    ids = dict.fromkeys(id_ for id_, _, _ in grades)
    if missing := [id_ for id_ in ids if id_ not in texts]:
        raise UsageError(f"{queries} has no question '{missing[0]}', which {file} judges")
    return QuestionSet(
        file.stem,
        tuple(
            Question(id_, texts[id_], "all", {path: g for q, path, g in grades if q == id_})
            for id_ in ids
        ),
    )


def worded_by(judged: QuestionSet, other: QuestionSet) -> QuestionSet:
    """The judgements of one set with the words of another that shares its ids.

    Raises:
        UsageError: they do not share all ids.
    """
    words = {question.id: question.query for question in other.questions}
    if missing := [q.id for q in judged.questions if q.id not in words]:
        raise UsageError(f"{other.name} has no question '{missing[0]}', which {judged.name} judges")
    asked = tuple(replace(q, query=words[q.id]) for q in judged.questions)
    return QuestionSet(f"{other.name} on {judged.name}", asked)


def normal(path: str) -> str:
    """The form in which paths are compared."""
    return unicodedata.normalize("NFC", path)


def number(value: object) -> float:
    """A grade or a measured value.

    Raises:
        ValueError: it is no number, or beyond all bounds.
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _MOST:
        return float(value)
    raise ValueError(f"{value!r:.20} is no number to reckon with")


def _parsed(file: Path, parse: Callable[[str], Sequence[T]]) -> Sequence[T]:
    try:
        found = parse(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{file} is not a set of judged questions: {error!r}") from error
    if not found:
        raise UsageError(f"{file} holds no questions")
    return found


def _golden(text: str) -> list[Question]:
    return [_question(row) for row in json.loads(text)]


def _question(row: Mapping[str, object]) -> Question:
    gains: dict[str, float] = {}
    for key, gain in (("partial_paths", 0.5), ("relevant_paths", 1.0)):
        for path in _list(row.get(key) or []):
            gains[normal(path)] = gain
    heading = row.get("section_heading")
    return Question(
        id=str(row["id"]),
        query=str(row["query"]),
        category=str(row.get("category") or "all"),
        gains=gains,
        section=str(heading) if heading else None,
    )


def _qrels(text: str) -> list[tuple[str, str, float]]:
    """(question, path, grade); a path may hold spaces."""
    found = []
    for line in filter(str.strip, text.splitlines()):
        id_, _, rest = line.split(None, 2)
        path, grade = rest.rsplit(None, 1)
        found.append((id_, normal(path), number(float(grade))))
    return found


def _tsv(text: str) -> list[tuple[str, str]]:
    rows = [line.split("\t", 1) for line in filter(str.strip, text.splitlines())]
    return [(id_.strip(), query.strip()) for id_, query in rows]


def _list(value: object) -> list[str]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list of paths")
    return [str(item) for item in value]
