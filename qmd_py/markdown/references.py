"""What a note's text refers to: links to other notes, and tags."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from qmd_py.markdown.document import Document
from qmd_py.records.notes import Link

# most paragraphs have neither, and these are quick to say so
_LINK_MARK = re.compile(r"\[\[|\]\(|\]:")
_TAG_MARK = re.compile(r"#[^\s#]")
_TICKS = re.compile(r"`+")
_DESTINATION = r"<[^<>\n]*>|[^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*"
_LINK = re.compile(
    r"(?<!\\)\[\[(?P<note>[^\[\]|#\n]*)(?:\#(?P<heading>[^\[\]|\n]*))?(?:\|[^\[\]\n]*)?\]\]"
    rf"|\]\(\s*(?P<inline>{_DESTINATION})"
    rf"|^[ ]{{0,3}}\[(?!\^)[^\[\]\n]+\]:[ \t]*(?P<defined>{_DESTINATION})",
    re.MULTILINE,
)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
# what may hold a `#` that begins no tag
_NO_TAGS = re.compile(r"\[\[[^\[\]\n]*\]\]|\]\([^\s()]*|://\S+|</?[A-Za-z][^<>]*>")
# no punctuation but `-`, `_`, `/`; joiners, which hold words and emoji together, are part of a tag
_TAG = re.compile(
    r"(?:^|(?<=[\s(,;*_~=|>（、，「【«]))\#"
    r"([^\s!-,.:-@\[-^`{-~\x7f-\xa9\xab-\xb4\xb6-\xb9\xbb-\xbf"
    r"\u2000-\u200b\u200e-\u206f\u2e00-\u2e7f\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff65]+)",
    re.MULTILINE,
)
_NO_NAME = re.compile(r"[\d/_-]*")


@dataclass(frozen=True, slots=True)
class References:
    """The links and tags of a text, in order."""

    links: tuple[Link, ...]
    tags: tuple[str, ...]
    """As written, without their `#`, each once."""


def references(document: Document) -> References:
    """The links to other notes and the tags in a note's text; those in code are none."""
    links: list[Link] = []
    tags: dict[str, None] = {}
    for start, paragraph in _paragraphs(document):
        linked, tagged = _LINK_MARK.search(paragraph), _TAG_MARK.search(paragraph)
        if not (linked or tagged):
            continue
        text = _without(_without_code(paragraph), (("<!--", "-->"), ("%%", "%%")))
        if linked:
            links += _links(text, start, document)
        if tagged:
            tags |= dict.fromkeys(_tags(text))
    return References(tuple(links), tuple(tags))


def _paragraphs(document: Document) -> Iterator[tuple[int, str]]:
    """Each run of lines that are neither blank nor code, and the index of its first line."""
    lines = document.lines.lines
    code = {line for b in document.blocks if b.code for line in range(b.start, b.stop)}
    start = document.body
    for at in range(document.body, len(lines) + 1):
        if at == len(lines) or at in code or not lines[at].strip():
            if start < at:
                yield start, document.lines.text(start, at)
            start = at + 1


def _links(text: str, start: int, document: Document) -> Iterator[Link]:
    line, counted = start, 0
    for found in _LINK.finditer(text):
        line += text.count("\n", counted, found.start())
        counted = found.start()
        if link := _link(found, document.lines.number(line)):
            yield link


def _link(found: re.Match[str], line: int) -> Link | None:
    """The link, unless it leads out of the notes or stays in its own."""
    if found["note"] is not None:
        # in a table the bar is written `\|`
        target, anchor, wiki = found["note"].rstrip("\\"), found["heading"] or "", True
    else:
        written = (found["inline"] or found["defined"] or "").strip("<>")
        if _SCHEME.match(written):
            return None
        path, _, anchor = written.partition("#")
        target, anchor, wiki = unquote(path.partition("?")[0]), unquote(anchor), False
    target = target.strip().replace("\0", " ")
    if not target or target.endswith("/"):
        return None
    return Link(target, anchor.rstrip("\\").strip(), wiki, line)


def _tags(text: str) -> Iterator[str]:
    for found in _TAG.findall(_NO_TAGS.sub(" ", text)):
        tag = found.strip("/")
        if not _NO_NAME.fullmatch(tag):
            yield tag


def _without_code(text: str) -> str:
    """The text with its code spans blanked."""
    ticks = [found.span() for found in _TICKS.finditer(text)]
    later: dict[int, list[int]] = {}
    for at in range(len(ticks) - 1, -1, -1):
        later.setdefault(ticks[at][1] - ticks[at][0], []).append(at)
    spans, at = [], 0
    while at < len(ticks):
        start, stop = ticks[at]
        closing = later[stop - start]
        while closing and closing[-1] <= at:
            closing.pop()
        if closing and not _is_escaped(text, start):
            spans.append((start, ticks[closing[-1]][1]))
            at = closing[-1]
        at += 1
    return _blanked(text, spans)


def _is_escaped(text: str, at: int) -> bool:
    before = text[max(0, at - 20) : at]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def _without(text: str, marks: tuple[tuple[str, str], ...]) -> str:
    """The text with everything between an opening and a closing mark blanked."""
    for opening, closing in marks:
        spans, at = [], text.find(opening)
        while at >= 0 and (end := text.find(closing, at + len(opening))) >= 0:
            spans.append((at, end + len(closing)))
            at = text.find(opening, end + len(closing))
        text = _blanked(text, spans)
    return text


def _blanked(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with spaces in place of some spans; lines stay lines."""
    if not spans:
        return text
    parts, at = [], 0
    for start, stop in spans:
        parts += [text[at:start], re.sub(r"[^\n]", " ", text[start:stop])]
        at = stop
    return "".join([*parts, text[at:]])
