"""An index inside a project may have come with a checkout: it is data, and held to its folder."""

import os
import sqlite3
import stat
from pathlib import Path

from qmd_py.config import PROJECT_FOLDER
from qmd_py.errors import IndexUnusable, UsageError

_AWAY = "choose another index with --index"


def folder_of(index: Path) -> str | None:
    """The folder, links resolved, whose project an index belongs to; None for an index of no project."""
    place = index.absolute().parent
    return os.path.realpath(place.parent) if place.name == PROJECT_FOLDER else None


def check_files(index: Path) -> None:
    """Make sure that nothing beside a project's index leads elsewhere.

    Raises:
        IndexUnusable: something is a link, or neither file nor folder.
    """
    if folder_of(index) is None:
        return
    place = index.absolute().parent
    if place.is_symlink():
        raise IndexUnusable(f"{place} is a symbolic link: {_AWAY}")
    if not place.is_dir():
        return
    for entry in place.iterdir():
        try:
            mode = entry.lstat().st_mode
        except FileNotFoundError:  # another process has closed the index
            continue
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise IndexUnusable(f"{entry} is no regular file: {_AWAY}")


def check_contents(index: Path, connection: sqlite3.Connection) -> None:
    """Make sure that a project's index holds nothing but data about the project.

    Raises:
        IndexUnusable: it would run statements of its own, or speaks of files outside.
    """
    folder = folder_of(index)
    if folder is None:
        return
    connection.execute("PRAGMA trusted_schema = OFF")
    schema = "SELECT name FROM sqlite_schema WHERE type IN ('trigger', 'view')"
    for (name,) in connection.execute(schema):
        raise IndexUnusable(f"index {index} would run statements of its own ('{name}'): {_AWAY}")
    for name, root in connection.execute("SELECT name, root FROM collections"):
        if inside(folder, root) is None:
            raise IndexUnusable(
                f"index {index}: collection '{name}' lies outside the project {folder}: {_AWAY}"
            )
    for (file,) in connection.execute("SELECT file FROM spaces"):
        if "/" in file or not file.startswith(f"{index.name}."):
            raise IndexUnusable(f"index {index}: its vectors lie elsewhere: {_AWAY}")


def inside(folder: str, root: str) -> str | None:
    """A root as an absolute path, links resolved; None when it lies outside the folder."""
    if "\0" in root:
        return None
    found = os.path.realpath(os.path.join(folder, root))  # noqa: PTH118 — `root` may be absolute
    return found if found == folder or found.startswith(folder.rstrip(os.sep) + os.sep) else None


def stored(index: Path, root: str) -> str:
    """A root as the index keeps it: relative in a project, so that a checkout elsewhere works.

    Raises:
        UsageError: it lies outside the project.
    """
    folder = folder_of(index)
    if folder is None:
        return root
    found = inside(folder, root)
    if found is None:
        raise UsageError(f"{root} lies outside the project {folder}: {_AWAY}")
    return os.path.relpath(found, folder)


def resolved(folder: str | None, root: str) -> str:
    """A root as it was registered, where the project is now."""
    return root if folder is None else inside(folder, root) or root


def check_note(index: Path, file: str) -> None:
    """Make sure that a note of a project's index lies below its root.

    Raises:
        IndexUnusable: it does not.
    """
    if file.startswith("/") or ".." in file.split("/") or "\0" in file:
        raise IndexUnusable(f"index {index}: the note {file!r} lies outside its folder: {_AWAY}")
