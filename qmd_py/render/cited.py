"""Citations, and claims that were checked."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from qmd_py import claims
from qmd_py.claims import Citation, Claim
from qmd_py.render.admitted import record_fields
from qmd_py.render.styled import Line


def citation_lines(citation: Citation, row: Claim | None) -> list[Line]:
    """The citation, and the row of a claims table under its head."""
    source = citation.record.source
    published = f", published {source.published_at}" if source.published_at else ""
    lines: list[Line] = [
        [(citation.place, "title")],
        [(f"revision {source.revision} ({source.proof}){published}", "")],
        [(f"retrieved {citation.retrieved_at}", "faint")],
        [(source.uri, "place")],
    ]
    if row:
        lines += [[], *([(line, "")] for line in claims.table([row]).splitlines())]
    return lines


def citation_json(citation: Citation, row: Claim | None) -> str:
    """The same as one JSON object on one line, which `--check` reads too."""
    record = record_fields(citation.record)
    del record["score"]
    told = {"place": citation.place, **record, "retrieved_at": citation.retrieved_at}
    return _json({"citation": told, "claim": _row(row) if row else None})


def checked_lines(checked: Sequence[tuple[Claim, str | None]]) -> list[Line]:
    """Each row's line in its file, whether it holds, and what it claims."""
    return [
        [
            (f"line {row.line}  ", "faint"),
            (f"{why or 'holds'}  ", "title"),
            (row.claim, ""),
        ]
        for row, why in checked
    ]


def checked_json(checked: Sequence[tuple[Claim, str | None]]) -> str:
    """Each row with its line, and the reason why it no longer holds, or null."""
    return _json([{"line": row.line, **_row(row), "reason": why} for row, why in checked])


def _row(row: Claim) -> dict[str, object]:
    return {name: value for name, value in asdict(row).items() if name != "line"}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"
