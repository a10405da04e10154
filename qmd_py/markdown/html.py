"""Markdown → HTML, for callers that show it, and the tokens of it for those that show it otherwise."""

from collections.abc import Callable, Iterable, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token


def to_html(markdown: str) -> str:
    """CommonMark with tables as HTML; raw HTML in the note is escaped, since notes are not trusted."""
    return str(_parser().render(markdown))


def tokens(markdown: str, harmless: Callable[[str], str]) -> Sequence[Token]:
    """CommonMark with tables and struck text as tokens, for showing letters alone.

    Raw HTML and pictures are text as they are written, and the end of a line is one.

    Args:
        markdown: the text.
        harmless: applied to all that the tokens say, since an entity can stand for any character.
    """
    found = _parser().enable("strikethrough").parse(markdown)
    _readable(found, harmless)
    return found


def _readable(found: Iterable[Token], harmless: Callable[[str], str]) -> None:
    for token in found:
        token.content = harmless(token.content)
        token.attrs = {
            name: harmless(value) if isinstance(value, str) else value
            for name, value in token.attrs.items()
        }
        if token.type == "image":
            token.type, token.tag = "text", ""
            token.content = f"![{token.content}]({token.attrs['src']})"
            token.children = None
        elif token.type == "softbreak":
            token.type = "hardbreak"
        _readable(token.children or (), harmless)


def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table")
