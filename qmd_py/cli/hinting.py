"""What a person may have meant, and what to do where a command has nothing to print."""

import sys
from collections.abc import Sequence

import typer

from qmd_py.cli import app

_OTHERS_WORDS = {
    "add": "index",
    "ask": "query",
    "bench": "eval",
    "cat": "get",
    "delete": "remove",
    "download": "pull",
    "find": "search",
    "grep": "search",
    "list": "ls",
    "multi-get": "get",
    "new": "add",
    "open": "get",
    "read": "get",
    "rm": "remove",
    "show": "get",
    "update": "index",
}
"""What other tools call a command → what it is called here."""


def command(typed: str, known: Sequence[str]) -> str:
    """What an error adds about the command that may have been meant; empty where none is near."""
    meant = _OTHERS_WORDS.get(typed)
    if meant in known:
        return f" (did you mean '{meant}'?)"
    from qmd_py import spelling

    return spelling.suggestion(typed, known)


def nothing(hint: str) -> typer.Exit:
    """The end of a command that found nothing; a person at a terminal gets a hint."""
    tell(hint)
    return typer.Exit(app.Status.NOTHING_FOUND)


def tell(hint: str) -> None:
    """Say something that only a person at a terminal needs."""
    if sys.stderr.isatty():
        app.notice(hint)
