"""`qmd index`, `status` and `collection …`: what is indexed."""

import sys
from collections.abc import Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qmd_py.cli import completing
from qmd_py.cli.app import (
    Commands,
    IndexOption,
    Status,
    bar,
    configured,
    confirm,
    emit,
    notice,
    show,
)
from qmd_py.cli.embedding import run as run_embedding
from qmd_py.cli.loading import Loader
from qmd_py.cli.options import NoEmbed, composed
from qmd_py.config import Config
from qmd_py.errors import Busy, UsageError
from qmd_py.records.notes import Collection
from qmd_py.render import machine, people
from qmd_py.search.scoping import check_collections
from qmd_py.store import embeddings, overview
from qmd_py.store.reader import Reader

if TYPE_CHECKING:
    from qmd_py.store.writer import Writer

collection = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="The folders that are indexed.",
    rich_markup_mode="rich",
)

_NONE_YET = "no collections yet: name a folder, as in 'qmd index DIR'"

Json = Annotated[bool, typer.Option("--json", help="JSON.")]
Name = Annotated[
    str,
    typer.Argument(metavar="NAME", callback=composed, autocompletion=completing.collections),
]
Folder = Annotated[Path, typer.Argument(metavar="DIR")]


def index(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", help="A folder; it becomes a collection when it is none."),
    ] = None,
    collections: Annotated[
        list[str] | None,
        typer.Option(
            "--collection",
            "-c",
            metavar="NAME",
            callback=composed,
            help="Only this one; repeatable.",
            autocompletion=completing.collections,
        ),
    ] = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="Drop the notes of folders that are gone or empty.")
    ] = False,
    no_embed: NoEmbed = False,
    index: IndexOption = None,
) -> None:
    """Bring the index up to date with the folders: words first, then vectors.

    qmd index ~/notes

    qmd index
    """
    from qmd_py import registry
    from qmd_py.store.writer import Writer

    config = configured(index)
    if folder and collections:
        raise UsageError("a folder and --collection together: choose one")
    if not config.index.is_file():
        # before the index is made, so that a wrong command leaves no trace
        if folder is None:
            raise UsageError(_NONE_YET)
        registry.checked_folder(folder)
    with Writer.open(config.index) as store:
        chosen = _chosen(store, folder, collections or (), config)
        problems = _run(store, chosen, config, prune)
        if not no_embed:
            _embed(store, config)
    if problems:
        raise typer.Exit(Status.ERROR)


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
    registry.checked_folder(
        folder
    )  # before the index is made, so that a wrong path leaves no trace
    with Writer.open(config.index) as store:
        added = registry.add_collection(store, folder, name, globs or (), ignores or ())
        _tell_of_overlap(registry.overlapping(store, added), added)
        problems = _run(store, _of_one_make(store, {added.name}, config), config, prune=False)
        if not no_embed:
            _embed(store, config)
    if problems:
        raise typer.Exit(Status.ERROR)


def _tell_of_overlap(others: Sequence[Collection], added: Collection) -> None:
    for other in others:
        notice(
            f"the folders of '{added.name}' and '{other.name}' lie in each other: notes in both are "
            "found twice; leave one out with --ignore"
        )


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


def _chosen(
    store: "Writer", folder: Path | None, names: Sequence[str], config: Config
) -> Sequence[Collection]:
    """The collections to update; a folder that is none becomes one."""
    from qmd_py import registry

    check_collections(store, names)
    known = {found.name for found in store.collections()}
    wanted = {registry.collection_for(store, folder).name} if folder else set(names)
    for added in store.collections():
        if added.name in wanted - known:
            _tell_of_overlap(registry.overlapping(store, added), added)
    chosen = _of_one_make(store, wanted, config)
    if not chosen:
        raise UsageError(_NONE_YET)
    return chosen


def _of_one_make(store: "Writer", wanted: Set[str], config: Config) -> Sequence[Collection]:
    """The collections of these names, or all: all terms have to be of one make, or a question fits only some."""
    from qmd_py import indexing

    if not wanted or indexing.needs_making_anew(store, config.settings):
        return store.collections()
    return [found for found in store.collections() if found.name in wanted]


def _run(
    store: "Writer", chosen: Sequence[Collection], config: Config, prune: bool
) -> Sequence[str]:
    """Update collections, and tell what was done and what could not be; gives the problems."""
    from qmd_py import indexing

    problems: list[str] = []
    for found in chosen:
        with bar(found.name) as progress:
            report = indexing.update(store, found, config.settings, prune=prune, progress=progress)
        show([[(people.report_line(report), "")]])
        for problem in report.problems:
            notice(problem)
        problems += report.problems
    return problems


def _embed(store: "Writer", config: Config) -> None:
    """Embed what is pending, where there is an embedder."""
    from qmd_py import embedding

    loader = Loader(config)
    embedder = loader.embedder()
    if embedder is None:
        for missing in loader.missing:
            notice(f"skipped {missing}")
    elif embedding.waiting(store, embedder):
        try:
            run_embedding(store, embedder)
        except Busy as error:
            notice(str(error))  # the work is being done, so this is no failure


def _named(store: Reader, name: str) -> Collection:
    check_collections(store, [name])
    return next(found for found in store.collections() if found.name == name)
