"""Links, near notes and contexts for people."""

from collections.abc import Iterable, Sequence

from qmd_py.linking import Linked, Links
from qmd_py.nearness import Related
from qmd_py.records.notes import Link
from qmd_py.render import styled
from qmd_py.render.styled import HANG, Line
from qmd_py.store.contexts import Context

_ARROWS = {"out": "→", "in": "←", "both": "↔", "": " "}


def links_lines(links: Links) -> list[Line]:
    """Notes that are linked to, notes that link here, and links that lead nowhere."""
    return [
        *(_linked("→", one) for one in links.out),
        *(_linked("←", one) for one in links.into),
        *(_broken(one) for one in links.broken),
    ]


def related_lines(related: Sequence[Related]) -> list[Line]:
    """Likeness or distance, arrows at linked notes, pid, path and title."""
    return [
        [
            (_measure(one), "number"),
            (f"  {_ARROWS[one.linked]}  ", ""),
            (f"#{one.note.pid} ", "faint"),
            (f"{one.note.collection}/{one.note.path}", "place"),
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


def _linked(arrow: str, one: Linked) -> Line:
    lines = ", ".join(map(str, one.lines))
    return [
        (f"{arrow}  ", ""),
        (f"#{one.note.pid} ", "faint"),
        (f"{one.note.collection}/{one.note.path}", "place"),
        HANG,
        (f"  {one.note.title}", "title"),
        (f"  line {lines}", "faint"),
    ]


def _broken(link: Link) -> Line:
    target = f"{link.target}#{link.anchor}" if link.anchor else link.target
    written = f"[[{target}]]" if link.wiki else f"({target})"
    return [("✗  ", ""), (written, "marked"), (f"  line {link.line}", "faint")]


def _measure(one: Related) -> str:
    return f"{one.score:.2f}" if one.score is not None else f"{one.hops or 0:>4}"
