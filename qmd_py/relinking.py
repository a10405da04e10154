"""Where the links of a collection lead once its notes have changed."""

import posixpath
import re
from collections.abc import Collection as Group
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from qmd_py.naming import name_key
from qmd_py.records.notes import Collection, Link
from qmd_py.store import references
from qmd_py.store.references import Named, StoredLink
from qmd_py.store.writer import Writer

_SUFFIX = re.compile(r"\.(?:md|markdown)$")
_ANYWHERE = {"", ".", ".."}
"""Ends of targets that name a folder by its place, and so perhaps any note."""


class Relinking:
    """A run over a collection, and what it means for the links of its notes.

    From `expect` to `finish` the index knows that links may lead elsewhere, however the run ends.
    """

    def __init__(self, store: Writer, collection: Collection) -> None:
        self._store = store
        self._collection = collection
        # what a run has changed that did not get to its end is not known any more
        self._all = references.are_pending(store, collection)
        self._known: set[int] = set()
        self._before: list[Named] = []

    def expect(self, known: Iterable[int]) -> None:
        """Get ready for changes.

        Args:
            known: the notes of the index that may be changed, moved or deleted.
        """
        self._known = set(known)
        self._before = references.named(self._store, self._known)
        with self._store.batch():
            references.set_pending(self._store, self._collection, True)

    def finish(self, put: Iterable[int]) -> None:
        """Let every link lead to the note it names now.

        Args:
            put: the notes that were written.
        """
        touched = self._known.union(put)
        if not touched and not self._all:
            return
        with self._store.batch():
            links = (
                references.links(self._store, self._collection)
                if self._all
                else self._changed(touched)
            )
            if links:
                self._resolve(links)
            references.set_pending(self._store, self._collection, False)

    def _changed(self, touched: set[int]) -> list[StoredLink]:
        """The links of notes that were touched, and those to a name that came, went or moved."""
        renamed = set(self._before).symmetric_difference(references.named(self._store, touched))
        ends = {end for note in renamed for end in _ends(note)}
        own = references.links_from(self._store, touched)
        if not ends:
            return own
        targets = [
            target
            for target in references.targets(self._store, self._collection)
            if not ends.isdisjoint(held := _ends_meant(target, ""))
            or not _ANYWHERE.isdisjoint(held)
        ]
        others = references.links_meaning(self._store, self._collection, targets)
        return [*own, *(one for one in others if one.pid not in touched)]

    def _resolve(self, links: Sequence[StoredLink]) -> None:
        notes = references.names(self._store, self._collection)
        known = Names(notes if self._all else _among(notes, links))
        changed = [
            (found, one.pid, one.ordinal)
            for one in links
            if (found := known.find(one.link, one.pid)) != one.resolved
        ]
        references.set_resolved(self._store, changed)


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
        below_root, below_folder = _paths_meant(target, folder)
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


def _paths_meant(target: str, folder: str) -> tuple[str, str]:
    """What a target means as a path from the collection's folder, and from the note's own."""
    inner = target.lstrip("/")
    return posixpath.normpath(inner), posixpath.normpath(posixpath.join(folder, inner))


def _among(notes: Sequence[Named], links: Sequence[StoredLink]) -> Iterator[Named]:
    """The notes that the links can name, and those they stand in."""
    folders = {note.pid: posixpath.dirname(name_key(note.path)) for note in notes}
    meant = {(one.link.target, folders.get(one.pid, "")) for one in links}
    ends = {end for target, folder in meant for end in _ends_meant(target, folder)}
    sources = {one.pid for one in links}
    return (note for note in notes if note.pid in sources or not ends.isdisjoint(_ends(note)))


def _ends(note: Named) -> Iterator[str]:
    """The last parts of all that a note is called: links that name it end like one of them."""
    path = name_key(note.path)
    names = chain((path, _SUFFIX.sub("", path)), map(name_key, (note.title, *note.aliases)))
    return (name.rpartition("/")[2] for name in names)


def _ends_meant(target: str, folder: str) -> Group[str]:
    """The last parts of all that a target may mean to a note in a folder."""
    key = name_key(target)
    return {name.rpartition("/")[2] for name in (key, *_paths_meant(key, folder))}
