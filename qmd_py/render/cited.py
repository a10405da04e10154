"""Citations, and claims that were checked."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from qmd_py import ledger
from qmd_py.claims import Citation, Verdict
from qmd_py.ledger import Claim
from qmd_py.render import places, styled
from qmd_py.render.admitted import record_fields
from qmd_py.render.styled import HANG, Line


def citation_lines(citation: Citation, row: Claim | None, editor: str | None = None) -> list[Line]:
    """The citation, and the row of a claims table under its head."""
    source = citation.record.source
    published = f", published {source.published_at}" if source.published_at else ""
    lines: list[Line] = [
        [(citation.place, "title")],
        [(f"revision {source.revision} ({source.proof}){published}", "")],
        [(f"retrieved {citation.retrieved_at}", "faint")],
        [places.source(source.uri, citation.record.first_line, editor)],
    ]
    if row:
        # what is appended next must not become a part of the table
        lines += [[], *([(line, "row")] for line in ledger.table([row]).splitlines()), []]
    return lines


def citation_json(citation: Citation, row: Claim | None) -> str:
    """The same as one JSON object on one line, which `--check` reads too."""
    record = record_fields(citation.record)
    del record["score"]
    told = {"place": citation.place, **record, "retrieved_at": citation.retrieved_at}
    return _json({"citation": told, "claim": asdict(row) if row else None})


def checked_lines(checked: Sequence[Verdict], file: str, editor: str | None = None) -> list[Line]:
    """Each row's line in its file, whether it holds, what it claims, and where a source moved to."""
    return [
        [
            places.place(f"line {one.row.line}", file, one.row.line, editor, "faint"),
            ("  ", ""),
            (f"{one.reason or 'holds'}  ", "title"),
            HANG,
            (one.row.claim.claim, ""),
            *([("  ", ""), places.source(one.uri, 1, editor)] if one.uri else ()),
        ]
        for one in checked
    ]


def checked_json(checked: Sequence[Verdict]) -> str:
    """Each row with its line, and the reason why it no longer holds, or null."""
    return _json(
        [
            {
                "line": one.row.line,
                **asdict(one.row.claim),
                "reason": one.reason,
                "moved_to": one.uri,
            }
            for one in checked
        ]
    )


def _json(value: object) -> str:
    return styled.escaped(json.dumps(value, ensure_ascii=False)) + "\n"
