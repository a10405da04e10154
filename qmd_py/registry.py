"""The folders that are indexed: a collection for each, under a name of its own."""

import os
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from qmd_py import files
from qmd_py.errors import UsageError
from qmd_py.records.notes import Collection
from qmd_py.store.writer import Writer


def checked_folder(folder: Path) -> Path:
    """The folder's absolute path without symbolic links.

    Raises:
        UsageError: it is no folder.
    """
    root = folder.expanduser().absolute()
    if not root.is_dir():
        what = "is not a folder" if root.exists() else "does not exist"
        raise UsageError(f"{root} {what}: name a folder of notes")
    return root.resolve()


def add_collection(
    store: Writer, folder: Path, name: str | None, globs: Sequence[str], ignores: Sequence[str]
) -> Collection:
    """Register a folder under a name (its own unless given).

    Raises:
        UsageError: it is no folder, the name is taken, or a pattern cannot be understood.
    """
    root = checked_folder(folder)
    files.check_patterns([*globs, *ignores])
    with store.batch():
        for known in store.collections():
            if known.root == str(root) and name in {None, known.name}:
                raise UsageError(f"{root} is in the index already, as '{known.name}'")
        return _register(store, root, name, globs, ignores)


def collection_for(store: Writer, folder: Path) -> Collection:
    """The collection whose root is this folder; registered when there is none.

    Raises:
        UsageError: there is none, and it is no folder.
    """
    root = os.path.realpath(folder.expanduser())
    with store.batch():  # so that of several processes that start together only one registers it
        known = next((found for found in store.collections() if found.root == root), None)
        return known or _register(store, checked_folder(folder), None, (), ())


def overlapping(store: Writer, collection: Collection) -> list[Collection]:
    """The other collections whose folder holds this one's, or lies in it."""
    root = Path(collection.root)
    return [
        other
        for other in store.collections()
        if other.id != collection.id
        and (root.is_relative_to(other.root) or Path(other.root).is_relative_to(root))
    ]


def _register(
    store: Writer, root: Path, name: str | None, globs: Sequence[str], ignores: Sequence[str]
) -> Collection:
    chosen = name or _free_name(
        root.name.lstrip("- ") or "notes", {c.name for c in store.collections()}
    )
    return store.add_collection(checked_name(chosen), str(root), globs, ignores)


def _free_name(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}-{number}", number + 1
    return name


def checked_name(name: str) -> str:
    """A name that can stand in paths and on the command line, in NFC.

    Raises:
        UsageError: it cannot.
    """
    if not name.strip() or re.search(r"^\s*-|[/\x00-\x1f]", name):
        raise UsageError(f"{name!r} cannot be a collection's name: use letters, digits, hyphens")
    return unicodedata.normalize("NFC", name.strip())
