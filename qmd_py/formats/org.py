"""Org outlines: lines of stars are headings."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

from qmd_py.markdown import Block, Document, Lines
from qmd_py.markdown.frontmatter import FrontMatter
from qmd_py.markdown.plain import one_line
from qmd_py.markdown.tree import Heading, grow
from qmd_py.records.stored import MetadataValue

_HEADING = re.compile(r"(\*+)[ \t]+(\S.*)")
# what changes while a heading stays what it is: pointers hold through it
_STATE = re.compile(r"(?:(?:TODO|NEXT|DOING|WAITING|DONE|CANCELLED)[ \t]+)?(?:\[#\w\][ \t]+)?")
_TAGS = re.compile(r"(?<![ \t])[ \t]++:(?:[\w@#%]+:)+[ \t]*$")
_LINK = re.compile(r"\[\[(?:[^\[\]]*)\]\[([^\[\]]+)\]\]|\[\[([^\[\]]+)\]\]")
_KEYWORD = re.compile(r"#\+(?!begin_|end_)([a-z][\w-]*):[ \t]*(\S.*)", re.IGNORECASE)
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_BEGIN = re.compile(r"\s*#\+begin_(\w+)", re.IGNORECASE)
_END = re.compile(r"\s*#\+end_(\w+)\s*", re.IGNORECASE)


def parse(text: str, stem: str) -> Document:
    """Parse an outline; its `#+title:` is its title, `#+filetags:` are its tags."""
    lines = Lines.of(text)
    blocks = list(_blocks(lines.lines))
    inside = {at for block in blocks if block.whole for at in range(block.start, block.stop)}
    headings = [
        _heading(mark, at)
        for at, line in enumerate(lines.lines)
        if at not in inside and (mark := _HEADING.fullmatch(line))
    ]
    front = FrontMatter(
        0, _keywords(lines.lines, headings[0].line if headings else len(lines.lines))
    )
    title = front.title or stem
    return Document(lines, front, title, grow(headings, lines, 0, title, None), tuple(blocks), None)


def _heading(mark: re.Match[str], line: int) -> Heading:
    text = _TAGS.sub("", mark[2])
    text = text[_STATE.match(text).end() :] or text  # type: ignore[union-attr]  # may match nothing
    shown = _LINK.sub(lambda link: link[1] or link[2], text)
    return Heading(one_line(shown), len(mark[1]), line, line + 1)


def _keywords(lines: Sequence[str], stop: int) -> dict[str, MetadataValue]:
    """What stands before the first heading, under the names that front matter has."""
    found: dict[str, MetadataValue] = {}
    for line in lines[:stop]:
        if mark := _KEYWORD.fullmatch(line.rstrip()):
            key, value = mark[1].lower(), mark[2]
            if key == "filetags":
                found["tags"] = [*filter(None, re.split(r"[:\s]+", value))]
            else:
                day = _DAY.search(value) if key == "date" else None
                found.setdefault(key, day[0] if day else value)
    return found


def _blocks(lines: Sequence[str]) -> Iterator[Block]:
    """Paragraphs, and `#+begin_…` blocks that are closed."""
    ends: dict[str, list[int]] = {}
    for at, line in enumerate(lines):
        if mark := _END.fullmatch(line):
            ends.setdefault(mark[1].lower(), []).append(at)
    at = 0
    while at < len(lines):
        stop = _end_of_block(lines, at, ends) or _end_of_paragraph(lines, at)
        if lines[at].strip():
            marked = bool(_BEGIN.match(lines[at])) and stop > at + 1
            yield Block(at, stop, 0, marked, code=marked)
        at = stop


def _end_of_block(
    lines: Sequence[str], start: int, ends: Mapping[str, Sequence[int]]
) -> int | None:
    begin = _BEGIN.match(lines[start])
    if not begin:
        return None
    own = ends.get(begin[1].lower(), ())
    after = bisect_right(own, start)
    return own[after] + 1 if after < len(own) else None


def _end_of_paragraph(lines: Sequence[str], start: int) -> int:
    at = start + 1
    while at < len(lines) and lines[at].strip() and not _starts_anew(lines[at]):
        at += 1
    return at


def _starts_anew(line: str) -> bool:
    return bool(_HEADING.fullmatch(line) or _BEGIN.match(line))
