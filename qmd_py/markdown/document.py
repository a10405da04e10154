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


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed note."""

    lines: Lines
    front: FrontMatter
    title: str
    spots: tuple[Spot, ...]
    """Every toc entry with its place in `lines`, in order."""
    blocks: tuple[Block, ...]

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
    tokens = _parser().parse(body)
    headings = _headings(tokens)
    leading = _leading(headings, lines, front)
    title = front.title or (leading.title if leading else None) or stem
    is_title = leading is not None and (front.title is None or front.title == leading.title)
    spots = grow(headings, lines, front.lines, title, titled=leading if is_title else None)
    return Document(lines, front, title, spots, _blocks(tokens))


@functools.cache
def _parser() -> "MarkdownIt":
    """Block rules only: inline ones cost more than half the time and can be quadratic."""
    from markdown_it import MarkdownIt  # front matter alone is read without

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _headings(tokens: "Sequence[Token]") -> list[Heading]:
    """The headings at the top level; those in quotes and lists are part of the text."""
    return [
        Heading(plain_heading(inline.content), int(token.tag[1:]), token.map[0], token.map[1])
        for token, inline in itertools.pairwise(tokens)
        if token.type == "heading_open" and token.level == 0 and token.map
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
        Block(token.map[0], token.map[1], token.level, token.type == "fence")
        for token in tokens
        if token.map and token.nesting >= 0 and token.type != "inline"
    )
