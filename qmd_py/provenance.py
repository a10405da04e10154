"""A note's file as it is now → what is known of its revision, dates and readers."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from qmd_py import moments
from qmd_py.config import DEFAULT_MAX_BYTES, Keys
from qmd_py.errors import FileUnreadable
from qmd_py.records import Metadata, MetadataValue, Source, StoredNote

if TYPE_CHECKING:
    from qmd_py.git import Repositories
    from qmd_py.markdown import Document

FRONT_MATTER, GIT, CONTENT = "front-matter", "git", "content"
_NOTHING: tuple[MetadataValue, ...] = (None, "", [], {})
_HEAD = 200  # lines, and characters before the fence; front matter is shorter
_FENCE = re.compile(r"^---[^\S\r\n]*\r?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Reading:
    """How provenance is found out."""

    keys: Keys = field(default_factory=Keys)
    max_bytes: int = DEFAULT_MAX_BYTES
    """Larger files are not read."""
    repositories: "Repositories | None" = None
    """Where to ask for what is committed; None: git is left out."""


@dataclass(frozen=True, slots=True)
class Stated:
    """What a note's front matter says."""

    revision: str | None
    published: str | None
    expires: str | None
    """RFC 3339 in UTC; as it was written where that cannot be read."""
    access: tuple[str, ...]
    access_known: bool = True
    """Whether the labels could be read at all."""


_UNREAD = Stated(None, None, None, (), access_known=False)


@dataclass(frozen=True, slots=True)
class Live:
    """A note's file at one moment."""

    stated: Stated
    revision: str | None
    proof: str | None
    digest: str
    """SHA-256 of its bytes, hexadecimal; empty where they could not be read."""
    same: bool
    """Whether it has the very bytes that were indexed."""
    text: str
    """What it says now, where that is not what was indexed."""
    there: bool = True
    """Whether it could be read."""

    def document(self, note: StoredNote) -> "Document":
        """The file parsed."""
        from qmd_py import markdown

        return markdown.parse(self.text, Path(note.path).stem)


def stated(metadata: Metadata, keys: Keys) -> Stated:
    """What front matter says of a note; of several keys the first that holds a value counts."""
    access, known = _labels(_first(metadata, keys.access))
    return Stated(
        revision=_text(_first(metadata, keys.revision)),
        published=_date(_first(metadata, keys.published)),
        expires=_date(_first(metadata, keys.expires)),
        access=access,
        access_known=known,
    )


def look(note: StoredNote, reading: Reading) -> Live:
    """Read a note's file and say what proves its revision.

    In this order: the front matter, unless the text changed under the same revision; git, when the
    file is as it was committed; the bytes, when they are those that were indexed.
    """
    from qmd_py import contained, files

    try:
        content = contained.content(Path(note.root), note.file, reading.max_bytes)
        text = files.text_of(content, Path(note.root, note.file))
    except FileUnreadable:
        # what the index remembers of its readers only decides what they are told of the refusal
        known = stated(note.metadata, reading.keys)
        return Live(known, None, None, "", same=False, text="", there=False)
    says = _said(text.text, reading.keys)
    same = text.digest == note.state.digest
    own = says.revision
    if own and not same and own == stated(note.metadata, reading.keys).revision:
        own = None  # two texts under one revision
    blob = None if own else _blob(note, reading, content)
    revision, proof = _proven(own, blob, text.digest if same else None)
    shown = "" if same else text.text
    return Live(says, revision, proof, text.digest, same=same, text=shown)


def indexed(
    note: StoredNote, reading: Reading, *, current: bool
) -> tuple[Stated, str | None, str | None]:
    """What the index knows of a note, its revision, and what proves that.

    Args:
        note: its row.
        reading: how to find out.
        current: whether the file is as it was when it was indexed.
    """
    says = stated(note.metadata, reading.keys)
    if not current:
        return says, None, None
    blob = None
    if not says.revision and reading.repositories:
        from qmd_py import contained

        try:
            content = contained.content(Path(note.root), note.file, reading.max_bytes)
        except FileUnreadable:
            return says, None, None
        blob = _blob(note, reading, content)
    return says, *_proven(says.revision, blob, note.state.digest)


def at(note: Source, anchor: str) -> Source:
    """The record of a place in a note, from that of the note as a whole."""
    if not anchor:
        return note
    return replace(
        note,
        record_id=note.record_id + anchor,
        uri=f"{note.uri}#{quote(anchor)}",
        anchor=anchor,
    )


def whole(note: StoredNote, says: Stated, revision: str | None, proof: str | None) -> Source:
    """The record of a note as a whole."""
    return Source(
        record_id=f"{note.collection}/{note.pid}/",
        revision=revision,
        uri=f"file://{quote(os.path.join(note.root, note.file))}",  # noqa: PTH118 — ten times as fast
        published_at=says.published,
        indexed_at=note.indexed_at,
        expires_at=says.expires,
        access=says.access,
        proof=proof,
    )


def proof_of(revision: str) -> str:
    """What a revision that was proven once rested on."""
    return {"sha256": CONTENT, "git": GIT}.get(revision.partition(":")[0], FRONT_MATTER)


def _said(text: str, keys: Keys) -> Stated:
    """What the head of a file says; nothing that can be relied on when it is broken."""
    head = _head(text)
    if not _tells(head, keys):
        return stated({}, keys)
    from qmd_py.markdown import Lines, frontmatter

    lines = Lines.of(head).lines
    front = frontmatter.read(lines)
    if front.problem or (not front.lines and _names_readers(lines, keys)):
        return _UNREAD
    return stated(front.metadata, keys)


def _head(text: str) -> str:
    """The text up to the end of what is, or was meant to be, front matter; empty without any."""
    if not text[:_HEAD].lstrip().startswith("---"):
        return ""
    fence = _FENCE.search(text, text.index("---") + 3)
    return text[: fence.end()] if fence else text


def _tells(head: str, keys: Keys) -> bool:
    """Whether any of the keys can be in it: YAML is slow to read, and mostly about other things."""
    folded = head.casefold()
    names = (*keys.revision, *keys.published, *keys.expires, *keys.access)
    return "\\" in head or any(name.casefold() in folded for name in names)


def _blob(note: StoredNote, reading: Reading, content: bytes) -> str | None:
    if reading.repositories is None:
        return None
    return reading.repositories.blob(note.root, note.file, content)


def _names_readers(lines: Sequence[str], keys: Keys) -> bool:
    """Whether what is no front matter, for a slip in its fences, still looks as if it named readers."""
    wanted = {key.casefold() for key in keys.access}
    return any(line.partition(":")[0].strip().casefold() in wanted for line in lines[:_HEAD])


def _proven(
    stated: str | None, blob: str | None, digest: str | None
) -> tuple[str | None, str | None]:
    """The first revision there is, and what proves it."""
    if stated:
        return stated, FRONT_MATTER
    if blob:
        return f"git:{blob}", GIT
    return (f"sha256:{digest}", CONTENT) if digest else (None, None)


def _first(metadata: Metadata, keys: Sequence[str]) -> MetadataValue:
    """The value of the first key that holds one; capital letters make no difference."""
    folded: dict[str, MetadataValue] = {}
    for key, value in metadata.items():
        folded.setdefault(key.casefold(), value)
    return next((v for key in keys if (v := folded.get(key.casefold())) not in _NOTHING), None)


def _labels(value: MetadataValue) -> tuple[tuple[str, ...], bool]:
    """Labels from a list or `a, b`, and whether they could be understood."""
    if value is None:
        return (), True
    if isinstance(value, str):
        value = [part for part in value.split(",") if part.strip()]
    names = value if isinstance(value, list) else [value]
    known = all(isinstance(name, str | int) for name in names)
    return tuple(dict.fromkeys(str(name).strip() for name in names)), known


def _text(value: MetadataValue) -> str | None:
    return None if value is None or isinstance(value, list | dict) else str(value).strip() or None


def _date(value: MetadataValue) -> str | None:
    """The date in UTC; what was written where it is none."""
    if value is None:
        return None
    try:
        return moments.rfc3339(moments.parse(str(value)))
    except ValueError:
        return str(value)
