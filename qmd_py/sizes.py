"""What the places of an answer would cost to read."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from qmd_py import contained, decoding, passages
from qmd_py.errors import FileUnreadable
from qmd_py.records.answers import Answer, Hit, Match
from qmd_py.records.stored import Section


def counted(answer: Answer, max_bytes: int) -> Answer:
    """The answer with the token counts of its sections and notes, as `section` would give them.

    A hit whose file has changed, is gone or is too large has none: its sections may lie elsewhere.
    """
    return replace(answer, hits=tuple(_counted(hit, max_bytes) for hit in answer.hits))


def _counted(hit: Hit, max_bytes: int) -> Hit:
    if hit.stale or os.path.realpath(hit.file) != hit.file:  # a link may lead out of the collection
        return hit
    try:
        file = Path(hit.file)
        content = contained.content(file.parent, file.name, max_bytes)
        text, _ = decoding.decoded(content, file)
    except FileUnreadable:
        return hit
    lines = text.removesuffix("\n").split("\n")
    note = passages.tokens("\n".join(lines))
    spans = {section.path: section for section in hit.toc}
    matches = (_sized(match, spans.get(match.toc_path), lines, note) for match in hit.matches)
    return replace(hit, matches=tuple(matches), note_tokens=note)


def _sized(match: Match, section: Section | None, lines: Sequence[str], note: int) -> Match:
    if section is None:
        return replace(match, section_tokens=note)
    text = "\n".join(lines[section.line - 1 : section.last_line]).strip("\n")
    return replace(match, section_tokens=passages.tokens(text))
