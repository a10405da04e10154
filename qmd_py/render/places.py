"""Places that a terminal links to: a line of a file in the user's editor, or a folder."""

import os
from urllib.parse import quote, unquote

from qmd_py.records.stored import StoredNote
from qmd_py.render.styled import Piece


def place(text: str, file: str, line: int, editor: str | None, style: str = "place") -> Piece:
    """A text that leads to a line of a file.

    Args:
        text: what is shown.
        file: absolute path.
        line: 1-based.
        editor: the address of a place, as in the settings.
        style: of the text.
    """
    return text, f"{style} {address(file, line, editor)}"


def note(of: StoredNote, editor: str | None) -> Piece:
    """`collection/path` of a note."""
    return place(f"{of.collection}/{of.path}", file_of(of), 1, editor)


def line(of: StoredNote, number: int, editor: str | None, style: str) -> Piece:
    """The number of a line of a note."""
    return place(str(number), file_of(of), number, editor, style)


def folder(text: str, root: str, editor: str | None) -> Piece:
    """A folder, which editors of lines do not open."""
    return place(text, root, 1, "none" if editor == "none" else None)


def source(uri: str, line: int, editor: str | None) -> Piece:
    """The `file://` address of a source, which opens at a line."""
    file = unquote(uri.partition("#")[0].removeprefix("file://"), errors="surrogateescape")
    return place(uri, file, max(line, 1), editor)


def file_of(of: StoredNote) -> str:
    """The absolute path of a note's file."""
    return os.path.join(of.root, of.file)  # noqa: PTH118 — ten times as fast, of each note listed


def address(file: str, line: int, editor: str | None = None) -> str:
    """The address of a line; empty where the user wants none.

    Args:
        file: absolute path.
        line: 1-based.
        editor: an address with `{path}` and perhaps `{line}`, or `none`; None: a `file://` address.
    """
    if editor == "none":
        return ""
    path = quote(os.fsencode(file))
    return (editor or "file://{path}").replace("{path}", path).replace("{line}", str(line))
