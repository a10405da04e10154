"""Markdown → HTML, for callers that show it."""

from markdown_it import MarkdownIt


def to_html(markdown: str) -> str:
    """CommonMark with tables as HTML; raw HTML in the note is escaped, since notes are not trusted."""
    return str(MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown))
