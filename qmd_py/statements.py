"""The head of a note → what it states of its revision, its dates and its readers."""

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from qmd_py import moments
from qmd_py.config import Keys
from qmd_py.records import Metadata, MetadataValue
from qmd_py.visible import UNSEEN, folded, one_line

_LONGEST = 200  # characters of a revision, a date or a label; what is longer is none
_UNCLEAR = "unclear"
"""Stands for a date that is no date."""
_EDGES = re.compile(r"^\W+|\W+$")

# How front matter begins, also where a slip makes it none to a parser, and what ends it then.
_BETWEEN = re.compile(rf"(?:\s|{UNSEEN.pattern})*")
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


@dataclass(frozen=True, slots=True)
class Stated:
    """What a note says of itself."""

    revision: str | None = None
    published: str | None = None
    expires: str | None = None
    """Dates are RFC 3339 in UTC; as it was written, or `unclear`, where one cannot be read."""
    access: tuple[str, ...] = ()
    access_known: bool = True
    """Whether the labels could be read at all."""


_NOTHING = Stated()
_UNREAD = Stated(expires=_UNCLEAR, access_known=False)


def said(text: str, keys: Keys) -> Stated:
    """What a file says; nothing that can be relied on where it means to and is broken."""
    head = _head(text)
    if head and _tells(_head(text, len(head), _FENCED), keys):  # a second one
        return _UNREAD
    if not _can_tell(head, keys):
        return _NOTHING
    from qmd_py.markdown import Lines, frontmatter

    front = frontmatter.read(Lines.of(head).lines)
    if front.metadata:
        return stated(front.metadata, keys)
    return _UNREAD if front.problem or _tells(head, keys) else _NOTHING


def stated(metadata: Metadata, keys: Keys) -> Stated:
    """What front matter says.

    Of several keys the first counts that holds a value, of those of expiry the earliest. A key that
    holds nothing, or stands there twice with two values, makes what it is about unclear.
    """
    if "<<" in metadata:  # YAML's way to take keys from elsewhere, which is not followed
        return _UNREAD
    found: dict[str, list[MetadataValue]] = {}
    for key, value in metadata.items():
        # `access:hr:` is a key without a value to YAML
        written = key.partition(":")[0] if value is None else key
        found.setdefault(_key(written[:_LONGEST]), []).append(value)
    access, known = _access(_values(found, keys.access))
    return Stated(
        revision=_revision(_values(found, keys.revision)),
        published=_first(_dates(_values(found, keys.published))),
        expires=_earliest(_dates(_values(found, keys.expires))),
        access=access,
        access_known=known,
    )


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


def _values(
    found: dict[str, list[MetadataValue]], names: Sequence[str]
) -> Iterator[list[MetadataValue]]:
    """What each of the keys holds that are there, in their order."""
    for name in names:
        if values := found.get(_key(name)):
            yield values


@functools.lru_cache(maxsize=1024)
def _key(written: str) -> str:
    """A key as it is compared: small letters, without the marks around it."""
    looks = folded(written)
    return _EDGES.sub("", looks) or looks


def _one(values: Sequence[MetadataValue]) -> MetadataValue:
    """The value that all of them are; None where they differ."""
    return values[0] if all(value == values[0] for value in values) else None


def _text(value: MetadataValue) -> str | None:
    if value is None or isinstance(value, list | dict):
        return None
    line = one_line(str(value))
    return line if 0 < len(line) <= _LONGEST else None


def _revision(held: Iterator[list[MetadataValue]]) -> str | None:
    """Of the first key that holds anything."""
    values = next((values for values in held if any(map(_text, values))), [None])
    return _text(_one(values))


def _access(held: Iterator[list[MetadataValue]]) -> tuple[tuple[str, ...], bool]:
    """The labels, and whether they could be understood: from a list, or `a, b`."""
    values = next(held, None)
    if values is None:
        return (), True
    value = _one(values)
    if isinstance(value, str):
        value = [part for part in value.split(",") if part.strip()]
    written = value if isinstance(value, list) else [value]
    names = [_text(name) for name in written if isinstance(name, str | int)]
    known = bool(written) and len(names) == len(written) and all(names)
    return tuple(dict.fromkeys(filter(None, names))) if known else (), known


def _dates(held: Iterator[list[MetadataValue]]) -> list[str]:
    """Each date in UTC; what was written where it is none."""
    return [_date(_text(_one(values)) or _UNCLEAR) for values in held]


@functools.lru_cache(maxsize=1024)
def _date(written: str) -> str:
    try:
        return moments.rfc3339(moments.parse(written))
    except ValueError:
        return written


def _first(dates: Sequence[str]) -> str | None:
    """That of the first key that holds one."""
    return next((date for date in dates if date != _UNCLEAR), None)


def _earliest(dates: Sequence[str]) -> str | None:
    """The first to come; one that cannot be read comes before all others."""
    return min(dates, key=_order, default=None)


def _order(date: str) -> float:
    try:
        return moments.parse(date).timestamp()
    except ValueError:
        return float("-inf")
