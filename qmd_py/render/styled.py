"""Styled text: plain when piped; coloured, linked and wrapped by rich on a terminal."""

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from qmd_py.visible import disarmed

if TYPE_CHECKING:
    from rich.console import Console
    from rich.style import Style
    from rich.text import Text

Piece = tuple[str, str]
"""Text and the name of its style, perhaps with an address after a blank, to which a terminal links the
text; an empty name is plain."""
Line = list[Piece]

HANG: Piece = ("", "hang")
"""Stands where a line goes on below when it is wider than the terminal; what is before it stays whole.
Of several the last one counts that leaves room."""

PROSE: Piece = ("", "prose")
"""Stands in a line that is read, and so is wrapped before it gets too long for the eye."""
WIDEST = 100  # columns of such a line

# words in these are legible on light and on dark; in yellow, cyan or blue they are not
_STYLES = {
    "place": "magenta",
    "title": "bold",
    "marked": "bold red",
    "faint": "dim",
    "number": "",
    "bar": "cyan",
    "rest": "dim",
}
_COPIED = {"place", "row"}
"""Styles of what is for copying, and so is not broken at the edge of the window."""
_DRAWN = {"bar", "rest"}
"""Styles of what only a terminal shows."""
_BAR = 8  # columns
_NARROWEST = 20  # columns; in a narrower window nothing is won by wrapping words
_INDENT = 2
_LINKLESS = {"linux", "eterm", "eterm-color"}
"""Terminals, by TERM, that show colours and would print a link's address."""
_READABLE = 24  # columns; text that hangs in a narrower one begins on a line of its own


def safe(text: str) -> str:
    """The text with control and direction characters made harmless."""
    return disarmed(text, "�")


def escaped(json: str) -> str:
    """JSON that means the same, with those characters as escapes."""
    return disarmed(json, lambda found: f"\\u{ord(found[0]):04x}")


def bar(share: float, columns: int = _BAR) -> Line:
    """A bar for a share from 0 to 1; a pipe gets none."""
    full = max(0, min(columns, round(share * columns)))
    return [(" " + "━" * full, "bar"), ("╌" * (columns - full), "rest")]


def plain(lines: Iterable[Line]) -> str:
    """The lines without style."""
    return "".join(
        "".join(_piece(text) for text, style in line if style not in _DRAWN) + "\n"
        for line in lines
    )


def coloured(lines: Iterable[Line]) -> str:
    """The lines for this terminal: colours as it and the user allow, words wrapped to its width."""
    import shutil

    from rich.console import Console

    shown = list(lines)
    console = Console(highlight=False, soft_wrap=True)
    if console.is_dumb_terminal:
        console.width = shutil.get_terminal_size().columns  # rich takes 80 without looking
    with console.capture() as captured:
        if shown:
            console.print(text(shown, console))
    return captured.get()


def text(lines: Iterable[Line], console: "Console") -> "Text":
    """The lines as one text of rich's, wrapped to the width of a console."""
    from rich.text import Text

    return Text("\n").join(part for line in lines for part in _wrapped(line, console))


def width(text: str) -> int:
    """How many columns a text takes on a terminal."""
    from rich.cells import cell_len

    return cell_len(_piece(text))


def filled(text: str, columns: int) -> str:
    """The text with blanks up to so many columns."""
    return text + " " * (columns - width(text))


def _wrapped(line: Line, console: "Console") -> "Iterator[Text]":
    columns = min(console.width, WIDEST) if PROSE in line else console.width
    room = max(columns // 2, columns - _READABLE)
    at = _hung(line, room)
    label, body = _assembled(line[:at], console), _assembled(line[at:], console)
    fits = label.cell_len + body.cell_len <= columns or columns < _NARROWEST
    if (
        fits
        or not body.plain.strip()
        or any(style.partition(" ")[0] in _COPIED for _, style in line[at:])
    ):
        yield label + body
        return
    if any(style in _DRAWN for _, style in line):
        yield from _wrapped([piece for piece in line if piece[1] not in _DRAWN], console)
        return
    blanks = len(body.plain) - len(body.plain.lstrip(" "))
    if not at:
        label, body = body[:blanks], body[blanks:]
    elif label.cell_len > room:
        label.rstrip()
        yield label
        label, body = _assembled([(" " * _INDENT, "")], console), body[blanks:]
    indent = label.cell_len
    first, *others = body.wrap(console, columns - indent)
    yield label + first
    for other in others:
        yield _assembled([(" " * indent, "")], console) + other


def _hung(line: Line, room: int) -> int:
    """Where the line goes on below: the last of the places for it that leaves room, else the first."""
    places = [at for at, piece in enumerate(line) if piece == HANG] or [0]
    fitting = [at for at in places if width("".join(text for text, _ in line[:at])) <= room]
    return fitting[-1] if fitting else places[0]


def _assembled(line: Line, console: "Console") -> "Text":
    from rich.text import Text

    return Text.assemble(*((_piece(part), _style(style, console)) for part, style in line))


def _style(style: str, console: "Console") -> "Style":
    from rich.style import Style

    name, _, address = style.partition(" ")
    known = Style.parse(_STYLES.get(name, ""))
    links = console.color_system is not None and os.environ.get("TERM") not in _LINKLESS
    if not address or not links or console.no_color:
        return known
    return known + Style(link=safe(address))


def _piece(text: str) -> str:
    """A part of a line, which a name with a line break in it does not end."""
    return safe(text).replace("\n", "�")
