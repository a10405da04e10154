"""What a shell offers at TAB: names from the index and the list of models, never an error."""

import functools
import os
import re
from collections.abc import Callable, Iterator

import typer

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
    if _guarded(ctx):
        return
    with _index(ctx) as store:
        for pid, path, title in store.labels(incomplete, _MOST):
            yield (str(pid) if str(pid).startswith(incomplete) else path), title


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
