"""Whatever names a note → the note, and the place in it that the name tells."""

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from qmd_py.errors import Ambiguous, NotFound, Refused, UsageError
from qmd_py.records.answers import Scope
from qmd_py.records.stored import StoredNote
from qmd_py.store import overview
from qmd_py.store.reader import Reader

Admitted = Callable[[Sequence[StoredNote]], Sequence[StoredNote]]
"""Gives those of some notes that may be read; raises Refused when none may."""

_ECHOED = 200  # characters of what was typed that an error repeats
_TRIED = 5  # near names that are looked at for one that may be told
_ALL = -1  # SQLite's word for no limit
_SUFFIX = re.compile(r"\.[A-Za-z]{1,8}$")
_BEHIND = re.compile(r"(?::\d+){1,2}$|#.*$")
_PID = re.compile(r"#?(\d{1,18})")
_LINES = re.compile(r"(.+?):(\d{1,9})(?::(\d{1,9}))?")


@dataclass(frozen=True, slots=True)
class Pointer:
    """A note, and what its name said beyond that."""

    note: StoredNote
    line: int = 0
    """1-based; 0 where no line was named."""
    count: int = 0
    """How many lines; 0 for all that follow."""
    anchor: str = ""
    """Of a heading, without `#`; empty where none was named."""


def find(store: Reader, reference: str, admitted: Admitted = list) -> Pointer:
    """The note of whatever qmd prints to name one.

    That is a pid (`42`, `#42`), `path`, `collection/path`, a file, any of these with `:LINE` or
    `:LINE:COUNT` or `#anchor`, a `file://` or `qmd://` URI, or the record id of a source.

    Raises:
        NotFound: there is no such note.
        Ambiguous: the path stands in several collections.
        UsageError: a line or a count is nought.
        Refused: there is one, and it may not be read.
    """
    if found := _found(store, reference, admitted):
        return found
    if pid := _PID.fullmatch(reference):
        raise NotFound(f"no note with pid {int(pid[1])}: search again, or see 'qmd ls'")
    near = _near(store, reference, admitted)
    raise NotFound(f"no note at '{echo(reference)}'{near}: see 'qmd ls' for the paths")


def matching(store: Reader, reference: str, admitted: Admitted = list) -> Sequence[Pointer]:
    """The same, or all notes that a glob over `path` or `collection/path` fits; `*` crosses folders.

    Raises:
        NotFound: there is no such note.
        Ambiguous: the path stands in several collections.
        UsageError: a line or a count is nought.
        Refused: there are some, and none may be read.
    """
    glob = reference.removeprefix("qmd://")
    if not set("*?") & set(glob):
        return [find(store, reference, admitted)]
    if found := _found(store, reference, admitted):
        return [found]
    notes = store.notes_of(Scope(paths=(glob,))) or _below_a_collection(store, glob)
    if not notes:
        raise NotFound(f"no note fits '{echo(reference)}': see 'qmd ls' for the paths")
    return [Pointer(note) for note in admitted(notes)]


def echo(typed: str) -> str:
    """What was typed, as far as an error repeats it."""
    return typed if len(typed) <= _ECHOED else f"{typed[:_ECHOED]}…"


def _found(store: Reader, reference: str, admitted: Admitted) -> Pointer | None:
    for name, line, count, anchor in _readings(reference):
        if found := _notes(store, name):
            return Pointer(_only(name, admitted(found)), line, count, anchor)
    if pointer := _of_record(store, reference):
        return Pointer(_only(reference, admitted([pointer.note])), anchor=pointer.anchor)
    return None


def _near(store: Reader, reference: str, admitted: Admitted) -> str:
    """The note that may have been meant, by its file's name or its title; none that is refused."""
    from qmd_py import spelling

    typed = _BEHIND.sub("", reference)
    named: dict[str, list[str]] = {}
    for _pid, label, title in overview.labels(store, "", _ALL):
        for text in {_stem(label), title}:
            named.setdefault(text, []).append(label)
    near = spelling.alike(_stem(typed), list(named), _TRIED)
    # of files of one name in several folders the path decides
    labels = [label for text in near for label in spelling.alike(typed, named[text], _TRIED, 0)]
    for label in labels[:_TRIED]:
        with contextlib.suppress(Refused):
            if admitted(store.notes_at(label)):
                return f" (did you mean '{echo(label)}'?)"
    return ""


def _stem(path: str) -> str:
    return _SUFFIX.sub("", path.rpartition("/")[2])


def _readings(reference: str) -> Iterator[tuple[str, int, int, str]]:
    """The ways to take a reference apart, the plainest first: name, line, count, anchor."""
    yield reference, 0, 0, ""
    if parts := _LINES.fullmatch(reference):
        line, count = int(parts[2]), int(parts[3] or 0)
        if not line or (parts[3] and not count):
            raise UsageError(f"'{echo(reference)}': lines and counts begin with 1")
        yield parts[1], line, count, ""
        # a path may end in a colon and digits of its own
        if parts[3]:
            yield f"{parts[1]}:{parts[2]}", count, 0, ""
    name, found, anchor = reference.rpartition("#")
    if found and name:
        yield name, 0, 0, unquote(anchor)


def _notes(store: Reader, name: str) -> list[StoredNote]:
    """The notes of a pid, path, file or URI without line and anchor."""
    if pid := _PID.fullmatch(name):
        return list(store.notes([int(pid[1])]).values())
    if name.startswith("file://"):
        path = name.removeprefix("file://").removeprefix("localhost")
        return _at(store, unquote(path, errors="surrogateescape"))
    path = name.removeprefix("qmd://")
    named = store.notes_at(path)
    if path != name:
        return named or store.notes_at(unquote(path))
    here = _at(store, path)
    if named and here and not {note.pid for note in named} & {note.pid for note in here}:
        return [*named, *here]
    return named or here


def _at(store: Reader, file: str) -> list[StoredNote]:
    # no file's name can hold a NUL
    return [] if "\0" in file else store.notes_in(os.path.realpath(file))


def _of_record(store: Reader, reference: str) -> Pointer | None:
    """The note of a record id, `collection/pid/anchor`."""
    parts = re.fullmatch(r"(?:qmd://)?([^/]+)/(\d{1,18})/([^/]*)", reference)
    note = store.notes([int(parts[2])]).get(int(parts[2])) if parts else None
    if parts is None or note is None or note.collection != parts[1]:
        return None
    return Pointer(note, anchor=parts[3])


def _below_a_collection(store: Reader, glob: str) -> list[StoredNote]:
    """The notes of one collection that a glob fits."""
    name, _, rest = glob.partition("/")
    return store.notes_of(Scope((name,), (rest,))) if rest else []


def _only(name: str, found: Sequence[StoredNote]) -> StoredNote:
    if len(found) > 1:
        names = ", ".join(f"{note.collection}/{note.path} (pid {note.pid})" for note in found)
        raise Ambiguous(f"'{echo(name)}' could be {names}: name one of them")
    return found[0]
