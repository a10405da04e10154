"""`qmd links` and `related`: what stands beside a note."""

from typing import Annotated

import typer

from qmd_py.cli.app import IndexOption, Status, configured, emit, show
from qmd_py.cli.filtering import tell_unread
from qmd_py.cli.reading import Json, Reference
from qmd_py.store.reader import Reader


def links(note: Reference, as_json: Json = False, index: IndexOption = None) -> None:
    """List the notes a note links to, those that link to it, and its broken links.

    qmd links 42

    qmd links "Go Concurrency Patterns.md" --json
    """
    from qmd_py import linking, sections
    from qmd_py.render import linked, machine

    with Reader.open(configured(index).index) as store:
        tell_unread(store)
        asked = sections.find_note(store, note)
        found = linking.links_of(store, asked)
    if as_json:
        emit(machine.links_json(asked, found))
    else:
        show(linked.links_lines(found))
    if not (found.out or found.into or found.broken):
        raise typer.Exit(Status.NOTHING_FOUND)


def related(
    note: Reference,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Notes to show.")] = 10,
    hops: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="By links instead: at most so many links away."),
    ] = None,
    as_json: Json = False,
    index: IndexOption = None,
) -> None:
    """List the notes nearest to a note by meaning, or with --hops by links; → ← ↔ mark linked ones.

    qmd related 42

    qmd related 42 --hops 2
    """
    from qmd_py import nearness, sections
    from qmd_py.cli.loading import Loader
    from qmd_py.render import linked, machine

    config = configured(index)
    with Reader.open(config.index) as store:
        tell_unread(store)
        asked = sections.find_note(store, note)
        if hops:
            found = nearness.within(store, asked, hops, limit)
        else:
            embedder = Loader(config).embedder(questions_only=True)
            found = nearness.nearest(store, asked, embedder, limit)
    if as_json:
        emit(machine.related_json(asked, found))
    else:
        show(linked.related_lines(found))
    if not found:
        raise typer.Exit(Status.NOTHING_FOUND)
