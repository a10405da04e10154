"""The head of a note → what it states, also where a slip makes it no front matter to a parser."""

import functools
import re
from collections.abc import Sequence

from qmd_py.config import Keys
from qmd_py.statements.stated import NOTHING, UNREAD, Stated, stated
from qmd_py.visible import UNSEEN, folded

# How front matter begins, also where a slip makes it none to a parser, and what ends it then.
_BETWEEN = re.compile(rf"(?:\s|{UNSEEN})*")
_DASHES = re.compile(r"[^\w\n]{0,40}?(?:[-;]{2}|[-;–—―−=~][^\w\n]*$)", re.MULTILINE)
_PLUSES = re.compile(r"[^\w\n]{0,40}?\+\+")
_BRACE = re.compile(r"[^\w\n]{0,40}?\{")
_PARAGRAPH = re.compile(r"(?!#)")
_MARKS = re.compile(r"(?:[^\w\n]*\n)*")  # up to the first line that says something
_TITLE = re.compile(r"#[^\n]*\n\s*(?=---|\+\+\+)")
_Kind = tuple[re.Pattern[str], re.Pattern[str]]
_FENCED = (
    (_DASHES, re.compile(r"^---[^\S\r\n]*\r?$", re.MULTILINE)),
    (_PLUSES, re.compile(r"^\+{3,}[^\S\r\n]*\r?$", re.MULTILINE)),
)
_KINDS: Sequence[_Kind] = (
    *_FENCED,
    (_BRACE, re.compile(r"\}[^\S\r\n]*\r?$", re.MULTILINE)),
    (_PARAGRAPH, re.compile(r"^[^\S\r\n]*\r?$", re.MULTILINE)),
)


def said(text: str, keys: Keys) -> Stated:
    """What a file says; nothing that can be relied on where it means to and is broken."""
    head = _head(text)
    if head and _tells(_head(text, len(head), _FENCED), keys):  # a second one
        return UNREAD
    if not _can_tell(head, keys):
        return NOTHING
    from qmd_py.markdown import Lines, frontmatter

    front = frontmatter.read(Lines.of(head).lines)
    if front.metadata:
        return stated(front.metadata, keys)
    return UNREAD if front.problem or _tells(head, keys) else NOTHING


def _head(text: str, at: int = 0, kinds: "Sequence[_Kind] | None" = None) -> str:
    """The text up to the end of what is, or was meant to be, front matter; empty without any."""
    start = _opening(text, at)
    for begins, ends in kinds or _KINDS:
        if begun := begins.match(text, start):
            written = _MARKS.match(text, begun.end())
            end = ends.search(text, written.end() if written else begun.end())
            return text[at : end.end()] if end else text[at:]
    return ""


def _opening(text: str, at: int) -> int:
    """Where the first thing stands that is neither blank, nor a comment, nor a title above a fence."""
    while True:
        blank = _BETWEEN.match(text, at)
        at = blank.end() if blank else at
        end = text.find("-->", at) if text.startswith("<!--", at) else -1
        if end < 0:
            titled = _TITLE.match(text, at)
            return titled.end() if titled else at
        at = end + 3


def _tells(head: str, keys: Keys) -> bool:
    """Whether a key about revision, expiry or readers stands at the beginning of a line."""
    return _can_tell(head, keys) and bool(_telling(keys).search(folded(head)))


def _can_tell(head: str, keys: Keys) -> bool:
    """Whether any of the keys can be in it: YAML is slow to read, and mostly about other things."""
    looks = folded(head)
    return "\\" in head or "<<" in head or any(name in looks for name in _names(keys))


@functools.lru_cache(maxsize=8)
def _names(keys: Keys) -> tuple[str, ...]:
    return tuple(map(folded, (*keys.revision, *keys.published, *keys.expires, *keys.access)))


@functools.lru_cache(maxsize=8)
def _telling(keys: Keys) -> re.Pattern[str]:
    """Finds a key about revision, expiry or readers, in whatever marks it stands."""
    chosen = (*keys.revision, *keys.expires, *keys.access)
    names = "|".join(re.escape(folded(name)) for name in chosen) or "(?!)"
    return re.compile(rf"(?:^|[{{,\r])[^\w\n#]{{0,40}}(?:{names})[^\w\n]{{0,10}}[:=]", re.MULTILINE)
