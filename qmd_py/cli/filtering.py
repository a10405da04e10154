"""Filters of the searching commands, and the list of notes that filters alone give."""

import datetime
import sys
from dataclasses import replace

from qmd_py.cli.app import notice
from qmd_py.records import Answer, Filters, Scope
from qmd_py.search.asking import Ask
from qmd_py.store.reader import Reader


def typed(
    collections: list[str] | None,
    paths: list[str] | None,
    tags: list[str] | None,
    where: list[str] | None,
    since: str | None,
    until: str | None,
) -> Filters:
    """The filters of a command line."""
    return Filters(
        tuple(collections or ()), tuple(paths or ()), tuple(tags or ()), tuple(where or ()),
        since, until,
    )  # fmt: skip


def narrowed(store: Reader, wanted: Filters) -> Scope:
    """What may be found; a wrong filter is an error."""
    if not wanted.by_note:
        return Scope(wanted.collections, wanted.paths)
    from qmd_py import filters

    if wanted.tags:
        tell_unread(store)
    return filters.scope(store, wanted)


def listed(store: Reader, ask: Ask, limit: int | None, wanted: Filters) -> Answer:
    """The notes that meet filters; all of them unless a limit is set."""
    from qmd_py import filters
    from qmd_py.search import listing

    if wanted.tags:
        tell_unread(store)
    ask = replace(ask, scope=filters.scope(store, wanted), limit=limit or sys.maxsize)
    by_date = wanted.by_date or ask.recent is not None
    return listing.listed(store, ask, datetime.datetime.now(datetime.UTC), by_date=by_date)


def tell_unread(store: Reader) -> None:
    """Say so where notes were indexed before tags and links were gathered."""
    from qmd_py.store import references

    if unread := references.unread(store):
        notes = "1 note was" if unread == 1 else f"{unread} notes were"
        notice(f"{notes} indexed by an earlier qmd, without tags and links: run 'qmd index'")
