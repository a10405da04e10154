"""Markdown → HTML, for callers that show it, and the tokens of it for those that show it otherwise."""

from collections.abc import Callable, Iterable, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token


def to_html(markdown: str) -> str:
    """CommonMark with tables as HTML; raw HTML in the note is escaped, since notes are not trusted."""
    return str(_parser().render(markdown))


def tokens(markdown: str, harmless: Callable[[str], str]) -> Sequence[Token]:
    """CommonMark with tables and struck text as tokens; raw HTML in the note is text.

    Args:
        markdown: the text.
        harmless: applied to all that the tokens say, since an entity can stand for any character.
    """
    found = _parser().enable("strikethrough").parse(markdown)
    _made(found, harmless)
    return found


def _made(found: Iterable[Token], harmless: Callable[[str], str]) -> None:
    for token in found:
        token.content = harmless(token.content)
        token.attrs = {
            name: harmless(value) if isinstance(value, str) else value
            for name, value in token.attrs.items()
        }
        _made(token.children or (), harmless)


def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table")
