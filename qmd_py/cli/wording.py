"""Options for wordings of the caller's own, in place of a model's."""

from typing import Annotated

import typer

WORDING = "Wordings of your own"

Many = list[str] | None
Lex = Annotated[
    Many,
    typer.Option(
        "--lex", metavar="TEXT", help="Words for BM25 alone; repeatable.", rich_help_panel=WORDING
    ),
]
Vec = Annotated[
    Many,
    typer.Option(
        "--vec",
        metavar="TEXT",
        help="A paraphrase, for vectors; repeatable.",
        rich_help_panel=WORDING,
    ),
]
Hyde = Annotated[
    Many,
    typer.Option(
        "--hyde",
        metavar="TEXT",
        help="An invented answer, for vectors; repeatable.",
        rich_help_panel=WORDING,
    ),
]
ShortQuery = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="The feature's name as a page title would have it, two or three words.",
        rich_help_panel=WORDING,
    ),
]
RephrasedQuery = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="The question in other words.", rich_help_panel=WORDING),
]
ExpectedAnswer = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="One or two sentences that could stand in the note itself.",
        rich_help_panel=WORDING,
    ),
]
Queries = Annotated[
    Many,
    typer.Option(
        "--queries",
        metavar="TEXT",
        help="A further phrasing of the question; repeatable.",
        rich_help_panel=WORDING,
    ),
]
Searches = Annotated[
    str | None,
    typer.Option(
        metavar="JSON", help='[{"type": "lex|vec|hyde", "query": "…"}, …]', rich_help_panel=WORDING
    ),
]
Intent = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="What you want to know it for; always give one.",
        rich_help_panel=WORDING,
    ),
]
