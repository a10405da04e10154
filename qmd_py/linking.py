"""Links between notes: what they lead to, and what leads to a note."""

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from qmd_py.naming import name_key
from qmd_py.records.notes import Collection, Link
from qmd_py.records.stored import StoredNote
from qmd_py.store import references
from qmd_py.store.reader import Reader
from qmd_py.store.references import Named, StoredLink
from qmd_py.store.writer import Writer

_SUFFIX = re.compile(r"\.(?:md|markdown)$")
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


def expect_changes(store: Writer, collection: Collection) -> None:
    """Remember that links may soon lead elsewhere, however the run ends that changes the notes."""
    with store.batch():
        references.set_pending(store, collection, True)


def resolve_pending(store: Writer, collection: Collection) -> None:
    """Let every link of a collection lead to the note it names now, where notes have changed."""
    if not references.are_pending(store, collection):
        return
    with store.batch():
        links = references.links(store, collection)
        known = Names(references.names(store, collection) if links else ())
        changed = [
            (found, one.pid, one.ordinal)
            for one in links
            if (found := known.find(one.link, one.pid)) != one.resolved
        ]
        references.set_resolved(store, changed)
        references.set_pending(store, collection, False)


class Names:
    """What the notes of a collection are called."""

    def __init__(self, notes: Iterable[Named]) -> None:
        """Of several notes with a name in common the uppermost comes first, then by path."""
        self._folders: dict[int, str] = {}
        self._paths: dict[str, int] = {}
        self._ends: dict[str, list[int]] = {}
        self._titles: dict[str, list[int]] = {}
        self._aliases: dict[str, list[int]] = {}
        self._found: dict[tuple[str, str], int | None] = {}
        for note in sorted(notes, key=lambda one: (one.path.count("/"), one.path)):
            self._add(note)

    def find(self, link: Link, source: int) -> int | None:
        """The note that a link in the note `source` names, if there is one.

        A path counts from the note's own folder, then from the collection's, then as the end of a
        longer one; after paths come titles, then aliases. Of several, one in the same folder is
        taken, else the uppermost.
        """
        asked = (link.target, self._folders.get(source, ""))
        if asked not in self._found:
            self._found[asked] = self._look_up(name_key(link.target), asked[1])
        return self._found[asked]

    def _add(self, note: Named) -> None:
        path = name_key(note.path)
        self._folders[note.pid] = posixpath.dirname(path)
        for name in {path, _SUFFIX.sub("", path)}:
            self._paths.setdefault(name, note.pid)
            parts = name.split("/")
            for at in range(len(parts)):
                self._ends.setdefault("/".join(parts[at:]), []).append(note.pid)
        self._titles.setdefault(name_key(note.title), []).append(note.pid)
        for alias in note.aliases:
            self._aliases.setdefault(name_key(alias), []).append(note.pid)

    def _look_up(self, target: str, folder: str) -> int | None:
        below_root = posixpath.normpath(target.lstrip("/"))
        below_folder = posixpath.normpath(posixpath.join(folder, target.lstrip("/")))
        if target.startswith(("./", "../")):
            return self._paths.get(below_folder)
        if target.startswith("/"):
            return self._paths.get(below_root)
        for path in (below_folder, below_root):
            if path in self._paths:
                return self._paths[path]
        for names, name in (
            (self._ends, below_root), (self._titles, target), (self._aliases, target)
        ):  # fmt: skip
            if pids := names.get(name):
                return next((pid for pid in pids if self._folders[pid] == folder), pids[0])
        return None


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
