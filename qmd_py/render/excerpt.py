"""The snippet of a place as people read it: prose as a paragraph, code, tables and lists line by line."""

import itertools
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from qmd_py.formats.suffixes import is_code
from qmd_py.records.answers import Match
from qmd_py.records.values import Value
from qmd_py.snippets import readable

_FENCE = re.compile(r"(?P<quoted>[ \t>]*?)(?P<marks>`{3,}|~{3,})(?P<rest>[^`]*)")
_QUOTED = re.compile(r"^[ \t]*(?:>[ \t]?)+")
_LEAST = 3  # lines of code, tables and lists
_COLUMNS = 80  # of a line; longer snippets, which are asked for, show as many more
_INDENT = "  "
ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?=\S)")
"""The beginning of a line that is an item of a list."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Row(Value):
    """A line of the note that is in the snippet."""

    text: str
    kind: str
    """`code`, `table`, `list`, or empty for prose, which flows."""


def paragraphs(match: Match, path: str, marked: Callable[[str], bool]) -> list[str]:
    """The snippet; where code, a table or a list is in it, each line of that on its own, those that answer first.

    Args:
        match: the place.
        path: of its note, which tells whether it is a program.
        marked: whether a line has words of the question.
    """
    rows = list(_rows(match, path))
    if not any(row.kind for row in rows):
        return [match.snippet]
    shown: list[str] = []
    room = max(_LEAST, len(match.snippet) // _COLUMNS)
    for kind, group in itertools.groupby(rows, lambda row: row.kind):
        texts = [row.text for row in group]
        if kind and room:
            texts = _picked(_items(texts) if kind == "list" else texts, room, marked)
            room -= len(texts)
            shown += texts if kind == "list" else [_INDENT + line for line in texts]
        elif not kind:
            shown.append(" ".join(texts))
    return shown


def _rows(match: Match, path: str) -> Iterator[_Row]:
    """The lines that the snippet was made of; what cannot be traced to one stays as it is."""
    program = is_code(path)
    lines = match.text.split("\n")
    start = match.snippet_line - match.line
    rest = match.snippet
    for line, kind in list(_told_apart(lines, program=program))[start:]:
        clean = " ".join((line if program else readable(line)).split())
        if not rest.startswith(clean):
            break
        if clean:
            item = ITEM.match(_QUOTED.sub("", line)) if kind == "list" else None
            blanks = item[0][: -len(item[0].lstrip())] if item else ""
            yield _Row(line if kind == "code" else blanks + clean, kind)
            rest = rest[len(clean) :].lstrip()
    if rest:
        yield _Row(rest, "")


def _told_apart(lines: Sequence[str], *, program: bool) -> Iterator[tuple[str, str]]:
    """Each line, and of which kind it is; lines that open or close a fence are empty."""
    opened = quoted = kind = ""
    for line in lines:
        fence = None if program else _FENCE.fullmatch(line)
        if fence and not opened:
            opened, quoted = fence["marks"], fence["quoted"].strip()
            yield "", ""
        elif fence and fence["marks"].startswith(opened) and not fence["rest"].strip():
            opened = ""
            yield "", ""
        elif opened or program:
            yield _QUOTED.sub("", line) if quoted else line, "code"
        else:
            kind = _kind(line, kind)
            yield line, kind


def _kind(line: str, before: str) -> str:
    """Of which kind a line outside of code is, after one of another kind or the same."""
    plain = line.lstrip(" \t>")
    if plain.startswith("|"):
        return "table"
    # what follows an item without a blank line is of it
    return "list" if ITEM.match(plain) or (plain and before == "list") else ""


def _items(lines: Sequence[str]) -> list[str]:
    """The items of a list, each with the lines that go on with it."""
    items: list[str] = []
    for line in lines:
        if ITEM.match(line) or not items:
            items.append(line)
        else:
            items[-1] += f" {line}"
    return items


def _picked(lines: Sequence[str], room: int, marked: Callable[[str], bool]) -> list[str]:
    """As many lines as there is room for, in their order; `…` ends one before a gap."""
    wanted = [at for at, line in enumerate(lines) if marked(line)][:room]
    first = wanted[0] if wanted else 0
    others = [at for at in (*range(first, len(lines)), *range(first)) if at not in wanted]
    kept = sorted(wanted + others[: room - len(wanted)])
    texts = textwrap.dedent("\n".join(lines[at].expandtabs(4) for at in kept)).split("\n")
    return [
        text if at + 1 in kept or at + 1 == len(lines) else f"{text} …"
        for at, text in zip(kept, texts, strict=True)
    ]
