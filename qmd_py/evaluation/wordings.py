"""Files of what a caller writes beside judged questions: the fields of `search`, by question."""

import json
from collections.abc import Mapping
from pathlib import Path

from qmd_py.errors import UsageError
from qmd_py.evaluation.questions import QuestionSet
from qmd_py.expansion import callers
from qmd_py.expansion.callers import Handed

_TEXTS = ("short_query", "rephrased_query", "expected_answer", "intent")
_KNOWN = {*_TEXTS, "queries", "searches"}


def read(file: Path) -> dict[str, Handed]:
    """Question id → what goes with the question.

    The file holds one JSON object, `{"q1": {"short_query": "…", "expected_answer": "…"}}`, or has
    that object under `"fields"`, with whatever tells how it was made beside it.

    Raises:
        UsageError: it cannot be read or has another form.
    """
    try:
        table = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{file} is no JSON: {error}") from error
    if isinstance(table, dict) and isinstance(table.get("fields"), dict):
        table = table["fields"]
    if not isinstance(table, dict) or not table:
        raise UsageError(f'{file} holds no fields: write {{"id": {{"short_query": "two words"}}}}')
    return {id_: _handed(fields, f"{file}, question '{id_}'") for id_, fields in table.items()}


def check_complete(written: Mapping[str, Handed], asked: QuestionSet) -> None:
    """Make sure that every question has fields, so that a difference is that of all of them.

    Raises:
        UsageError: one has none.
    """
    missing = [question.id for question in asked.questions if question.id not in written]
    if missing:
        raise UsageError(
            f"{len(missing)} questions of {asked.name} have no fields, '{missing[0]}' first: "
            "write them, an empty object where the plain question is meant"
        )


def _handed(fields: object, where: str) -> Handed:
    if not isinstance(fields, dict):
        raise UsageError(f"{where}: the fields must be a JSON object")
    if unknown := sorted(set(fields) - _KNOWN):
        raise UsageError(f"{where}: no field '{unknown[0]}': there are {', '.join(sorted(_KNOWN))}")
    for name in _TEXTS:
        if not isinstance(fields.get(name) or "", str):
            raise UsageError(f"{where}: {name} must be a text")
    queries = fields.get("queries") or []
    if not isinstance(queries, list) or not all(isinstance(text, str) for text in queries):
        raise UsageError(f"{where}: queries must be a list of texts")
    searches = fields.get("searches")
    try:
        return callers.from_options(
            short_query=fields.get("short_query"),
            rephrased_query=fields.get("rephrased_query"),
            expected_answer=fields.get("expected_answer"),
            intent=fields.get("intent"),
            queries=queries,
            searches_json=json.dumps(searches) if searches else None,
        )
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error
