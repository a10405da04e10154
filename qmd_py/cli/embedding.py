"""`qmd embed`: vectors for the notes in the index."""

import re
from typing import TYPE_CHECKING, Annotated

import typer

from qmd_py.cli.app import IndexOption, Status, bar, configured, emit, notice
from qmd_py.cli.choosing import Device
from qmd_py.cli.loading import Loader
from qmd_py.errors import ModelMissing, UsageError
from qmd_py.models import Embedder
from qmd_py.render import people
from qmd_py.store.reader import Reader

if TYPE_CHECKING:
    from qmd_py.store.writer import Writer

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


def embed(
    for_: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="TIME", help="Stop after a while (30s, 5m, 1h); go on later."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Embed everything anew.")] = False,
    prune: Annotated[
        bool,
        typer.Option(
            "--prune", help="Drop the vectors of other models and of texts that are gone."
        ),
    ] = False,
    device: Device = "auto",
    index: IndexOption = None,
) -> None:
    """Embed what has no vector yet, so that it is found by meaning.

    qmd embed

    qmd embed --for 5m
    """
    from qmd_py import embedding
    from qmd_py.store.writer import Writer

    seconds = _seconds(for_) if for_ is not None else None
    config = configured(index)
    with Reader.open(config.index):
        pass  # there has to be an index; opening one for writing would make it
    embedder = Loader(config, device=device).embedder()
    if embedder is None:
        raise ModelMissing("no embedder on this machine: words are searched all the same")
    with Writer.open(config.index) as store:
        if force:
            embedding.start_anew(store, embedder)
        if prune:
            notice(f"dropped the vectors of {embedding.drop_others(store, embedder)} other models")
            notice(f"dropped {embedding.compact(store)} vectors of texts that are gone")
        run(store, embedder, seconds)


def run(store: "Writer", embedder: Embedder, seconds: float | None = None) -> None:
    """Embed what is pending, with a bar on a terminal, and tell what was done.

    Raises:
        Exit: the model failed for some passages.
    """
    from qmd_py import embedding

    with bar("embedding") as progress:
        report = embedding.embed(store, embedder, seconds=seconds, progress=progress)
    emit(people.embed_line(report) + "\n")
    if report.failed:
        notice(f"{report.failed} passages gave no usable vector: words find them all the same")
        raise typer.Exit(Status.ERROR)


def _seconds(text: str) -> float:
    parts = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", text.strip())
    if not parts:
        raise UsageError(f"'{text}' is not a time: write 30s, 5m or 1h")
    return float(parts[1]) * _UNITS[parts[2]]
