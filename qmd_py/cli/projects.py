"""`qmd init` and `import-config`: where an index begins."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qmd_py import config
from qmd_py.cli.app import IndexOption, Status, configured, emit, notice
from qmd_py.errors import UsageError

if TYPE_CHECKING:
    from qmd_py.foreign import Context
    from qmd_py.store.writer import Writer


def init() -> None:
    """Make an index in this folder, `.qmd/index.sqlite`; commands run below it then use that one.

    qmd init

    qmd init && qmd index docs
    """
    from qmd_py.store.writer import Writer

    folder = Path.cwd() / config.PROJECT_FOLDER
    file = folder / config.PROJECT_INDEX
    if config.foreign(folder):
        raise UsageError(f"{folder} is the npm qmd's: see 'qmd import-config --help'")
    known = file.is_file()
    with Writer.open(file):
        pass
    emit(f"{file}\n")
    if known:
        notice("it was here already: nothing was changed")
    if os.environ.get("QMD_INDEX"):
        notice("QMD_INDEX is set and goes before it")


def import_config(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Its index.yml, mostly ~/.config/qmd/index.yml."),
    ],
    index: IndexOption = None,
) -> None:
    """Take over the collections of the npm qmd: folders, masks, ignores and contexts.

    qmd import-config ~/.config/qmd/index.yml

    qmd import-config old/index.yml --index old && qmd index --index old
    """
    from qmd_py import foreign, registry
    from qmd_py.store.writer import Writer

    found = foreign.read(file)
    failed = False
    with Writer.open(configured(index).index) as store:
        for wanted in found.collections:
            try:
                added = registry.add_collection(
                    store, wanted.root, wanted.name, wanted.globs, wanted.ignores
                )
            except UsageError as error:  # the others can be taken over all the same
                failed = True
                notice(f"{wanted.name}: {error}")
            else:
                emit(f"{added.name}  {added.root}\n")
        left = found.others
        if unknown := _take_contexts(store, found.contexts):
            left = (f"{unknown} contexts", *left)
    if left:
        notice(f"not taken over: {', '.join(left)}")
    if failed:
        raise typer.Exit(Status.ERROR)


def _take_contexts(store: "Writer", wanted: Sequence["Context"]) -> int:
    """Keep what folders are about; gives how many are of collections that are not here."""
    from qmd_py.store import contexts

    known = {collection.name: collection for collection in store.collections()}
    said: dict[tuple[str, str], list[str]] = {}
    for one in wanted:
        said.setdefault((one.collection, one.path), []).append(" ".join(one.text.split()))
    for (name, path), texts in said.items():
        if name in known:
            contexts.put(store, known[name], path, "; ".join(texts))
    return sum(one.collection not in known for one in wanted)
