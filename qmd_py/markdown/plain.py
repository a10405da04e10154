"""Inline Markdown → the text a reader sees."""

import functools
import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline

_MARKED = re.compile(r"[\\`*_\[\]<>&!~=%^]")
_BLOCK_ID = re.compile(r"\s\^[\w-]+\s*$")
# a code span is matched so that the marks inside it stay
_COMMENT_OR_HIGHLIGHT = re.compile(
    r"(?P<code>(?<!`)(`+)(?!`).+?(?<!`)\2(?!`))|%%.*?%%|==(?=\S)(?P<marked>.+?)(?<=\S)=="
)
_WIKILINK = re.compile(r"!?\[\[([^\[\]|]+)(?:\|([^\[\]]*))?\]\]")
_LONGEST = 2000  # characters; inline parsing is quadratic in places, and no heading is that long


def plain_heading(source: str) -> str:
    """The heading as a reader sees it: links, code and emphasis reduced to their text."""
    text = _BLOCK_ID.sub("", source) if "^" in source else source
    if _MARKED.search(text) and len(text) <= _LONGEST:
        text = "".join(_texts(_COMMENT_OR_HIGHLIGHT.sub(_kept, text)))
    return one_line(text)


def one_line(text: str) -> str:
    """The text in NFC with single spaces, so that what looks the same compares the same."""
    return unicodedata.normalize("NFC", " ".join(text.split()))


def _kept(mark: re.Match[str]) -> str:
    return mark["code"] or mark["marked"] or ""


def _texts(source: str) -> list[str]:
    found: list[str] = []
    for token in _parser().parseInline(source)[0].children or []:
        if token.type in {"text", "code_inline", "text_special"}:
            found.append(token.content)
        elif token.type == "image":
            found += [child.content for child in token.children or []] or [token.content]
        elif token.type in {"softbreak", "hardbreak"}:
            found.append(" ")
    return found


@functools.cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("strikethrough")
    parser.inline.ruler.before("link", "wikilink", _wikilink)
    return parser


def _wikilink(state: "StateInline", silent: bool) -> bool:
    """`[[target|alias]]` and `![[target]]`: the alias, else the target."""
    link = _WIKILINK.match(state.src, state.pos)
    if not link:
        return False
    if not silent:
        token = state.push("text", "", 0)
        token.content = (link[2] or link[1]).strip()
    state.pos = link.end()
    return True
