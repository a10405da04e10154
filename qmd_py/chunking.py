"""Sections → chunks: the spans that are indexed, embedded and scored as units."""

import itertools
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import regex

from qmd_py.markdown import Block, Document
from qmd_py.markdown.tree import Spot
from qmd_py.records.stored import Chunk, breadcrumb

VERSION = 1
"""Raised whenever the chunks of some note change, so that an older index is made anew."""

_EMBEDDED_DATA = re.compile(r"data:[\w/+.;=-]{0,100};base64,[A-Za-z0-9+/=%_-]*")
_GRAPHEME = regex.compile(r"\X")
# a space that carries a mark is one grapheme with it, so `\S+\s*` could cut inside; and a match
# takes 100 bytes a character, so it may not be as long as the line
_WORD = regex.compile(
    r"(?P<black>(?:(?!\s)\X){1,9999}+)(?P<blank>(?:(?=\s)\X){0,9999}+)|(?:(?=\s)\X){1,9999}+"
)
_LEAST_ROOM = 200  # characters for the body, however long the breadcrumb
_LARGEST_FENCE = 8000  # characters; a fence above this (an unclosed one, a dump) is cut by lines


@dataclass(frozen=True, slots=True)
class _Piece:
    """Text that stays together, and its 0-based lines (exclusive stop)."""

    start: int
    stop: int
    text: str


def chunks(document: Document, limit: int) -> tuple[Chunk, ...]:
    """Cut a note into chunks that cover every non-blank line of its sections' bodies.

    A chunk lies inside one section and ends at block boundaries. Where one block alone is too
    long, it is cut between its items, rows or lines, and a single line between graphemes; a fence
    is kept whole up to `_LARGEST_FENCE`. A section that is only a heading with nothing below it
    is one chunk of the heading line, so that it can be found; a note without text is an empty one.

    Args:
        document: the parsed note.
        limit: longest chunk with its breadcrumb, in characters.
    """
    cut = _Cutter(document, limit)
    if not document.spots:
        found = cut.span(None, document.title, document.body, len(document.lines.lines))
    else:
        found = [chunk for at, spot in enumerate(document.spots) for chunk in cut.section(at, spot)]
    return tuple(found) or (Chunk(None, 1, 1, ""),)


class _Cutter:
    def __init__(self, document: Document, limit: int) -> None:
        self._document = document
        self._limit = limit
        self._lines = [_EMBEDDED_DATA.sub("", line) for line in document.lines.lines]
        self._blocks = sorted(document.blocks, key=lambda block: block.start)
        self._starts = [block.start for block in self._blocks]

    def section(self, at: int, spot: Spot) -> list[Chunk]:
        """The chunks of a section's own text."""
        crumb = breadcrumb(self._document.title, spot.section.path)
        found = self.span(at, crumb, spot.body, spot.own_stop)
        # a heading above others is found by its subsections, and so is the title
        leaf = spot.own_stop == spot.stop and spot.section.level
        if not found and (leaf or len(self._document.spots) == 1):
            found = self.span(at, crumb, spot.start, spot.body)
        return found

    def span(self, at: int | None, crumb: str, start: int, stop: int) -> list[Chunk]:
        """The chunks of some lines; none when they are blank."""
        room = max(self._limit - len(crumb) - 2, _LEAST_ROOM)
        pieces = self._pieces(-1, start, stop, room)
        return [self._chunk(at, group) for group in _packed(pieces, room)]

    def _chunk(self, at: int | None, group: Sequence[_Piece]) -> Chunk:
        number = self._document.lines.number
        text = "\n".join(piece.text for piece in group)
        return Chunk(at, number(group[0].start), number(group[-1].stop - 1), text)

    def _pieces(self, depth: int, first: int, end: int, room: int) -> Iterator[_Piece]:
        """The lines between the edges of the outermost blocks that lie deeper than `depth`."""
        inner = [block for block in self._within(first, end) if block.depth > depth]
        top = min((block.depth for block in inner), default=depth)
        edges = {first, end}
        for block in inner:
            if block.depth == top:
                edges |= {block.start, min(block.stop, end)}
        for start, stop in itertools.pairwise(sorted(edges)):
            yield from self._piece(top, start, stop, room)

    def _piece(self, depth: int, first: int, end: int, room: int) -> Iterator[_Piece]:
        """The lines as one piece, or as many while they are too long."""
        first, end = self._trimmed(first, end)
        if first == end:
            return
        text = "\n".join(self._lines[first:end])
        whole = len(text) <= _LARGEST_FENCE and self._is_fence(depth, first)
        if len(text) <= room or whole:
            yield _Piece(first, end, text)
        elif any(block.depth > depth for block in self._within(first, end)):
            yield from self._pieces(depth, first, end, room)
        else:
            for line in range(first, end):
                for part in _cut_line(self._lines[line], room):
                    yield _Piece(line, line + 1, part)

    def _is_fence(self, depth: int, line: int) -> bool:
        beginning = self._within(line, line + 1)
        return any(block.whole and block.depth == depth for block in beginning)

    def _within(self, first: int, end: int) -> Sequence[Block]:
        """The blocks that begin on these lines."""
        return self._blocks[bisect_left(self._starts, first) : bisect_left(self._starts, end)]

    def _trimmed(self, first: int, end: int) -> tuple[int, int]:
        while first < end and not self._lines[first].strip():
            first += 1
        while end > first and not self._lines[end - 1].strip():
            end -= 1
        return first, end


def _packed(pieces: Iterator[_Piece], room: int) -> Iterator[list[_Piece]]:
    """Neighbouring pieces together while there is room."""
    group: list[_Piece] = []
    size = 0
    for piece in pieces:
        gap = max(1, piece.start - group[-1].stop + 1) if group else 0
        if group and size + gap + len(piece.text) > room:
            yield group
            group, size, gap = [], 0, 0
        if gap > 1:
            # blank lines between blocks are part of the text
            piece = _Piece(piece.start, piece.stop, "\n" * (gap - 1) + piece.text)
        group.append(piece)
        size += len(piece.text) + min(gap, 1)
    if group:
        yield group


def _cut_line(line: str, room: int) -> Iterator[str]:
    """Parts of at most `room` characters, cut at a space where there is one, never in a grapheme."""
    if len(line) <= room:
        if line.strip():
            yield line
        return
    part: list[str] = []
    size = 0
    for word in _units(line, room):
        if part and size + len(word) > room:
            yield "".join(part)
            part, size = [], 0
        part.append(word)
        size += len(word)
    if part:
        yield "".join(part)


def _units(line: str, room: int) -> Iterator[str]:
    """Words with the space after them; a word that is too long comes as its graphemes."""
    goes_on = False
    for word in _WORD.finditer(line):
        goes_on = goes_on or (not word["black"] and word.start() > 0)
        if len(word[0]) <= room and not goes_on:
            yield word[0]
        else:
            yield from _GRAPHEME.findall(word[0])
        goes_on = bool(word["black"]) and not word["blank"]
