"""A note's file as it is now → what is known of its revision, dates and readers."""

import os
from collections.abc import Container
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from qmd_py.config import DEFAULT_MAX_BYTES, Keys
from qmd_py.errors import FileUnreadable
from qmd_py.records.answers import Source
from qmd_py.records.stored import StoredNote
from qmd_py.records.values import Value
from qmd_py.statements.stated import Stated, stated

if TYPE_CHECKING:
    from qmd_py.files import Text
    from qmd_py.git import Repositories
    from qmd_py.markdown import Document

FRONT_MATTER, GIT, CONTENT = "front-matter", "git", "content"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reading(Value):
    """How provenance is found out."""

    keys: Keys = field(default_factory=Keys)
    max_bytes: int = DEFAULT_MAX_BYTES
    """Larger files are not read."""
    repositories: "Repositories | None" = None
    """Where to ask for what is committed; None: git is left out."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Proven(Value):
    """A revision, and what it rests on."""

    proof: str
    revision: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Live(Value):
    """A note's file at one moment."""

    stated: Stated
    proven: tuple[Proven, ...]
    """Everything that was found to prove a revision, the best first."""
    digest: str
    """SHA-256 of its bytes, hexadecimal; empty where they could not be read."""
    same: bool
    """Whether it has the very bytes that were indexed."""
    text: str
    """What it says now, where that is not what was indexed."""
    there: bool = True
    """Whether it could be read."""

    def revision(self, accepted: Container[str]) -> Proven | None:
        """The first revision with a proof that is accepted; else the first there is."""
        counting = (one for one in self.proven if one.proof in accepted)
        return next(counting, self.proven[0] if self.proven else None)

    def document(self, note: StoredNote) -> "Document":
        """The file parsed."""
        from qmd_py.formats import parsing

        return parsing.parse(self.text, note.path)


def look(note: StoredNote, reading: Reading, *, git: bool = True) -> Live:
    """Read a note's file and say what proves its revision.

    The front matter does, unless the text changed under the same revision; git, when the file is as
    it was committed; the bytes, when they are those that were indexed.

    Args:
        note: its row.
        reading: how to find out.
        git: whether what git says counts at all.
    """
    from qmd_py import contained

    try:
        content = contained.content(Path(note.root), note.file, reading.max_bytes)
        text = _text_of(content, note)
    except FileUnreadable:
        # what the index remembers of its readers only decides what they are told of the refusal
        known = stated(note.metadata, reading.keys)
        return Live(known, (), "", same=False, text="", there=False)
    says = _said(text.text, note, reading.keys)
    same = text.digest == note.state.digest
    own = says.revision
    if own and not same and own == stated(note.metadata, reading.keys).revision:
        own = None  # two texts under one revision
    proven = _proven(
        own, _blob(note, reading, content) if git else None, text.digest if same else None
    )
    return Live(says, proven, text.digest, same=same, text="" if same else text.text)


def _text_of(content: bytes, note: StoredNote) -> "Text":
    """A file's own text; a document (a PDF, say) has none, and is known by its bytes alone."""
    from qmd_py import files
    from qmd_py.formats.kinds import kind_of

    if kind_of(note.path).converted:
        import hashlib

        return files.Text("", hashlib.sha256(content).hexdigest(), None)
    return files.text_of(content, Path(note.root, note.file))


def _said(text: str, note: StoredNote, keys: Keys) -> Stated:
    """What a file says of itself; org has words of its own for that."""
    from qmd_py.formats.kinds import kind_of

    if text and kind_of(note.path).name == "org":
        from qmd_py.formats import parsing

        return stated(parsing.parse(text, note.path).front.metadata, keys)
    from qmd_py.statements import heads

    return heads.said(text, keys)


def indexed(note: StoredNote, reading: Reading, *, current: bool) -> tuple[Stated, Proven | None]:
    """What the index knows of a note, and its revision.

    Args:
        note: its row.
        reading: how to find out.
        current: whether the file is as it was when it was indexed.
    """
    says = stated(note.metadata, reading.keys)
    if not current:
        return says, None
    blob = None
    asked = reading.repositories
    if not says.revision and asked and asked.knows(note.root, note.file):
        from qmd_py import contained

        try:
            content = contained.content(Path(note.root), note.file, reading.max_bytes)
        except FileUnreadable:
            return says, None
        blob = _blob(note, reading, content)
    return says, next(iter(_proven(says.revision, blob, note.state.digest)), None)


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


def whole(note: StoredNote, says: Stated, proven: Proven | None) -> Source:
    """The record of a note as a whole."""
    return Source(
        record_id=f"{note.collection}/{note.pid}/",
        revision=proven.revision if proven else None,
        uri=f"file://{quote(os.path.join(note.root, note.file))}",  # noqa: PTH118 — ten times as fast
        published_at=says.published,
        indexed_at=note.indexed_at,
        expires_at=says.expires,
        access=says.access,
        proof=proven.proof if proven else None,
    )


def _blob(note: StoredNote, reading: Reading, content: bytes) -> str | None:
    if reading.repositories is None:
        return None
    return reading.repositories.blob(note.root, note.file, content)


def _proven(own: str | None, blob: str | None, digest: str | None) -> tuple[Proven, ...]:
    """What proves a revision, and which, in the order in which they are preferred."""
    return (
        *([Proven(FRONT_MATTER, own)] if own else ()),
        *([Proven(GIT, f"git:{blob}")] if blob else ()),
        *([Proven(CONTENT, f"sha256:{digest}")] if digest else ()),
    )
