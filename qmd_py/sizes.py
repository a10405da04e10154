"""What the places of an answer would cost to read."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from qmd_py import contained, decoding, passages
from qmd_py.errors import FileUnreadable
from qmd_py.formats.suffixes import is_code, is_document
from qmd_py.records.answers import Answer, Hit
from qmd_py.records.stored import Section

_Path: TypeAlias = tuple[str, ...]


def counted(answer: Answer, max_bytes: int) -> Answer:
    """The answer with the token counts of its sections and notes, as `section` would give them.

    A hit whose file has changed, is gone or is too large has none: its sections may lie elsewhere.
    Nor has a document: to convert it anew may take longer than the search.
    """
    return replace(answer, hits=tuple(_counted(hit, max_bytes) for hit in answer.hits))


def _counted(hit: Hit, max_bytes: int) -> Hit:
    if hit.stale or is_document(hit.file):
        return hit
    if os.path.realpath(hit.file) != hit.file:  # a link may lead out of the collection
        return hit
    try:
        file = Path(hit.file)
        content = contained.content(file.parent, file.name, max_bytes)
        text, _ = decoding.decoded(content, file)
    except FileUnreadable:
        return hit
    whole, sections = _texts(hit, text)
    note = passages.tokens(whole)
    sized = {path: passages.tokens(section) for path, section in sections.items()}
    matches = (
        replace(match, section_tokens=sized.get(match.toc_path, note)) for match in hit.matches
    )
    return replace(hit, matches=tuple(matches), note_tokens=note)


def _texts(hit: Hit, text: str) -> tuple[str, dict[_Path, str]]:
    """The whole text, and that of each section found."""
    wanted = {match.toc_path for match in hit.matches}
    plain = text.replace("\r\n", "\n")
    if "\r" in plain:  # each ends a line, and none that the numbers of the toc count
        from qmd_py.formats import parsing

        document = parsing.parse(text, hit.path)
        spots = (spot for spot in document.spots if spot.section.path in wanted)
        found = {spot.section.path: document.text(spot) for spot in spots}
        return "\n".join(document.lines.lines), found
    lines = plain.removesuffix("\n").split("\n")
    entries = (section for section in hit.toc if section.path in wanted)
    ends = is_code(hit.path)
    return "\n".join(lines), {one.path: _section(one, lines, ends=ends) for one in entries}


def _section(section: Section, lines: Sequence[str], *, ends: bool) -> str:
    """Its lines; unless it ends with them, also those below that hold nothing but spaces."""
    stop = section.last_line
    while not ends and stop < len(lines) and not lines[stop].strip():
        stop += 1
    return "\n".join(lines[section.line - 1 : stop]).strip("\n")
