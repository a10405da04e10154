"""A note → the rows that the index keeps of it, made where it was read: that may be another process."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from qmd_py.naming import tag_key
from qmd_py.records.notes import Note

Row: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Terms:
    """The index terms of a chunk or a note, a string of terms a column."""

    title: str
    aliases: str
    headings: str
    body: str
    side: str


@dataclass(frozen=True, slots=True)
class Rows:
    """What the index keeps of a note; the rows of its tables want only its pid in front."""

    path: str
    title: str
    about: Row
    """Aliases, tags, description and metadata."""
    sections: list[Row]
    chunks: list[Row]
    terms: Row
    chunk_terms: list[Row]
    """One a chunk."""
    tags: list[str]
    links: list[Row]
    problem: str | None
    """What was wrong with the file and was passed over, in words."""
    remark: str | None
    """What whoever wrote it may not have meant, in words."""


def rows_of(note: Note, terms: Terms, chunk_terms: Sequence[Terms], keys: Sequence[bytes]) -> Rows:
    """The rows of a note.

    Args:
        note: the note.
        terms: its own.
        chunk_terms: those of each of its chunks.
        keys: one a chunk; equal passages have equal ones.
    """
    return Rows(
        path=note.path,
        title=note.title,
        about=(_json(note.aliases), _json(note.tags), note.description, _json(note.metadata)),
        sections=[
            (at, one.level, one.line, one.last_line, one.title, one.anchor, _json(one.path))
            for at, one in enumerate(note.toc)
        ],
        chunks=[
            (chunk.section, chunk.first_line, chunk.last_line, chunk.text, key)
            for chunk, key in zip(note.chunks, keys, strict=True)
        ],
        terms=_columns(terms),
        chunk_terms=[_columns(one) for one in chunk_terms],
        tags=list(dict.fromkeys(filter(None, map(tag_key, (*note.tags, *note.inline_tags))))),
        links=[
            (at, link.target, link.anchor, link.wiki, link.line)
            for at, link in enumerate(note.links)
        ],
        problem=note.problem,
        remark=note.remark,
    )


def _columns(terms: Terms) -> Row:
    return (terms.title, terms.aliases, terms.headings, terms.body, terms.side)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
