"""The commands that search: one function, a pipeline for each."""

import datetime
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from qmd_py.cli.app import IndexOption, Status, configured, emit, notice, show
from qmd_py.cli.loading import models
from qmd_py.errors import NotFound, UsageError
from qmd_py.models import Models
from qmd_py.records import Answer, Scope
from qmd_py.render import machine, people
from qmd_py.search import RUNS, Ask, by_meaning, by_words, hybrid
from qmd_py.snippets import DEFAULT_LENGTH
from qmd_py.store.reader import Reader
from qmd_py.terms import Analyzer

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="WORDS…",
        show_default=False,
        help='Words, "a phrase" that must occur, -word that must not, word* for a beginning; '
        "`-` reads the question from stdin.",
    ),
]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, help="Notes to show.")]
Collections = Annotated[
    list[str] | None,
    typer.Option("--collection", "-c", metavar="NAME", help="Only this collection; repeatable."),
]
Paths = Annotated[
    list[str] | None,
    typer.Option(
        "--path", metavar="GLOB", help="Only notes at this path or in this folder; repeatable."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object.")]
Csv = Annotated[bool, typer.Option("--csv", help="One row a note.")]
Markdown = Annotated[bool, typer.Option("--md", help="Markdown.")]
Files = Annotated[bool, typer.Option("--files", "-l", help="Only the files, one a line.")]
Nul = Annotated[
    bool, typer.Option("-0", "--null", help="Files, each ended by a NUL, for xargs -0.")
]
NoToc = Annotated[bool, typer.Option("--no-toc", help="Leave the tables of contents out of JSON.")]
Full = Annotated[bool, typer.Option("--full", help="Show whole notes.")]
Explain = Annotated[bool, typer.Option("--explain", help="Show the rank in each run.")]
MinScore = Annotated[
    float,
    typer.Option(
        min=0.0,
        max=1.0,
        help="Leave out notes below this score: 0 nothing in common, 1 beyond doubt.",
    ),
]
Without = Annotated[
    list[str] | None,
    typer.Option(
        "--without", metavar="RUN", help="Leave out a run: bm25, note, near, title, dense."
    ),
]
Snippet = Annotated[int, typer.Option("--snippet", min=20, help="Longest snippet, in characters.")]


Pipeline = Callable[[Reader, str, Ask, Models, datetime.datetime], Answer]


def searcher(mode: str) -> Callable[..., None]:
    """The command function of a search mode; all of them take the same options."""

    def command(
        words: Words = None,
        limit: Limit = 10,
        collections: Collections = None,
        paths: Paths = None,
        as_json: Json = False,
        as_csv: Csv = False,
        as_markdown: Markdown = False,
        as_files: Files = False,
        null: Nul = False,
        no_toc: NoToc = False,
        full: Full = False,
        explain: Explain = False,
        min_score: MinScore = 0.0,
        without: Without = None,
        snippet: Snippet = DEFAULT_LENGTH,
        index: IndexOption = None,
    ) -> None:
        wanted = {"json": as_json, "csv": as_csv, "md": as_markdown, "files": as_files or null}
        form = _format(wanted)
        config = configured(index)
        scope = Scope(tuple(collections or ()), tuple(paths or ()))
        ask = Ask(
            limit=limit,
            scope=scope,
            min_score=min_score,
            without=known_runs(without or ()),
            snippet=snippet,
            full=config.settings.max_bytes if full else 0,
        )
        text = question(words)
        with Reader.open(config.index) as store:
            check_collections(store, scope.collections)
            available = Models() if mode == "search" else models()
            now = datetime.datetime.now(datetime.UTC)
            answer = PIPELINES[mode](store, text, ask, available, now)
            analyzer = Analyzer(store.languages)
        if form:
            emit(_FORMATS[form](answer, Layout(not no_toc, explain, "\0" if null else "\n")))
        else:
            show(people.answer_lines(answer, analyzer, explain=explain))
        _remark(answer)
        if not answer.hits:
            raise typer.Exit(Status.NOTHING_FOUND)

    return command


def question(words: list[str] | None) -> str:
    """The words typed, as one question; a lone `-` stands for stdin.

    Raises:
        UsageError: there are none.
    """
    text = _piped() if words == ["-"] else " ".join(words or [])
    if not text.strip():
        raise UsageError("no question: type some words, or - to read them from stdin")
    # what is not UTF-8 cannot be in the index, and the answer has to be UTF-8
    return text.strip().encode(errors="surrogateescape").decode(errors="replace")


def _piped() -> str:
    return sys.stdin.buffer.read().decode(errors="replace")


def check_collections(store: Reader, names: Sequence[str]) -> None:
    """Make sure that all named collections exist.

    Raises:
        NotFound: one does not; the nearest name is told.
    """
    known = [collection.name for collection in store.collections()]
    for name in names:
        if name not in known:
            import difflib

            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean '{near[0]}'?" if near else "see 'qmd collection list'"
            raise NotFound(f"no collection '{name}': {hint}")


PIPELINES: Mapping[str, Pipeline] = {
    "search": by_words,
    "vsearch": by_meaning,
    "query": hybrid,
}


@dataclass(frozen=True, slots=True)
class Layout:
    """What the formats for programs can vary."""

    toc: bool
    explain: bool
    separator: str
    """Ends each file in a list of files."""


_FORMATS: Mapping[str, Callable[[Answer, Layout], str]] = {
    "json": lambda answer, how: machine.answer_json(answer, toc=how.toc, explain=how.explain),
    "csv": lambda answer, _: machine.answer_csv(answer),
    "md": lambda answer, _: machine.answer_markdown(answer),
    "files": lambda answer, how: machine.answer_files(answer, how.separator),
}


def known_runs(names: Sequence[str]) -> frozenset[str]:
    """Names of runs to leave out.

    Raises:
        UsageError: there is no such run.
    """
    for name in names:
        if name not in RUNS:
            raise UsageError(f"no run '{name}': there are {', '.join(RUNS)}")
    return frozenset(names)


def _format(wanted: Mapping[str, bool]) -> str:
    """The one output format asked for; empty for people's.

    Raises:
        UsageError: several are.
    """
    chosen = [name for name, on in wanted.items() if on]
    if len(chosen) > 1:
        raise UsageError(f"--{chosen[0]} and --{chosen[1]} together: choose one")
    return chosen[0] if chosen else ""


def _remark(answer: Answer) -> None:
    """Say on stderr what the reader of the answer should know."""
    stale = [hit for hit in answer.hits if hit.stale]
    if stale:
        first = stale[0]
        more = f" ({len(stale)} such notes)" if len(stale) > 1 else ""
        notice(f"{first.collection}/{first.path}: {first.stale}{more}: run 'qmd index'")
    if answer.cut:
        notice(f"{answer.cut} notes scored below --min-score and were left out")
    if not answer.hits and sys.stderr.isatty():
        notice("nothing found: try fewer or other words")
    if sys.stderr.isatty():
        for skipped in answer.skipped:
            notice(f"skipped {skipped}")
