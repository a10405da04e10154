"""Options that several searching commands take."""

import math
import unicodedata
from pathlib import Path
from typing import Annotated

import typer

from qmd_py.cli import completing
from qmd_py.errors import UsageError

FILTERS = "Filters"
RANKING = "Ranking"
OUTPUT = "Output"
EVIDENCE = "Evidence"


def number(value: float | None) -> float | None:
    """The value as it is; `nan` passes every comparison, so a bound does not keep it out."""
    if value is not None and math.isnan(value):
        raise UsageError("nan is no number: give one, such as 0.5")
    return value


def composed(names: str | list[str] | None) -> str | list[str] | None:
    """Names of collections in NFC, as the index has them, however keyboard or disk spell them."""
    if isinstance(names, str):
        return unicodedata.normalize("NFC", names)
    return names and [unicodedata.normalize("NFC", name) for name in names]


Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="WORDS…",
        show_default=False,
        help='Words, "a phrase" that must occur, -word that must not, word* for a beginning; '
        "`-` reads them from stdin.",
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        "-n",
        metavar="N",
        min=1,
        show_default="10; without words all",
        help="Notes to show.",
    ),
]
LIMIT = 10
"""Notes that a question shows unless told otherwise."""
Collections = Annotated[
    list[str] | None,
    typer.Option(
        "--collection",
        "-c",
        metavar="NAME",
        callback=composed,
        help="Only this collection; repeatable.",
        autocompletion=completing.collections,
        rich_help_panel=FILTERS,
    ),
]
Paths = Annotated[
    list[str] | None,
    typer.Option(
        "--path",
        metavar="GLOB",
        help="Only notes at this path or in this folder, with or without the collection in front; "
        "repeatable.",
        rich_help_panel=FILTERS,
    ),
]
Tags = Annotated[
    list[str] | None,
    typer.Option(
        "--tag",
        metavar="TAG",
        help="Only notes with this tag, or one below it; repeatable.",
        autocompletion=completing.tags,
        rich_help_panel=FILTERS,
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="KEY=VALUE",
        help="Only notes whose front matter says so; > >= < <= for numbers and dates; repeatable.",
        rich_help_panel=FILTERS,
    ),
]
Since = Annotated[
    str | None,
    typer.Option(
        metavar="DATE",
        help="Only notes of this date or later: 2026-03-09, 2026-03.",
        rich_help_panel=FILTERS,
    ),
]
Until = Annotated[
    str | None,
    typer.Option(
        metavar="DATE", help="Only notes of this date or earlier.", rich_help_panel=FILTERS
    ),
]
Recent = Annotated[
    float | None,
    typer.Option(
        metavar="DAYS",
        help="Newer notes first: half of what age takes is gone after so many days.",
        rich_help_panel=RANKING,
    ),
]
Refresh = Annotated[bool, typer.Option("--refresh", help="Bring the index up to date first.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object.", rich_help_panel=OUTPUT)]
Csv = Annotated[bool, typer.Option("--csv", help="One row a note.", rich_help_panel=OUTPUT)]
Markdown = Annotated[bool, typer.Option("--md", help="Markdown.", rich_help_panel=OUTPUT)]
Files = Annotated[
    bool, typer.Option("--files", "-l", help="Only the files, one a line.", rich_help_panel=OUTPUT)
]
Nul = Annotated[
    bool,
    typer.Option(
        "-0", "--null", help="Files, each ended by a NUL, for xargs -0.", rich_help_panel=OUTPUT
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="TEXT",
        help="A line a note, such as '{file}:{line} {score:.2f}'.",
        rich_help_panel=OUTPUT,
    ),
]
NoToc = Annotated[
    bool,
    typer.Option(
        "--no-toc", help="Leave the tables of contents out of JSON.", rich_help_panel=OUTPUT
    ),
]
Full = Annotated[bool, typer.Option("--full", help="Show whole notes.", rich_help_panel=OUTPUT)]
Explain = Annotated[
    bool,
    typer.Option(
        "--explain",
        help="Show what each stage did, and how ranks led to each score.",
        rich_help_panel=OUTPUT,
    ),
]
MinScore = Annotated[
    float,
    typer.Option(
        metavar="SCORE",
        min=0.0,
        max=1.0,
        callback=number,
        help="Leave out notes below this score: 0 nothing in common, 1 beyond doubt.",
        rich_help_panel=RANKING,
    ),
]
Without = Annotated[
    list[str] | None,
    typer.Option(
        "--without",
        metavar="RUN",
        help="Leave out a run: bm25, note, near, title, dense, lex, vec, hyde, phrasings, rerank.",
        autocompletion=completing.runs,
        rich_help_panel=RANKING,
    ),
]
Snippet = Annotated[
    int,
    typer.Option(
        "--snippet",
        metavar="CHARS",
        min=20,
        help="Longest snippet, in characters.",
        rich_help_panel=OUTPUT,
    ),
]
Admit = Annotated[
    bool,
    typer.Option(
        "--admit",
        help="Show only what the policy lets pass as evidence, or stop; it proves neither truth nor completeness.",
        rich_help_panel=EVIDENCE,
    ),
]
Policy = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The policy, where none is configured; implies --admit.",
        rich_help_panel=EVIDENCE,
    ),
]
AsOf = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Decide as of this RFC 3339 time instead of now.",
        rich_help_panel=EVIDENCE,
    ),
]
Trace = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write what was decided, without any text, for the notes' owner; to a new file.",
        rich_help_panel=EVIDENCE,
    ),
]
Batch = Annotated[
    bool,
    typer.Option(
        "--batch",
        help="Each line of stdin is a question; each answer is one line of JSON.",
        rich_help_panel=OUTPUT,
    ),
]
NoEmbed = Annotated[
    bool, typer.Option("--no-embed", help="Words only; 'qmd embed' does the rest later.")
]
