"""What the index keeps of notes."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from qmd_py.records.values import Value

MetadataValue: TypeAlias = (
    "str | int | float | bool | list[MetadataValue] | dict[str, MetadataValue] | None"
)


Metadata: TypeAlias = Mapping[str, MetadataValue]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Section(Value):
    """A heading, or the text before the first one, and where it stands."""

    title: str
    level: int
    """From 1 up, 6 in Markdown; 0 is the text before the first heading."""
    path: tuple[str, ...]
    """Headings from the outermost to its own, unique in the note."""
    anchor: str
    """Unique slug; empty where the text before the first heading has no heading of its own."""
    line: int
    """1-based line of the heading (of the first text line at level 0)."""
    last_line: int
    """1-based last line of the section and its subsections, inclusive."""


def breadcrumb(title: str, toc_path: Sequence[str]) -> str:
    """`Title > Heading > Subheading`; the title alone for the text before the first heading."""
    opening = len(toc_path) == 1 and toc_path[0].removesuffix(" (0)") == title
    return " > ".join((title,) if opening else (title, *toc_path))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Chunk(Value):
    """The span that is indexed and scored as a unit; lies inside one section."""

    section: int | None
    """Position of its section in the note's toc; None in a note without headings."""
    first_line: int
    last_line: int
    """1-based, inclusive."""
    text: str
    """Markdown source of the span, without embedded images."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FileState(Value):
    """What tells that a file is still the one that was indexed."""

    mtime_ns: int
    """When it was last changed, as `changed_ns` tells."""
    size: int
    digest: str
    """SHA-256 of the bytes, hexadecimal; empty when the bytes were not read."""

    @staticmethod
    def changed_ns(state: os.stat_result) -> int:
        """When a file was written, or last replaced or touched, if that was later.

        Tools that copy and synchronise set the time of writing back, also over new bytes of the
        same number.
        """
        return max(state.st_mtime_ns, state.st_ctime_ns)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StoredNote(Value):
    """The row the index keeps of a note."""

    pid: int
    collection: str
    root: str
    path: str
    file: str
    """The path as the file system spells it (it may not be in NFC)."""
    title: str
    aliases: tuple[str, ...]
    metadata: Metadata
    state: FileState
    indexed_at: str
    """RFC 3339, UTC."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StoredChunk(Value):
    """A chunk with its place in the index."""

    id: int
    pid: int
    chunk: Chunk
