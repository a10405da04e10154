"""A block rule for what most of a note is, found without all the others being tried."""

import re
from typing import TYPE_CHECKING

from markdown_it.rules_block import heading, list_block

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock

# no rule under a heading, no line of dashes, no head of a table
_ITEM = re.compile(r"(?:[-+*]|\d{1,9}[.)])[ \t]+[^\W\d_]")


def add_to(parser: "MarkdownIt") -> None:
    """Let a parser read plain paragraphs and headings first; what blocks there are stays the same."""
    parser.block.ruler.before("table", "prose", _prose)


def _prose(state: "StateBlock", start: int, end: int, silent: bool) -> bool:
    """A paragraph all of whose lines begin with a letter, or a heading that is no head of a table."""
    if state.is_code_block(start):
        return False
    if _first(state, start) == "#":
        below = _first(state, start + 1) if start + 1 < state.lineMax else ""
        return below not in {"|", "-", ":"} and heading(state, start, end, silent)
    stop = _end(state, start)
    if stop is None:
        return False
    state.push("paragraph", "p", 0).map = [start, stop]
    state.line = stop
    return True


def _end(state: "StateBlock", start: int) -> int | None:
    """Where lines that begin with a letter end: with a blank one or an item; None elsewhere."""
    for at in range(start, state.lineMax):
        first = _first(state, at)
        if not first:
            return at
        if not first.isalpha() or state.sCount[at] < state.blkIndent:
            return at if at > start and _is_item(state, at) else None
    return state.lineMax


def _first(state: "StateBlock", line: int) -> str:
    """The first character of a line that is no space; nothing in a blank one."""
    at = state.bMarks[line] + state.tShift[line]
    return state.src[at] if at < state.eMarks[line] else ""


def _is_item(state: "StateBlock", line: int) -> bool:
    """Whether an item of a list begins, where a paragraph was before it."""
    lazy = state.sCount[line] < 0  # the way a quote marks what goes on without its mark
    if lazy or not _ITEM.match(state.src, state.bMarks[line] + state.tShift[line]):
        return False
    around, state.parentType = state.parentType, "paragraph"
    try:
        return list_block(state, line, state.lineMax, True)
    finally:
        state.parentType = around
