"""`qmd index`, `status` and `collection …`: what is indexed."""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qmd_py.cli.app import IndexOption, Progress, Status, configured, emit, notice, show
from qmd_py.cli.searching import check_collections
from qmd_py.config import Config
from qmd_py.errors import UsageError
from qmd_py.records import Collection, IndexReport
from qmd_py.render import machine, people
from qmd_py.store.reader import Reader

if TYPE_CHECKING:
    from qmd_py.store.writer import Writer

collection = typer.Typer(
    no_args_is_help=True, help="The folders that are indexed.", rich_markup_mode="rich"
)

Json = Annotated[bool, typer.Option("--json", help="JSON.")]
Name = Annotated[str, typer.Argument(metavar="NAME")]
Folder = Annotated[Path, typer.Argument(metavar="DIR")]


def index(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", help="A folder; it becomes a collection when it is none."),
    ] = None,
    collections: Annotated[
        list[str] | None,
        typer.Option("--collection", "-c", metavar="NAME", help="Only this one; repeatable."),
    ] = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="Drop the notes of folders that are gone or empty.")
    ] = False,
    index: IndexOption = None,
) -> None:
    """Bring the index up to date with the folders.

    qmd index ~/notes

    qmd index
    """
    from qmd_py import indexing
    from qmd_py.store.writer import Writer

    config = configured(index)
    if folder and collections:
        raise UsageError("a folder and --collection together: choose one")
    with Writer.open(config.index) as store:
        check_collections(store, collections or ())
        if folder:
            known = indexing.collection_of(store, folder)
            chosen = [known or indexing.add_collection(store, folder, None, (), ())]
        else:
            chosen = [c for c in store.collections() if not collections or c.name in collections]
        if not chosen:
            raise UsageError("no collections yet: name a folder, as in 'qmd index DIR'")
        _run(store, chosen, config, prune)


@collection.command("add")
def add(
    folder: Folder,
    name: Annotated[
        str | None, typer.Option("--name", help="Its name; the folder's own else.")
    ] = None,
    globs: Annotated[
        list[str] | None,
        typer.Option("--glob", metavar="GLOB", help="Which files are notes; repeatable."),
    ] = None,
    ignores: Annotated[
        list[str] | None,
        typer.Option("--ignore", metavar="PATTERN", help="What to leave out; repeatable."),
    ] = None,
    index: IndexOption = None,
) -> None:
    """Register a folder of notes and index it.

    qmd collection add ~/notes

    qmd collection add ~/work --name work --ignore drafts/
    """
    from qmd_py import indexing
    from qmd_py.store.writer import Writer

    config = configured(index)
    if not folder.expanduser().is_dir():
        # before the index is opened, so that a wrong path leaves no trace
        raise UsageError(
            f"{folder.expanduser().absolute()} is not a folder: name a folder of notes"
        )
    with Writer.open(config.index) as store:
        added = indexing.add_collection(store, folder, name, globs or (), ignores or ())
        _run(store, [added], config, prune=False)


@collection.command("list")
def list_(as_json: Json = False, index: IndexOption = None) -> None:
    """List the collections."""
    with Reader.open(configured(index).index) as store:
        found = store.collections()
    if as_json:
        emit(machine.collections_json(found))
    else:
        show(people.collection_lines(found))


@collection.command("show")
def show_(name: Name, as_json: Json = False, index: IndexOption = None) -> None:
    """Show a collection's folder and patterns."""
    with Reader.open(configured(index).index) as store:
        found = _named(store, name)
    if as_json:
        emit(machine.collections_json([found]))
    else:
        show(people.collection_details(found))


@collection.command("remove")
def remove(
    name: Name,
    force: Annotated[bool, typer.Option("--force", "-f", help="Do not ask.")] = False,
    index: IndexOption = None,
) -> None:
    """Take a collection out of the index; the files stay where they are."""
    from qmd_py.store.writer import Writer

    config = configured(index)
    with Reader.open(config.index) as reader:
        found = _named(reader, name)
    if not force and sys.stdin.isatty():
        typer.confirm(f"Forget the {found.notes} notes of '{name}'?", abort=True, err=True)
    with Writer.open(config.index) as store:
        store.remove_collection(found)
    notice(f"removed '{name}' from the index; {found.root} is untouched")


@collection.command("rename")
def rename(
    name: Name,
    new: Annotated[str, typer.Argument(metavar="NEW")],
    index: IndexOption = None,
) -> None:
    """Give a collection another name; pids stay."""
    from qmd_py import indexing
    from qmd_py.store.writer import Writer

    config = configured(index)
    with Reader.open(config.index) as reader:
        found = _named(reader, name)
    with Writer.open(config.index) as store:
        store.rename_collection(found, indexing.checked_name(new))
    notice(f"'{name}' is '{new}' now")


def status(as_json: Json = False, index: IndexOption = None) -> None:
    """Show what the index holds."""
    with Reader.open(configured(index).index) as store:
        found = store.status()
    if as_json:
        emit(machine.status_json(found))
    else:
        show(people.status_lines(found))


def _run(store: "Writer", chosen: Sequence[Collection], config: Config, prune: bool) -> None:
    """Update collections, and tell what was done and what could not be."""
    from qmd_py import indexing

    reports: list[IndexReport] = []
    for found in chosen:
        with _progress(found.name) as progress:
            reports.append(
                indexing.update(store, found, config.settings, prune=prune, progress=progress)
            )
        emit(people.report_line(reports[-1]) + "\n")
        for problem in reports[-1].problems:
            notice(problem)
    if any(report.problems for report in reports):
        raise typer.Exit(Status.ERROR)


def _named(store: Reader, name: str) -> Collection:
    check_collections(store, [name])
    return next(found for found in store.collections() if found.name == name)


@contextlib.contextmanager
def _progress(name: str) -> Iterator[Progress]:
    """A bar on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _done, _all: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, all_: bar.update(task, completed=done, total=all_)
