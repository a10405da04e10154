"""Sections and notes as they are read on a terminal."""

import re

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown
from rich.padding import Padding
from rich.text import Text
from rich.theme import Theme

from qmd_py.markdown import frontmatter
from qmd_py.markdown.html import tokens
from qmd_py.render.styled import WIDEST, safe

_BLANK_LINES = re.compile(r"\n(?:(?:\x1b\[[\d;]*m| )*\n){2,}")
_LONGEST = 200_000  # characters; laying out more than that takes seconds
# rich's own have dark backgrounds, and yellow, cyan and blue, which are not legible everywhere
_THEME = Theme(
    {
        "markdown.block_quote": "dim",
        "markdown.code": "magenta",
        "markdown.hr": "dim",
        "markdown.item.bullet": "dim",
        "markdown.item.number": "dim",
        "markdown.link": "underline",
        "markdown.link_url": "dim",
        "markdown.table.border": "dim",
        "markdown.table.header": "bold",
    }
)


def laid_out(markdown: str) -> str:
    """Markdown laid out for this terminal; nothing in it can command the terminal.

    On a terminal that knows no styles, and when it is very long, it stays as it is.
    """
    console = Console(theme=_THEME, highlight=False)
    if console.is_dumb_terminal or len(markdown) > _LONGEST:
        return safe(markdown.rstrip("\n")) + "\n"
    console.width = min(console.width, WIDEST)
    lines = markdown.split("\n")
    head = frontmatter.read(lines).lines
    with console.capture() as captured:
        if head:
            console.print(Text(safe("\n".join(lines[:head])) + "\n", "dim"))
        console.print(_Readable("\n".join(lines[head:])))
    shown = "\n".join(line.rstrip() for line in captured.get().strip("\n").split("\n"))
    return _BLANK_LINES.sub("\n\n", shown) + "\n"


class _Heading(Heading):
    """A heading with its level, neither boxed nor centred."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text.assemble((f"{'#' * int(self.tag[1:])} ", "dim"), (self.text.plain, "bold"))


class _Code(CodeBlock):
    """Code in the colour of text, since colours for code are made for one background."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Padding(Text(str(self.text).expandtabs(4).rstrip()), (0, 0, 0, 4))


class _Readable(Markdown):
    elements = Markdown.elements | {
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
    }

    def __init__(self, markup: str) -> None:
        # addresses are shown, since a link can lead elsewhere than its text says
        super().__init__("", hyperlinks=False)
        self.markup = markup
        self.parsed = list(tokens(markup, safe))
