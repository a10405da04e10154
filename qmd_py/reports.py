"""What commands that change or examine an index tell; apart from `records`, since no search needs it."""

from dataclasses import dataclass

from qmd_py.records.notes import Collection


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What one indexing run did to one collection."""

    collection: str
    new: int = 0
    changed: int = 0
    moved: int = 0
    removed: int = 0
    unchanged: int = 0
    passed_over: tuple[str, ...] = ()
    """Things that are no notes (links, ignored kinds), with the reason; no fault."""
    problems: tuple[str, ...] = ()
    """What could not be read or was read only in part, one line each."""


@dataclass(frozen=True, slots=True)
class EmbedReport:
    """What one embedding run did; a passage is the text of one or more equal chunks."""

    embedded: int = 0
    failed: int = 0
    """Passages for which the model gave no usable vector."""
    pending: int = 0
    """Passages still without a vector."""


@dataclass(frozen=True, slots=True)
class VectorStatus:
    """The state of the vectors of one embedder."""

    fingerprint: str
    vectors: int
    pending: int
    """Passages of the notes that have none yet."""
    failed: int
    """Passages of the notes for which the model gave none."""


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """The state of an index."""

    file: str
    bytes: int
    languages: tuple[str, ...]
    chunk_chars: int
    collections: tuple[Collection, ...]
    notes: int
    sections: int
    chunks: int
    problems: tuple[str, ...]
    last_indexed: str | None
    vectors: tuple[VectorStatus, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found."""

    what: str
    """What was looked at, in a word."""
    state: str
    """`good`; `remark` where something could be better; `bad` where something is wrong."""
    said: str
    step: str = ""
    """What to do next; empty where nothing is to be done."""
