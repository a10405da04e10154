"""Headings → the toc: a tree with unique paths, unique anchors and line spans."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from qmd_py.markdown.lines import Lines
from qmd_py.records.stored import Section

_NOT_IN_SLUG = re.compile(r"[^\w\- ]")
_UNTITLED = "(untitled)"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading as it stands in the text."""

    title: str
    level: int
    line: int
    """0-based."""
    stop: int
    """0-based line after it (setext headings take two lines or more)."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A toc entry and where it stands in the lines of its note (0-based, exclusive ends)."""

    section: Section
    start: int
    body: int
    """First line of its own text, after the heading."""
    own_stop: int
    """Where its own text ends: at the next heading of any level."""
    stop: int
    """Where it ends with its subsections: at the next heading of its level or above."""


def grow(
    headings: Sequence[Heading], lines: Lines, body: int, title: str, titled: Heading | None
) -> tuple[Spot, ...]:
    """The toc of a note: one entry a heading, and one for the text before the first.

    Args:
        headings: top-level headings in order.
        lines: the note's lines.
        body: 0-based first line after the front matter.
        title: the note's title.
        titled: the heading that is the note's title; it becomes the level-0 entry, so that no
            path repeats the title and its entry stands for the text under it alone.
    """
    if not headings:
        return ()
    inner = [heading for heading in headings if heading is not titled]
    end = len(lines.lines)
    first = inner[0].line if inner else end
    stops, paths = _stops(inner, end), _paths(inner)
    slugs = _Slugs()
    spots = _opening(lines, body, first, title, titled, _free(title, paths), slugs)
    for at, heading in enumerate(inner):
        own_stop = inner[at + 1].line if at + 1 < len(inner) else end
        anchor = slugs.unique(heading.title)
        section = _section(lines, heading, paths[at], anchor, heading.level, stops[at])
        spots.append(Spot(section, heading.line, heading.stop, own_stop, stops[at]))
    return tuple(spots)


def _opening(
    lines: Lines,
    body: int,
    stop: int,
    title: str,
    titled: Heading | None,
    name: str,
    slugs: "_Slugs",
) -> list[Spot]:
    """The level-0 entry, where there is a title heading or text before the first heading."""
    if titled:
        anchor = slugs.unique(titled.title)
        section = _section(lines, titled, (name,), anchor, 0, stop)
        return [Spot(section, titled.line, titled.stop, stop, stop)]
    text = [at for at in range(body, stop) if lines.lines[at].strip()]
    if not text:
        return []
    heading = Heading(title, 0, text[0], text[0])
    section = _section(lines, heading, (name,), "", 0, stop)
    return [Spot(section, text[0], text[0], stop, stop)]


def _section(
    lines: Lines, heading: Heading, path: tuple[str, ...], anchor: str, level: int, stop: int
) -> Section:
    last = max(heading.line, stop - 1)
    while last > heading.line and not lines.lines[last].strip():
        last -= 1
    first_number, last_number = lines.number(heading.line), lines.number(last)
    return Section(heading.title or _UNTITLED, level, path, anchor, first_number, last_number)


def _stops(headings: Sequence[Heading], end: int) -> list[int]:
    """For each heading, the line of the next one of its level or above."""
    stops = [end] * len(headings)
    open_: list[int] = []
    for at, heading in enumerate(headings):
        while open_ and headings[open_[-1]].level >= heading.level:
            stops[open_.pop()] = heading.line
        open_.append(at)
    return stops


def _paths(headings: Sequence[Heading]) -> list[tuple[str, ...]]:
    """Paths that tell siblings of one text apart: `Text`, `Text (2)`, `Text (3)`."""
    paths: list[tuple[str, ...]] = []
    open_: list[tuple[int, tuple[str, ...]]] = []
    taken: set[tuple[str, ...]] = set()
    counts: dict[tuple[str, ...], int] = {}
    for heading in headings:
        while open_ and open_[-1][0] >= heading.level:
            open_.pop()
        parent = open_[-1][1] if open_ else ()
        plain = path = (*parent, heading.title or _UNTITLED)
        while path in taken:
            counts[plain] = counts.get(plain, 1) + 1
            path = (*parent, f"{plain[-1]} ({counts[plain]})")
        taken.add(path)
        open_.append((heading.level, path))
        paths.append(path)
    return paths


def _free(title: str, paths: Sequence[tuple[str, ...]]) -> str:
    """The name of the level-0 entry: the title, told apart from top-level headings of its text."""
    taken = {path[0] for path in paths if len(path) == 1}
    name = title
    while name in taken:
        name += " (0)"
    return name


class _Slugs:
    """Anchors as code hosts make them: `search-terms`, then `search-terms-1`."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._counts: dict[str, int] = {}

    def unique(self, title: str) -> str:
        plain = slug = slugify(title)
        while slug in self._taken:
            self._counts[plain] = self._counts.get(plain, 0) + 1
            slug = f"{plain}-{self._counts[plain]}"
        self._taken.add(slug)
        return slug


def slugify(title: str) -> str:
    """The anchor of a heading: lower case, no punctuation, hyphens for spaces."""
    return _NOT_IN_SLUG.sub("", title.lower()).strip().replace(" ", "-") or "section"
