"""Contexts as they are typed: what a collection, a folder or a note is about."""

import posixpath
import unicodedata

from qmd_py import spelling
from qmd_py.errors import NotFound, UsageError
from qmd_py.records.answers import Scope
from qmd_py.records.notes import Collection
from qmd_py.store import contexts, paths
from qmd_py.store.contexts import Context
from qmd_py.store.reader import Reader
from qmd_py.store.writer import Writer

_LONGEST = 2000  # characters; it comes with every hit, and tokens are the price


def add(store: Writer, place: str, text: str) -> bool:
    """Say what `COLLECTION[/PATH]` is about; gives whether something else was said before.

    Raises:
        NotFound: there is no such collection, folder or note.
        UsageError: the text is empty or too long.
    """
    said = " ".join(text.split())
    if not said:
        raise UsageError("no text: say what the folder is about, in a sentence")
    if len(said) > _LONGEST:
        raise UsageError(f"the text has {len(said)} characters: say it in at most {_LONGEST}")
    collection, path = _place(store, place)
    notes = store.notes_of(Scope((collection.name,)))
    if path and not any(f"{note.path}/".startswith(f"{path}/") for note in notes):
        near = spelling.suggested_path(f"{collection.name}/{path}", paths.known(store))
        raise NotFound(f"no folder or note '{path}' in '{collection.name}'{near}: see 'qmd ls'")
    before = _known(store, collection, path)
    contexts.put(store, collection, path, said)
    return before


def remove(store: Writer, place: str) -> None:
    """Forget what `COLLECTION[/PATH]` is about.

    Raises:
        NotFound: nothing was said of it.
    """
    collection, path = _place(store, place)
    if not _known(store, collection, path):
        raise NotFound(f"no context for '{place}': see 'qmd context list'")
    contexts.remove(store, collection, path)


def told(store: Reader, *, gated: bool) -> list[Context]:
    """The contexts; under a policy those of collections alone, since the others name folders and notes."""
    return [one for one in contexts.contexts(store) if not (gated and one.path)]


def _known(store: Reader, collection: Collection, path: str) -> bool:
    known = contexts.contexts(store)
    return any((one.collection, one.path) == (collection.name, path) for one in known)


def _place(store: Reader, place: str) -> tuple[Collection, str]:
    """The collection, and the path in it; empty for all of it."""
    typed = unicodedata.normalize("NFC", place.removeprefix("qmd://"))
    name, _, below = typed.partition("/")
    for collection in store.collections():
        if collection.name == name:
            path = posixpath.normpath(below.strip("/")) if below.strip("/") else ""
            return collection, "" if path == "." else path
    near = spelling.suggestion(name, (found.name for found in store.collections()))
    raise NotFound(f"no collection '{name}'{near}: see 'qmd collection list'")
