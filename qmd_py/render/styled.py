"""Styled text: plain when piped, coloured by rich on a terminal."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from qmd_py.visible import UNSAFE

if TYPE_CHECKING:
    from rich.text import Text

Piece = tuple[str, str]
"""Text and the name of its style; an empty name is plain."""
Line = list[Piece]

_STYLES = {
    "place": "magenta",
    "title": "bold",
    "marked": "bold yellow",
    "faint": "dim",
    "number": "cyan",
}


def safe(text: str) -> str:
    """The text with control and direction characters made harmless."""
    return UNSAFE.sub("�", text)


def escaped(json: str) -> str:
    """JSON that means the same, with those characters as escapes."""
    return UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", json)


def plain(lines: Iterable[Line]) -> str:
    """The lines without style."""
    return "".join("".join(_piece(text) for text, _ in line) + "\n" for line in lines)


def coloured(lines: Iterable[Line]) -> str:
    """The lines for this terminal: colours as it and the user allow, words wrapped to its width."""
    from rich.console import Console

    shown = list(lines)
    console = Console(highlight=False, soft_wrap=True)
    with console.capture() as captured:
        if shown:
            console.print(text(shown))
    return captured.get()


def text(lines: Iterable[Line]) -> "Text":
    """The lines as one text of rich's."""
    from rich.text import Text

    pieces = [[(_piece(part), _STYLES.get(style, "")) for part, style in line] for line in lines]
    return Text("\n").join(Text.assemble(*line) for line in pieces)


def _piece(text: str) -> str:
    """A part of a line, which a name with a line break in it does not end."""
    return safe(text).replace("\n", "�")
