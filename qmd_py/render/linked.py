"""Links, near notes and contexts for people."""

from collections.abc import Iterable, Iterator, Sequence

from qmd_py.linking import Linked, Links
from qmd_py.nearness import Related
from qmd_py.records.notes import Link
from qmd_py.records.stored import StoredNote
from qmd_py.render import places, styled
from qmd_py.render.styled import HANG, Line, Piece
from qmd_py.store.contexts import Context

_ARROWS = {"out": "→", "in": "←", "both": "↔", "": " "}


def links_lines(links: Links, asked: StoredNote, editor: str | None = None) -> list[Line]:
    """Notes that are linked to, notes that link here, and links that lead nowhere.

    Args:
        links: of the note that was asked for.
        asked: that note.
        editor: the address of a place, as in the settings.
    """
    return [
        *(_linked("→", one, asked, editor) for one in links.out),
        *(_linked("←", one, one.note, editor) for one in links.into),
        *(_broken(one, asked, editor) for one in links.broken),
    ]


def related_lines(related: Sequence[Related], editor: str | None = None) -> list[Line]:
    """Likeness or distance, arrows at linked notes, pid, path and title."""
    return [
        [
            (_measure(one), "number"),
            (f"  {_ARROWS[one.linked]}  ", ""),
            (f"#{one.note.pid} ", "faint"),
            places.note(one.note, editor),
            HANG,
            (f"  {one.note.title}", "title"),
        ]
        for one in related
    ]


def contexts_lines(contexts: Iterable[Context]) -> list[Line]:
    """Where, and what it is about."""
    rows = [("/".join(filter(None, (one.collection, one.path))), one.text) for one in contexts]
    width = max((styled.width(place) for place, _ in rows), default=0)
    return [
        [(styled.filled(place, width) + "  ", "place"), HANG, (text, "")] for place, text in rows
    ]


def _linked(arrow: str, one: Linked, written_in: StoredNote, editor: str | None) -> Line:
    return [
        (f"{arrow}  ", ""),
        (f"#{one.note.pid} ", "faint"),
        places.note(one.note, editor),
        HANG,
        (f"  {one.note.title}", "title"),
        *_lines(one.lines, written_in, editor),
    ]


def _broken(link: Link, written_in: StoredNote, editor: str | None) -> Line:
    target = f"{link.target}#{link.anchor}" if link.anchor else link.target
    written = f"[[{target}]]" if link.wiki else f"({target})"
    return [("✗  ", ""), (written, "marked"), *_lines([link.line], written_in, editor)]


def _lines(numbers: Sequence[int], note: StoredNote, editor: str | None) -> Iterator[Piece]:
    """The lines on which links stand."""
    for at, number in enumerate(numbers):
        yield ", " if at else "  line ", "faint"
        yield places.line(note, number, editor, "faint")


def _measure(one: Related) -> str:
    return f"{one.score:.2f}" if one.score is not None else f"{one.hops or 0:>4}"
