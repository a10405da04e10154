"""`qmd collection …` and `status`: what is indexed."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from qmd_py.cli import completing
from qmd_py.cli.app import (
    Commands,
    IndexOption,
    Status,
    configured,
    confirm,
    emit,
    notice,
    show,
)
from qmd_py.cli.indexing import embed_pending, of_one_make, tell_of_overlap, update
from qmd_py.cli.options import NoEmbed, composed
from qmd_py.records.notes import Collection
from qmd_py.render import machine, people
from qmd_py.search.scoping import check_collections
from qmd_py.store import embeddings, overview
from qmd_py.store.reader import Reader

collection = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="The folders that are indexed.",
    rich_markup_mode="rich",
)

Json = Annotated[bool, typer.Option("--json", help="JSON.")]
Name = Annotated[
    str,
    typer.Argument(metavar="NAME", callback=composed, autocompletion=completing.collections),
]
Folder = Annotated[Path, typer.Argument(metavar="DIR")]


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
    no_embed: NoEmbed = False,
    index: IndexOption = None,
) -> None:
    """Register a folder of notes and index it.

    qmd collection add ~/notes

    qmd collection add ~/work --name work --ignore drafts/
    """
    from qmd_py import registry
    from qmd_py.store.writer import Writer

    config = configured(index)
    # before the index is made, so that a wrong path leaves no trace
    registry.checked_folder(folder)
    with Writer.open(config.index) as store:
        added = registry.add_collection(store, folder, name, globs or (), ignores or ())
        tell_of_overlap(registry.overlapping(store, added), added)
        problems = update(store, of_one_make(store, {added.name}, config), config, prune=False)
        if not no_embed:
            embed_pending(store, config)
    if problems:
        raise typer.Exit(Status.ERROR)


@collection.command("list")
def list_(as_json: Json = False, index: IndexOption = None) -> None:
    """List the collections.

    qmd collection list

    qmd collection list --json
    """
    config = configured(index)
    with Reader.open(config.index) as store:
        found = store.collections()
    if as_json:
        emit(machine.collections_json(found))
    else:
        show(people.collection_lines(found, config.settings.editor))


@collection.command("show")
def show_(name: Name, as_json: Json = False, index: IndexOption = None) -> None:
    """Show a collection's folder and patterns.

    qmd collection show notes

    qmd collection show notes --json
    """
    config = configured(index)
    with Reader.open(config.index) as store:
        found = _named(store, name)
    if as_json:
        emit(machine.collections_json([found]))
    else:
        show(people.collection_details(found, config.settings.editor))


@collection.command("remove")
def remove(
    name: Name,
    force: Annotated[bool, typer.Option("--force", "-f", help="Do not ask.")] = False,
    index: IndexOption = None,
) -> None:
    """Take a collection out of the index; the files stay where they are.

    qmd collection remove notes

    qmd collection remove notes --force
    """
    from qmd_py.store.writer import Writer

    config = configured(index)
    with Reader.open(config.index) as reader:
        found = _named(reader, name)
    if not force and sys.stdin.isatty():
        confirm(f"Forget the {found.notes} notes of '{name}'?")
    with Writer.open(config.index) as store:
        store.remove_collection(found)
    notice(f"removed '{name}' from the index; {found.root} is untouched")


@collection.command("rename")
def rename(
    name: Name,
    new: Annotated[str, typer.Argument(metavar="NEW")],
    index: IndexOption = None,
) -> None:
    """Give a collection another name; pids stay.

    qmd collection rename notes diary

    qmd collection rename work archive --index work
    """
    from qmd_py import registry
    from qmd_py.store.writer import Writer

    config = configured(index)
    with Reader.open(config.index) as reader:
        found = _named(reader, name)
    with Writer.open(config.index) as store:
        store.rename_collection(found, registry.checked_name(new))
    notice(f"'{name}' is '{new}' now")


def status(as_json: Json = False, index: IndexOption = None) -> None:
    """Show what the index holds.

    qmd status

    qmd status --json
    """
    config = configured(index)
    with Reader.open(config.index) as store:
        found = replace(overview.status(store), vectors=embeddings.overview(store))
    if config.policy and found.problems:
        # they name notes, some of which this reader may not know of
        found = replace(found, problems=(f"{len(found.problems)} notes have problems",))
    if as_json:
        emit(machine.status_json(found))
    else:
        show(people.status_lines(found, config.settings.editor))


def _named(store: Reader, name: str) -> Collection:
    check_collections(store, [name])
    return next(found for found in store.collections() if found.name == name)
