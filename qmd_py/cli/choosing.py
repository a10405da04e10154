"""Options that choose models and bound what they do."""

from typing import Annotated

import typer

from qmd_py.cli import completing
from qmd_py.cli.options import number

MODELS = "Models"

Expander = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help="Name or path of an expander, or none.",
        autocompletion=completing.expanders,
        rich_help_panel=MODELS,
    ),
]
Reranker = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help="Name or path of a reranker, or none.",
        autocompletion=completing.rerankers,
        rich_help_panel=MODELS,
    ),
]
NoExpand = Annotated[
    bool, typer.Option("--no-expand", help="No local expansion.", rich_help_panel=MODELS)
]
NoRerank = Annotated[
    bool, typer.Option("--no-rerank", help="No reranking.", rich_help_panel=MODELS)
]
NoCache = Annotated[
    bool,
    typer.Option(
        "--no-cache", help="Neither read nor keep what models answer.", rich_help_panel=MODELS
    ),
]
Budget = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        metavar="SECONDS",
        callback=number,
        help="Most time for reranking; what was read by then counts.",
        rich_help_panel=MODELS,
    ),
]
PassageTokens = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=16,
        max=1024,
        help="Longest passage that is reranked, in tokens.",
        rich_help_panel=MODELS,
    ),
]
Device = Annotated[
    str,
    typer.Option(
        metavar="KIND",
        help="Where models run: auto, cpu, metal or cuda.",
        autocompletion=completing.devices,
        rich_help_panel=MODELS,
    ),
]
