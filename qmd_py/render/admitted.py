"""What a policy decided, for readers and for the notes' owner."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from qmd_py.records.answers import Answer

if TYPE_CHECKING:
    from qmd_py.records.evidence import Decision, Record


def stop_lines(answer: Answer) -> list[str]:
    """What is said in place of hits when a policy lets none pass; nothing else."""
    decision = answer.decision
    if decision is None or answer.hits:
        return []
    return [f"stop: {', '.join(decision.reasons) or 'nothing was found'}"]


def decision_fields(decision: "Decision") -> Mapping[str, object]:
    """The decision as JSON fields; of what was refused only the reasons a reader may know."""
    return {
        "status": decision.status,
        "reasons": decision.reasons,
        "policy": decision.policy,
        "evidence": [
            {**record_fields(record), "retrieved_at": decision.retrieved_at}
            for record in decision.evidence
        ],
    }


def record_fields(record: "Record") -> dict[str, object]:
    """A record as JSON fields."""
    return asdict(record.source) | {
        "first_line": record.first_line,
        "last_line": record.last_line,
        "score": record.score,
    }
