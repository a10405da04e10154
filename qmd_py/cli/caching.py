"""`qmd cache …`: the answers that models gave before."""

import sys
from typing import Annotated

import typer

from qmd_py.cli.app import Commands, configured, confirm, emit, notice, show
from qmd_py.errors import QmdError
from qmd_py.render import machine, people

cache = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="Expansions and rerank scores kept of earlier questions.",
    rich_markup_mode="rich",
)


@cache.command("show")
def show_(as_json: Annotated[bool, typer.Option("--json", help="JSON.")] = False) -> None:
    """Show where the cache is and what it holds.

    qmd cache show

    qmd cache show --json
    """
    from qmd_py.cache import Cache

    with Cache(configured(None).cache) as kept:
        state = kept.state()
    if kept.problem:
        notice(kept.problem)
    if as_json:
        emit(machine.cache_json(state))
    else:
        show(people.cache_lines(state))


@cache.command("clear")
def clear(
    force: Annotated[bool, typer.Option("--force", "-f", help="Do not ask.")] = False,
) -> None:
    """Forget all kept answers; the models will be asked again.

    qmd cache clear

    qmd cache clear --force
    """
    from qmd_py.cache import Cache

    with Cache(configured(None).cache) as kept:
        held = people.cache_contents(kept.state())
        if not force and sys.stdin.isatty():
            confirm(f"Forget {held}?")
        if not kept.clear():
            raise QmdError(kept.problem)
    notice(f"forgot {held}; notes and index are untouched")
