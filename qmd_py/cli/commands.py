"""All commands on one application."""

from typing import Annotated

import typer

import qmd_py
from qmd_py.cli import (
    caching,
    collecting,
    embedding,
    evaluating,
    managing,
    querying,
    reading,
    searching,
)
from qmd_py.cli.app import WordsCommand, app, emit

__all__ = ["app"]

_SEARCH = """Search by words: BM25 over sections, with word stems of the notes' languages.

    qmd search worker pool

    qmd search '"rate limit"' -draft --json
"""
_VSEARCH = """Search by meaning alone: the vectors of sections.

    qmd vsearch how to keep two goroutines from writing at once

    qmd vsearch "хлеб не поднимается" -n 3
"""


def _version(wanted: bool) -> None:
    if wanted:
        emit(f"qmd {qmd_py.__version__}\n")
        raise typer.Exit


@app.callback(
    epilog="Exit status: 0 found or done, 1 nothing found, 2 error, 130 interrupted. "
    "Environment: QMD_INDEX (the index file), QMD_CONFIG (the settings file), "
    "QMD_CACHE (the cache of answers), QMD_MODELS (a further list of models), "
    "QMD_MODELS_DIR (the folder of pulled models), HF_ENDPOINT (the model hub), NO_COLOR."
)
def root(
    _show_version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Find the right section of the right Markdown note, on your own machine."""


app.command("index")(collecting.index)
app.command("search", cls=WordsCommand, help=_SEARCH)(searching.searcher("search"))
app.command("query", cls=WordsCommand)(querying.query)
app.command("vsearch", cls=WordsCommand, help=_VSEARCH)(searching.searcher("vsearch"))
app.command("embed")(embedding.embed)
app.command("section", cls=WordsCommand)(reading.section)
app.command("toc")(reading.toc)
app.command("get")(reading.get)
app.command("ls")(reading.ls)
app.command("eval")(evaluating.evaluate)
app.command("status")(collecting.status)
app.add_typer(collecting.collection, name="collection")
app.add_typer(caching.cache, name="cache")
app.add_typer(managing.models, name="models")
