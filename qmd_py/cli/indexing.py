"""`qmd index`: the index brought up to date with the folders, words first, then vectors."""

from collections.abc import Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qmd_py.cli import completing
from qmd_py.cli.app import IndexOption, Status, bar, configured, notice, show
from qmd_py.cli.embedding import run
from qmd_py.cli.loading import Loader
from qmd_py.cli.options import NoEmbed, composed
from qmd_py.config import Config
from qmd_py.errors import Busy, UsageError
from qmd_py.records.notes import Collection
from qmd_py.render import people
from qmd_py.search.scoping import check_collections

if TYPE_CHECKING:
    from qmd_py.store.writer import Writer

_NONE_YET = "no collections yet: name a folder, as in 'qmd index DIR'"


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
        problems = update(store, chosen, config, prune)
        if not no_embed:
            embed_pending(store, config)
    if problems:
        raise typer.Exit(Status.ERROR)


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
            tell_of_overlap(registry.overlapping(store, added), added)
    chosen = of_one_make(store, wanted, config)
    if not chosen:
        raise UsageError(_NONE_YET)
    return chosen


def of_one_make(store: "Writer", wanted: Set[str], config: Config) -> Sequence[Collection]:
    """The collections of these names, or all: all terms have to be of one make, or a question fits only some."""
    from qmd_py import indexing

    if not wanted or indexing.needs_making_anew(store, config.settings):
        return store.collections()
    return [found for found in store.collections() if found.name in wanted]


def update(
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


def embed_pending(store: "Writer", config: Config) -> None:
    """Embed what is pending, where there is an embedder."""
    from qmd_py import embedding

    loader = Loader(config)
    embedder = loader.embedder()
    if embedder is None:
        for missing in loader.missing:
            notice(f"skipped {missing}")
    elif embedding.waiting(store, embedder):
        try:
            run(store, embedder)
        except Busy as error:
            notice(str(error))  # the work is being done, so this is no failure


def tell_of_overlap(others: Sequence[Collection], added: Collection) -> None:
    """Warn where folders lie in each other."""
    for other in others:
        notice(
            f"the folders of '{added.name}' and '{other.name}' lie in each other: notes in both are "
            "found twice; leave one out with --ignore"
        )
