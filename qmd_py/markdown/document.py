"""A note's text parsed: front matter, title, sections, blocks."""

import functools
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qmd_py.markdown import frontmatter
from qmd_py.markdown.frontmatter import FrontMatter
from qmd_py.markdown.lines import Lines
from qmd_py.markdown.plain import plain_heading
from qmd_py.markdown.tree import Heading, Spot, grow

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# possessive: it looks at every character once, however the text goes on
_NO_TEXT = re.compile(r"(?:\s++|<!--.*?-->|%%.*?%%)*+", re.DOTALL)
# a line with a mark of Markdown, or after a blank one: what takes the parser's time and memory
_BLOCK = re.compile(r"^[ \t]*(?:[-+*>#|=`~]|\d{1,9}[.)])|^[ \t]*\n(?=[ \t]*[^\s])", re.MULTILINE)
_MOST_BLOCKS = 200_000  # parsed in ten seconds; nobody writes that much into one note by hand
_MOST_LINES = 500_000
_REFERENCE = re.compile(r"^ {0,3}\[[^\]\n]*\]:", re.MULTILINE)
_MOST_REFERENCES = 2000  # in a row their time is quadratic; without the rule they are paragraphs
_LONGEST_HEADING = 500  # characters; it is repeated in every chunk, and what is longer is text

_MAY_BE_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+\S", re.MULTILINE)
_CODE = {"fence", "code_block"}


@dataclass(frozen=True, slots=True)
class Block:
    """A block element, for cutting between blocks and never inside one."""

    start: int
    stop: int
    """0-based lines, exclusive."""
    depth: int
    """0 at the top level; items, rows and quoted blocks lie deeper."""
    whole: bool
    """Whether a cut inside would break it (a fence)."""
    code: bool
    """Whether its text is code, fenced or indented."""


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed note."""

    lines: Lines
    front: FrontMatter
    title: str
    spots: tuple[Spot, ...]
    """Every toc entry with its place in `lines`, in order."""
    blocks: tuple[Block, ...]
    problem: str | None
    """What was passed over, in words."""
    remark: str | None = None
    """What whoever wrote it may not have meant, in words."""

    @property
    def body(self) -> int:
        """0-based first line after the front matter."""
        return self.front.lines

    def text(self, spot: Spot) -> str:
        """The Markdown of a section, its heading and its subsections included."""
        return self.lines.text(spot.start, spot.stop).strip("\n")


def parse(text: str, stem: str) -> Document:
    """Parse a note; `stem` is the title when the note names none.

    Never raises for odd Markdown: everything is Markdown.
    """
    lines = Lines.of(text)
    front = frontmatter.read(lines.lines)
    body = "\n" * front.lines + lines.text(front.lines, len(lines.lines))
    tokens = _tokens(body)
    headings = _headings(tokens or ())
    leading = _leading(headings, lines, front)
    title = front.title or (leading.title if leading else None) or stem
    is_title = leading is not None and (front.title is None or front.title == leading.title)
    spots = grow(headings, lines, front.lines, title, titled=leading if is_title else None)
    problem = front.problem or (_TOO_MANY if tokens is None else None)
    remark = _left_open(tokens or (), lines)
    return Document(lines, front, title, spots, _blocks(tokens or ()), problem, remark)


_TOO_MANY = f"more than {_MOST_LINES:,} lines or {_MOST_BLOCKS:,} blocks: read as plain text"


def _left_open(tokens: "Sequence[Token]", lines: Lines) -> str | None:
    """What to say of a note whose last block of code is never closed and holds what may be headings."""
    last = tokens[-1] if tokens else None
    if last is None or last.type != "fence" or last.map is None:
        return None
    start, stop = last.map
    ending = lines.lines[stop - 1].strip() if stop - 1 > start else ""
    closed = len(ending) >= len(last.markup) and set(ending) == {last.markup[0]}
    if closed or not _MAY_BE_HEADING.search(last.content):
        return None
    return f"the code that begins in line {start + 1} is never closed: headings below it are text"


def _tokens(body: str) -> "Sequence[Token] | None":
    """The tokens of the blocks; None when there are more than can be parsed in good time."""
    blocks = _BLOCK.finditer(body)
    many = body.count("\n") > _MOST_LINES
    if many or next(itertools.islice(blocks, _MOST_BLOCKS, None), None):
        return None
    references = itertools.islice(_REFERENCE.finditer(body), _MOST_REFERENCES, None)
    return _parser(references=next(references, None) is None).parse(body)


@functools.cache
def _parser(*, references: bool) -> "MarkdownIt":
    """Block rules only: inline ones cost more than half the time and can be quadratic."""
    from markdown_it import MarkdownIt  # front matter alone is read without

    from qmd_py.markdown import prose

    parser = MarkdownIt("commonmark").enable("table")
    prose.add_to(parser)
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser if references else parser.disable("reference")


def _headings(tokens: "Sequence[Token]") -> list[Heading]:
    """The headings at the top level; those in quotes and lists are part of the text."""
    return [
        Heading(plain_heading(inline.content), int(token.tag[1:]), token.map[0], token.map[1])
        for token, inline in itertools.pairwise(tokens)
        if token.type == "heading_open"
        and token.level == 0
        and token.map
        and len(inline.content) <= _LONGEST_HEADING
    ]


def _leading(headings: Sequence[Heading], lines: Lines, front: FrontMatter) -> Heading | None:
    """The single H1 with nothing but comments before it, if the note has one."""
    level_one = [heading for heading in headings if heading.level == 1]
    if len(level_one) != 1 or level_one[0] is not headings[0] or not headings[0].title:
        return None
    before = lines.text(front.lines, headings[0].line)
    return headings[0] if _NO_TEXT.fullmatch(before) else None


def _blocks(tokens: "Sequence[Token]") -> tuple[Block, ...]:
    return tuple(
        Block(token.map[0], token.map[1], token.level, token.type == "fence", token.type in _CODE)
        for token in tokens
        if token.map and token.nesting >= 0 and token.type != "inline"
    )
