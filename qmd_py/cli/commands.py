"""All commands, each imported only when it may be used."""

from importlib import import_module
from typing import Annotated

import typer

import qmd_py
from qmd_py.cli.app import Command, Commands, WordsCommand, emit

_COMMANDS = {
    "query": "querying.query",
    "search": "searching.search",
    "vsearch": "searching.vsearch",
    "related": "linking.related",
    "links": "linking.links",
    "section": "reading.section",
    "toc": "reading.toc",
    "get": "getting.get",
    "ls": "reading.ls",
    "cite": "citing.cite",
    "init": "projects.init",
    "index": "indexing.index",
    "embed": "embedding.embed",
    "watch": "watching.watch",
    "collection": "collecting.collection",
    "context": "describing.context",
    "import-config": "projects.import_config",
    "mcp": "serving.mcp",
    "skill": "skilling.skill",
    "status": "collecting.status",
    "doctor": "doctoring.doctor",
    "models": "managing.models",
    "cache": "caching.cache",
    "eval": "evaluating.evaluate",
}
"""Command or group of commands → where it is, below this package."""

_OF_WORDS = {"search", "query", "vsearch", "section", "cite"}
"""Commands whose words may begin with a dash."""

_PANELS = {
    "Search": ("query", "search", "vsearch", "related", "links"),
    "Read": ("section", "toc", "get", "ls", "cite"),
    "Index": ("init", "index", "embed", "watch", "collection", "context", "import-config"),
    "Agents": ("mcp", "skill"),
    "Care": ("status", "doctor", "models", "cache", "eval"),
}
"""Heading in the help → commands below it."""

_STATUSES = "Exit status: 0 found or done, 1 nothing found, 2 error, 130 interrupted."

_EPILOG = f"""{_STATUSES}

Environment:
QMD_INDEX        the index, a name or a file
QMD_CONFIG       the settings file
QMD_POLICY       what may be used as evidence
QMD_CACHE        the cache of answers
QMD_MODELS       a further list of models
QMD_MODELS_DIR   the folder of pulled models
HF_ENDPOINT      the model hub
HF_TOKEN         for models with terms to agree to
QMD_MCP_TOKEN    asked of clients by 'qmd mcp --http'
NO_COLOR         set: no colours"""

_EPILOG_OF_COMMANDS = (
    f"{_STATUSES} Environment: QMD_INDEX, QMD_CONFIG, QMD_POLICY, NO_COLOR and others; "
    "see 'qmd --help'."
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
            for below in found.registered_commands:
                below.cls, below.epilog = Command, _EPILOG_OF_COMMANDS
                below.help = _flowing(below.callback.__doc__)
            made.add_typer(
                found, name=name, epilog=_EPILOG_OF_COMMANDS, rich_help_panel=_panel(name)
            )
        else:
            cls = WordsCommand if name in _OF_WORDS else Command
            made.command(
                name,
                cls=cls,
                help=_flowing(found.__doc__),
                epilog=_EPILOG_OF_COMMANDS,
                rich_help_panel=_panel(name),
            )(found)
    return made


def _flowing(text: str | None) -> str:
    """What a command says of itself, without the line breaks of the source, for any window."""
    return "\n\n".join(" ".join(part.split()) for part in (text or "").split("\n\n"))


def _panel(name: str) -> str:
    return next(panel for panel, names in _PANELS.items() if name in names)


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
    """Find the right section of the right Markdown note, on your own machine.

    qmd index ~/notes

    qmd query "how do I keep bread fresh"

    qmd section 6 "Storing the loaf"
    """
