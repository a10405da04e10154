"""Markdown text → front matter, title, section tree with line numbers."""

from qmd_py.markdown.document import Block, Document, parse
from qmd_py.markdown.lines import Lines
from qmd_py.markdown.plain import plain_heading

__all__ = ["Block", "Document", "Lines", "parse", "plain_heading"]
