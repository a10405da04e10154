"""Links between notes: what they lead to, and what leads to a note."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from qmd_py.records.notes import Link
from qmd_py.records.stored import StoredNote
from qmd_py.store import references
from qmd_py.store.reader import Reader
from qmd_py.store.references import StoredLink

_ATTACHMENT = re.compile(
    r"\.(?:png|jpe?g|gif|svg|webp|bmp|avif|heic|ico|tiff?|pdf|mp[34]|m4[av]|mov|mkv|webm|wav|ogg|flac"
    r"|zip|gz|tar|csv|tsv|json|ya?ml|toml|html?|css|js|ts|py|go|rs|c|h|sh|sql|txt|xml|canvas|base"
    r"|excalidraw|docx?|xlsx?|pptx?|odt|epub)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Linked:
    """A note at one end of links."""

    note: StoredNote
    lines: tuple[int, ...]
    """1-based lines on which the links stand, in the note at their beginning."""


@dataclass(frozen=True, slots=True)
class Links:
    """The links of one note."""

    out: tuple[Linked, ...]
    """Notes it links to, in the order of its text."""
    into: tuple[Linked, ...]
    """Notes that link to it, by collection and path."""
    broken: tuple[Link, ...]
    """Links to notes that there are not."""

    def only(self, may: Callable[[StoredNote], bool]) -> Self:
        """Those whose other end may be shown."""
        out = tuple(one for one in self.out if may(one.note))
        return replace(self, out=out, into=tuple(one for one in self.into if may(one.note)))


def links_of(store: Reader, note: StoredNote) -> Links:
    """The notes that a note links to, those that link to it, and its links that lead nowhere.

    Links to itself are left out, and files that are no notes are not missed.
    """
    leaving = references.links_from(store, [note.pid])
    coming = [one for one in references.links_to(store, [note.pid]) if one.pid != note.pid]
    found = store.notes({one.resolved for one in leaving if one.resolved} | {c.pid for c in coming})
    broken = (
        one.link
        for one in leaving
        if one.resolved not in found
        and one.resolved != note.pid
        and not _ATTACHMENT.search(one.link.target)
    )
    out = [(one.resolved, one) for one in leaving if one.resolved != note.pid]
    return Links(
        _grouped(out, found), _grouped([(one.pid, one) for one in coming], found), tuple(broken)
    )


def linked_to(store: Reader, pid: int) -> dict[int, str]:
    """The notes that a note is linked with, each with `out`, `in` or `both`."""
    out = {one.resolved for one in references.links_from(store, [pid]) if one.resolved}
    into = {one.pid for one in references.links_to(store, [pid])}
    found = {
        one: "both" if one in out & into else "out" if one in out else "in" for one in out | into
    }
    found.pop(pid, None)
    return found


def within(store: Reader, pid: int, hops: int) -> dict[int, int]:
    """The notes that can be reached by at most so many links, either way, with how many it takes."""
    reached = {pid: 0}
    edge = [pid]
    for distance in range(1, hops + 1):
        leaving = {one.resolved for one in references.links_from(store, edge) if one.resolved}
        coming = {one.pid for one in references.links_to(store, edge)}
        edge = sorted((leaving | coming) - reached.keys())
        if not edge:
            break
        reached |= dict.fromkeys(edge, distance)
    del reached[pid]
    return reached


def _grouped(
    links: Sequence[tuple[int | None, StoredLink]], notes: Mapping[int, StoredNote]
) -> tuple[Linked, ...]:
    """Each note once, in the order of its first link, with the lines of all of them."""
    lines: dict[int, list[int]] = {}
    for pid, one in links:
        if pid is not None and pid in notes:
            lines.setdefault(pid, []).append(one.link.line)
    return tuple(Linked(notes[pid], tuple(dict.fromkeys(found))) for pid, found in lines.items())
