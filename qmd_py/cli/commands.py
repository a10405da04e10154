"""All commands, each imported only when it may be used."""

from importlib import import_module
from typing import Annotated

import typer

import qmd_py
from qmd_py.cli.app import Commands, WordsCommand, emit

_COMMANDS = {
    "init": "projects.init",
    "index": "collecting.index",
    "search": "searching.search",
    "query": "querying.query",
    "vsearch": "searching.vsearch",
    "embed": "embedding.embed",
    "section": "reading.section",
    "toc": "reading.toc",
    "get": "getting.get",
    "ls": "reading.ls",
    "cite": "citing.cite",
    "mcp": "serving.mcp",
    "skill": "skilling.skill",
    "links": "linking.links",
    "related": "linking.related",
    "context": "describing.context",
    "eval": "evaluating.evaluate",
    "status": "collecting.status",
    "watch": "watching.watch",
    "import-config": "projects.import_config",
    "collection": "collecting.collection",
    "cache": "caching.cache",
    "models": "managing.models",
    "doctor": "doctoring.doctor",
}
"""Command or group of commands → where it is, below this package."""

_OF_WORDS = {"search", "query", "vsearch", "section", "cite"}
"""Commands whose words may begin with a dash."""

_EPILOG = (
    "Exit status: 0 found or done, 1 nothing found, 2 error, 130 interrupted. "
    "Environment: QMD_INDEX (the index file), QMD_CONFIG (the settings file), "
    "QMD_CACHE (the cache of answers), QMD_MODELS (a further list of models), "
    "QMD_MODELS_DIR (the folder of pulled models), QMD_POLICY (what may be used as evidence), "
    "HF_ENDPOINT (the model hub), "
    "QMD_MCP_TOKEN (what clients of 'qmd mcp --http' have to show), NO_COLOR."
)


def application(first: str = "") -> typer.Typer:
    """The command line, for a call whose first argument is known; else with all commands.

    What a search by words costs is mostly imports, so a command is not made to pay for the others.
    """
    made = typer.Typer(
        name="qmd",
        cls=Commands,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback(epilog=_EPILOG)(_root)
    for name in [first] if first in _COMMANDS else _COMMANDS:
        module, _, attribute = _COMMANDS[name].partition(".")
        found = getattr(import_module(f"qmd_py.cli.{module}"), attribute)
        if isinstance(found, typer.Typer):
            made.add_typer(found, name=name)
        else:
            made.command(name, cls=WordsCommand if name in _OF_WORDS else None)(found)
    return made


def _version(wanted: bool) -> None:
    if wanted:
        emit(f"qmd {qmd_py.__version__}\n")
        raise typer.Exit


def _root(
    _show_version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Find the right section of the right Markdown note, on your own machine."""
