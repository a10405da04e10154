"""What an examination found, as lines and as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from qmd_py.checking import all_well
from qmd_py.render import styled
from qmd_py.render.styled import HANG, Line
from qmd_py.reports import Finding

_MARKS = {"good": ("ok  ", "faint"), "remark": ("-   ", "number"), "bad": ("BAD ", "marked")}


def lines(findings: Sequence[Finding]) -> list[Line]:
    """One line a finding, and below it what to do."""
    found: list[Line] = []
    for finding in findings:
        found.append(
            [_MARKS[finding.state], (f"{finding.what:<12}", "title"), HANG, (finding.said, "")]
        )
        if finding.step:
            found.append([(" " * 16 + "→ ", "number"), HANG, (finding.step, "number")])
    return found


def as_json(findings: Sequence[Finding]) -> str:
    """One object: whether nothing is wrong, and the findings."""
    shown = {"well": all_well(findings), "findings": [asdict(finding) for finding in findings]}
    return styled.escaped(json.dumps(shown, ensure_ascii=False)) + "\n"
