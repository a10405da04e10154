"""Filters of the searching commands, and the list of notes that filters alone give."""

import datetime
import sys
from dataclasses import replace

from qmd_py.cli.app import notice
from qmd_py.records.answers import Answer, Filters, Scope
from qmd_py.search.asking import Ask
from qmd_py.store import paths
from qmd_py.store.reader import Reader


def typed(
    collections: list[str] | None,
    places: list[str] | None,
    tags: list[str] | None,
    where: list[str] | None,
    since: str | None,
    until: str | None,
) -> Filters:
    """The filters of a command line."""
    return Filters(
        tuple(collections or ()), tuple(places or ()), tuple(tags or ()), tuple(where or ()),
        since, until,
    )  # fmt: skip


def narrowed(store: Reader, wanted: Filters, *, gated: bool) -> Scope:
    """What may be found; a wrong filter is an error.

    Under a policy a tag or property that no note has finds nothing, as one of closed notes does.
    """
    if not wanted.by_note:
        return Scope(wanted.collections, wanted.paths)
    return _scope(store, wanted, gated=gated)


def listed(
    store: Reader, ask: Ask, limit: int | None, wanted: Filters, now: datetime.datetime
) -> Answer:
    """The notes that meet filters; all of them unless a limit is set."""
    from qmd_py.search import listing

    scope = _scope(store, wanted, gated=ask.gate is not None)
    ask = replace(ask, scope=scope, limit=limit or sys.maxsize)
    return listing.listed(store, ask, now, by_date=wanted.by_date or ask.recent is not None)


def astray(store: Reader, wanted: Filters, *, gated: bool) -> list[str]:
    """What to say of paths at which there is no note, or where there is none at all."""
    if not paths.has_notes(store):
        return ["the index holds no notes yet: run 'qmd index DIR'"]
    if not wanted.paths:
        return []
    from qmd_py import filters

    return filters.astray(store, wanted, gated=gated)


def _scope(store: Reader, wanted: Filters, *, gated: bool) -> Scope:
    from qmd_py import filters

    if wanted.tags:
        tell_unread(store)
    return filters.narrowed(store, wanted, gated=gated)


def tell_unread(store: Reader) -> None:
    """Say so where notes were indexed before tags and links were gathered."""
    from qmd_py import filters

    for remark in filters.unread(store):
        notice(remark)
