"""What a shell offers at TAB: names from the index and the list of models, never an error."""

import functools
import os
import re
from collections.abc import Callable, Iterator
from pathlib import PurePath

import typer

from qmd_py import config
from qmd_py.cli.app import configured
from qmd_py.store.reader import Reader

Offer = tuple[str, str]
"""What is offered and what it is, the latter for shells that show it."""

_MOST = 200  # more than this is no choice
_SPECIAL = frozenset("\"'$`\\\n\t\r")
"""The scripts of some shells evaluate what they are given, so none of these may get there."""


def _offered(
    complete: Callable[[typer.Context, str], Iterator[Offer]],
) -> Callable[[typer.Context, str], list[Offer]]:
    """The offers that begin as typed and are safe in every shell; none when anything goes wrong."""

    @functools.wraps(complete)
    def offers(ctx: typer.Context, incomplete: str) -> list[Offer]:
        try:
            found: dict[str, str] = {}
            for name, about in complete(ctx, incomplete):
                found.setdefault(name, about)
        except Exception:  # noqa: BLE001 — whatever it is, it must not be printed into a half-typed line
            return []
        return [
            (
                _for_shell(name),
                "".join(c for c in about if c.isprintable() and c not in _SPECIAL | {*"[]:"}),
            )
            for name, about in found.items()
            if name.startswith(incomplete) and name.isprintable() and not _SPECIAL & set(name)
        ][:_MOST]

    # Typer goes by the signature of what it is given
    del offers.__wrapped__
    return offers


@_offered
def collections(ctx: typer.Context, incomplete: str) -> Iterator[Offer]:
    """Names of collections, with their folders."""
    with _index(ctx) as store:
        yield from ((found.name, found.root) for found in store.collections())


@_offered
def indexes(ctx: typer.Context, incomplete: str) -> Iterator[Offer]:
    """Names of indexes beside the default one."""
    return ((name, "") for name in config.index_names())


@_offered
def places(ctx: typer.Context, incomplete: str) -> Iterator[Offer]:
    """What a context can be about: collections, then folders and notes in them."""
    from qmd_py.store import overview

    with _index(ctx) as store:
        yield from ((found.name, found.root) for found in store.collections())
        if _guarded(ctx):
            return
        for _pid, label, title in overview.labels(store, incomplete, _MOST):
            yield from ((str(folder), "") for folder in PurePath(label).parents[:-1])
            yield label, title


@_offered
def described(ctx: typer.Context, incomplete: str) -> Iterator[Offer]:
    """What has a context."""
    from qmd_py import contexts

    with _index(ctx) as store:
        for one in contexts.told(store, gated=_guarded(ctx)):
            yield "/".join(filter(None, (one.collection, one.path))), one.text


@_offered
def tags(ctx: typer.Context, incomplete: str) -> Iterator[Offer]:
    """Tags of notes."""
    from qmd_py.store import references

    if _guarded(ctx):
        return
    with _index(ctx) as store:
        yield from ((tag, "") for tag in references.tag_keys(store))


@_offered
def runs(ctx: typer.Context, incomplete: str) -> Iterator[Offer]:
    """Names of runs."""
    from qmd_py.search.asking import RUNS

    return ((run, "") for run in RUNS)


@_offered
def modes(ctx: typer.Context, incomplete: str) -> Iterator[Offer]:
    """Commands that search."""
    from qmd_py.cli.searching import MODES

    return ((mode, "") for mode in MODES)


@_offered
def devices(ctx: typer.Context, incomplete: str) -> Iterator[Offer]:
    """Where models can run."""
    from qmd_py.cli.loading import DEVICES

    return ((device, "") for device in DEVICES)


@_offered
def models(ctx: typer.Context, incomplete: str) -> Iterator[Offer]:
    """Names of models."""
    return _models(None)


@_offered
def expanders(ctx: typer.Context, incomplete: str) -> Iterator[Offer]:
    """Names of models that expand, and `none`."""
    return _models("expand")


@_offered
def rerankers(ctx: typer.Context, incomplete: str) -> Iterator[Offer]:
    """Names of models that rerank, and `none`."""
    return _models("rerank")


@_offered
def notes(ctx: typer.Context, incomplete: str) -> Iterator[Offer]:
    """Pids with titles; paths, once something other than a number is typed."""
    from qmd_py.store import overview

    if _guarded(ctx):
        return
    with _index(ctx) as store:
        for pid, path, title in overview.labels(store, incomplete, _MOST):
            for name in (str(pid), path, path.partition("/")[2]):
                if name.startswith(incomplete):
                    yield name, title
                    break


@_offered
def headings(ctx: typer.Context, incomplete: str) -> Iterator[Offer]:
    """The headings that may follow those typed so far."""
    from qmd_py import references

    if _guarded(ctx):
        return
    typed = tuple(ctx.params.get("path") or ())
    with _index(ctx) as store:
        note = references.find(store, str(ctx.params["note"])).note
        for section in store.toc(note.pid):
            if section.path[: len(typed)] == typed and len(section.path) > len(typed):
                yield section.path[len(typed)], f"line {section.line}"


def _guarded(ctx: typer.Context) -> bool:
    """Whether a policy decides what may be read; then no note is told of in passing."""
    return bool(configured(None).policy or ctx.params.get("policy"))


def _for_shell(name: str) -> str:
    """The name as it is typed: bash puts it on the line as it is, blanks and all."""
    words = os.environ.get("COMP_WORDS")  # bash alone sets it
    if words is None:
        return name
    at = int(os.environ.get("COMP_CWORD", "0"))
    word = dict(enumerate(words.split("\n"))).get(at, "")
    return name if word[:1] in {"'", '"'} else re.sub(r"([^\w@%+=:,./-])", r"\\\1", name)


def _models(role: str | None) -> Iterator[Offer]:
    from qmd_py import catalogue

    for spec in catalogue.load(configured(None).catalogues).models:
        if role in {None, spec.role}:
            yield spec.name, spec.about
    if role:
        yield "none", "leave this stage out"


def _index(ctx: typer.Context) -> Reader:
    return Reader.open(configured(ctx.params.get("index")).index)
