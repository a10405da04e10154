"""`qmd links` and `related`: what stands beside a note."""

import itertools
import sys
from typing import Annotated

import typer

from qmd_py.cli import hinting
from qmd_py.cli.app import IndexOption, emit, show
from qmd_py.cli.filtering import tell_unread
from qmd_py.cli.options import AsOf, Policy
from qmd_py.cli.reading import Json, Reference, admitted, opened


def links(
    note: Reference,
    as_json: Json = False,
    policy: Policy = None,
    as_of: AsOf = None,
    index: IndexOption = None,
) -> None:
    """List the notes a note links to, those that link to it, and its broken links.

    qmd links 42

    qmd links "Go Concurrency Patterns.md" --json
    """
    from qmd_py import linking, sections
    from qmd_py.render import linked, machine

    with opened(index, policy, as_of) as (store, config, gate):
        tell_unread(store)
        asked = sections.find_note(store, note, admitted(gate))
        found = linking.links_of(store, asked)
        if gate:
            found = found.only(lambda one: gate.refusal(one) is None)
    if as_json:
        emit(machine.links_json(asked, found))
    else:
        show(linked.links_lines(found, asked, config.settings.editor))
    if not (found.out or found.into or found.broken):
        raise hinting.nothing("no links lead from or to this note")


def related(
    note: Reference,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Notes to show.")] = 10,
    hops: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="By links instead: at most so many links away."),
    ] = None,
    as_json: Json = False,
    policy: Policy = None,
    as_of: AsOf = None,
    index: IndexOption = None,
) -> None:
    """List the notes nearest to a note by meaning, or with --hops by links; → ← ↔ mark linked ones.

    qmd related 42

    qmd related 42 --hops 2
    """
    from qmd_py import nearness, sections
    from qmd_py.cli.loading import Loader
    from qmd_py.render import linked, machine

    with opened(index, policy, as_of) as (store, config, gate):
        tell_unread(store)
        asked = sections.find_note(store, note, admitted(gate))
        depth = sys.maxsize if gate else limit
        if hops:
            found = nearness.within(store, asked, hops, depth)
        else:
            embedder = Loader(config).embedder(questions_only=True)
            with store.snapshot():  # rows and notes have to be of one moment
                found = nearness.nearest(store, asked, embedder, depth)
        if gate:
            passed = (one for one in found if gate.refusal(one.note) is None)
            found = tuple(itertools.islice(passed, limit))
    if as_json:
        emit(machine.related_json(asked, found))
    else:
        show(linked.related_lines(found, config.settings.editor))
    if not found:
        raise hinting.nothing(
            "no notes so few links away: see 'qmd links'"
            if hops
            else "no other notes to compare it with: run 'qmd embed' if some wait for that"
        )
