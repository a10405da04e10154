"""`qmd context …`: what folders are about."""

from typing import Annotated

import typer

from qmd_py.cli import completing, hinting
from qmd_py.cli.app import Commands, IndexOption, configured, emit, notice, show
from qmd_py.store.reader import Reader

context = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="What folders are about; it is given with every hit below them.",
    rich_markup_mode="rich",
)

_PLACE = "COLLECTION[/PATH]"


@context.command("add")
def add(
    place: Annotated[str, typer.Argument(metavar=_PLACE, autocompletion=completing.places)],
    text: Annotated[str, typer.Argument(metavar="TEXT")],
    index: IndexOption = None,
) -> None:
    """Say what a collection, a folder or a note is about.

    qmd context add notes "My own notes, since 2019"

    qmd context add notes/recipes "Tried at home; weights are in grams"
    """
    from qmd_py import contexts
    from qmd_py.store.writer import Writer

    file = configured(index).index
    if not file.is_file():
        Reader.open(file)  # says what to do; opening one for writing would make it
    with Writer.open(file) as store:
        replaced = contexts.add(store, place, text)
    notice(f"{'replaced' if replaced else 'added'} the context of '{place}'")


@context.command("list")
def list_(
    as_json: Annotated[bool, typer.Option("--json", help="JSON.")] = False,
    index: IndexOption = None,
) -> None:
    """List the contexts; under a policy those of collections alone.

    qmd context list

    qmd context list --json
    """
    from qmd_py import contexts
    from qmd_py.render import linked, machine

    config = configured(index)
    with Reader.open(config.index) as store:
        found = contexts.told(store, gated=config.policy is not None)
    if as_json:
        emit(machine.contexts_json(found))
    else:
        show(linked.contexts_lines(found))
    if not found:
        raise hinting.nothing("no contexts yet: see 'qmd context add --help'")


@context.command("remove")
def remove(
    place: Annotated[str, typer.Argument(metavar=_PLACE, autocompletion=completing.described)],
    index: IndexOption = None,
) -> None:
    """Forget what a collection, a folder or a note is about.

    qmd context remove notes/recipes

    qmd context remove notes
    """
    from qmd_py import contexts
    from qmd_py.store.writer import Writer

    file = configured(index).index
    if not file.is_file():
        Reader.open(file)
    with Writer.open(file) as store:
        contexts.remove(store, place)
    notice(f"removed the context of '{place}'")
