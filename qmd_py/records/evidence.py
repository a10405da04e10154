"""Which of the places found may be used as evidence."""

from dataclasses import dataclass

from qmd_py.records.answers import Source


@dataclass(frozen=True, slots=True)
class Record:
    """One place that was found, as its file is at the moment of the decision."""

    source: Source
    score: float
    """Higher is better; orders what is admitted, and admits nothing."""
    first_line: int = 0
    last_line: int = 0
    """1-based, inclusive; 0 where no lines are known."""
    labels_known: bool = True
    """Whether the note's labels could be read; if not, it is for nobody."""
    fault: str | None = None
    """Why the place cannot be cited as it was indexed: `stale-index`, `anchor-not-found`."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A record that may not be used, and why."""

    record: Record
    reason: str
    """For the one who owns the notes."""
    told: str
    """What the reader may know of it."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Which records may be used as evidence; a person still has to verify them."""

    status: str
    """`needs-human-verification`, or `stop` where there is no evidence."""
    policy: str
    """The policy's version; empty where there is none."""
    retrieved_at: str
    """The moment it was made for."""
    evidence: tuple[Record, ...] = ()
    """Best first."""
    reasons: tuple[str, ...] = ()
    """What readers may know of why records were refused, each once."""
    refused: tuple[Refusal, ...] = ()
