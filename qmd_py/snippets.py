"""The lines of a chunk that are worth showing."""

import re
from collections.abc import Callable, Set
from dataclasses import dataclass

from qmd_py.records.values import Value
from qmd_py.terms import Analyzer

DEFAULT_LENGTH = 240  # characters; about three lines of a terminal

_COMMENT = r"(?s)%%.*?%%|<!--.*?-->"
_REPLACEMENTS = (
    ("", _COMMENT, ""),
    ("![[", r"!\[\[([^\[\]|]+)\|\d+(?:x\d+)?\]\]", r"\1"),  # a picture and its size
    ("[[", r"!?\[\[[^\[\]|]+\|([^\[\]]+)\]\]", r"\1"),
    ("[[", r"!?\[\[([^\[\]|]+)\]\]", r"\1"),
    ("](", r"!?\[([^\[\]]*)\]\([^()\s]*(?:\([^()]*\)[^()\s]*)?(?:\s+\"[^\"]*\")?\)", r"\1"),
    ("[!", r"(?m)^([>\s]*)\[!([\w-]+)\][+-]?+[ \t]*(?=\S)", r"\1"),
    ("[!", r"(?m)^([>\s]*)\[!([\w-]+)\][+-]?[ \t]*$", r"\1\2"),
    (">", r"(?m)^[ \t]*(?:>[ \t]?)+", ""),
    ("", r"(?m)^[ \t]*(?:```|~~~).*$", ""),
    ("#", r"(?m)^[ \t]*#{1,6}[ \t]+", ""),
    ("|", r"(?m)^[ \t]*\|?(?:[ \t]*:?-+:?[ \t]*\|)+(?:[ \t]*:?-+:?)?[ \t]*$", ""),
    ("---", r"(?m)^[ \t]*-{3,}[ \t]*$", ""),
    ("", r"(\*\*|__|==|~~)(?=\S)(.+?)(?<=\S)\1", r"\2"),
    ("*", r"(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])", r"\1"),
    ("`", r"(`+)([^`\n]+)\1", r"\2"),
    ("<", r"</?[A-Za-z][^<>\n]*>", ""),
    ("^", r"(?m)[ \t]\^[\w-]+$", ""),
)
"""A sign that a match cannot do without (empty: there are several), pattern, replacement."""
_MARK = re.compile(r"[%<\[*_=~`#^>]|--|\|")
"""Without any of these there is nothing to replace."""

_LONGEST_LINE = 2000  # characters of one line that are cleaned; the rest cannot be shown anyway


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Snippet(Value):
    """Readable text cut from a chunk."""

    text: str
    offset: int
    """Lines from the chunk's first to the snippet's first."""


def readable(markdown: str) -> str:
    """The text without the marks: links, embeds, callouts, comments, emphasis, code, HTML."""
    if not _MARK.search(markdown):
        return markdown
    for sign, pattern, replacement in _REPLACEMENTS:
        if sign in markdown:
            markdown = re.sub(pattern, replacement, markdown)
    return markdown


def snippet(
    text: str,
    wanted: Set[str],
    analyzer: Analyzer,
    length: int = DEFAULT_LENGTH,
    *,
    marked: bool = True,
) -> Snippet:
    """The part of a chunk that holds most of the wanted terms, as readable text.

    Args:
        text: a chunk's Markdown.
        wanted: index terms of the question.
        analyzer: makes terms of the text.
        length: longest snippet in characters.
        marked: whether it is Markdown; the signs of other text are kept.
    """
    lines = [
        line[:_LONGEST_LINE] for line in (_masked_comments(text) if marked else text).split("\n")
    ]
    clean = [" ".join((readable(line) if marked else line).split()) for line in lines]
    held = [_held(line, wanted, analyzer) for line in clean]
    start = _best_start(clean, held, length)
    shown: list[str] = []
    for line in clean[start:]:
        if shown and sum(map(len, shown)) + len(shown) + len(line) > length:
            break
        shown += [line] if line else []
    return Snippet(_fitted(" ".join(shown), wanted, analyzer, length), start)


def window(
    text: str, wanted: Set[str], analyzer: Analyzer, size: Callable[[str], int], most: int
) -> str:
    """The lines of a chunk that hold most of the wanted terms, as they are in the note.

    A line that is longer than that is cut around its first wanted word.

    Args:
        text: a chunk's Markdown.
        wanted: index terms of the question.
        analyzer: makes terms of the text.
        size: what a text costs.
        most: what the window may cost; its last line may go over, for the reader to cut.
    """
    if size(text) <= most:
        return text
    lines = text.split("\n")
    held = [_held(line[:_LONGEST_LINE], wanted, analyzer) for line in lines]
    room = most * len(text) // size(text)
    start = _best_start(lines, held, room)
    # a paragraph is one long line, and what answers may stand at its end
    lines[start] = _fitted(lines[start], wanted, analyzer, room)
    spent = 0
    for at in range(start, len(lines)):
        if spent >= most:
            return "\n".join(lines[start:at])
        spent += size(lines[at]) + 1
    # the end was reached with room to spare: what stands before the window fills it
    while start and spent + size(lines[start - 1]) < most:
        start -= 1
        spent += size(lines[start]) + 1
    return "\n".join(lines[start:])


def _masked_comments(text: str) -> str:
    """Comments that run over several lines emptied, line ends kept."""
    return re.sub(_COMMENT, lambda comment: "\n" * comment[0].count("\n"), text)


def _held(line: str, wanted: Set[str], analyzer: Analyzer) -> frozenset[str]:
    if not wanted or not line:
        return frozenset()
    return analyzer.found_in(line, wanted)


def _best_start(clean: list[str], held: list[frozenset[str]], length: int) -> int:
    """The line from which a snippet of this length holds most wanted terms; the first of equals."""
    best, best_terms = next((at for at, line in enumerate(clean) if line), 0), 0
    for at in range(len(clean)):
        if not held[at]:
            continue
        terms, size = set(held[at]), len(clean[at])
        for line, more in zip(clean[at + 1 :], held[at + 1 :], strict=True):
            size += len(line) + 1
            if size > length:
                break
            terms |= more
        if len(terms) > best_terms:
            best, best_terms = at, len(terms)
    return best


def _fitted(text: str, wanted: Set[str], analyzer: Analyzer, length: int) -> str:
    """A long line cut around its first wanted word."""
    if len(text) <= length:
        return text
    first = next((s.start for s in analyzer.spans(text) if s.terms & wanted), 0)
    start = max(0, min(first - length // 4, len(text) - length))
    if start:
        start = text.find(" ", start, start + 40) + 1 or start
    end = start + length
    if end < len(text):
        end = text.rfind(" ", start + length // 2, end) if " " in text[start:end] else end
        end = end if end > start else start + length
    return ("…" if start else "") + text[start:end].strip() + ("…" if end < len(text) else "")
