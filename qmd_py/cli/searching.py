"""The commands that search: one function, a pipeline for each."""

import datetime
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import typer

from qmd_py.cli.admitting import Admission
from qmd_py.cli.app import IndexOption, Status, configured, emit, notice, screen, show
from qmd_py.cli.options import (
    Admit,
    AsOf,
    Collections,
    Csv,
    Explain,
    Files,
    Format,
    Full,
    Json,
    Limit,
    Markdown,
    MinScore,
    NoToc,
    Nul,
    Paths,
    Policy,
    Snippet,
    Trace,
    Without,
    Words,
)
from qmd_py.config import Config
from qmd_py.errors import PolicyUnknown, UsageError
from qmd_py.models import Models
from qmd_py.provenance import Reading
from qmd_py.records import Answer, Scope
from qmd_py.render import styled
from qmd_py.render.styled import Line
from qmd_py.search.asking import RUNS, Ask
from qmd_py.search.scoping import check_collections
from qmd_py.snippets import DEFAULT_LENGTH
from qmd_py.store.reader import Reader
from qmd_py.terms import Analyzer, analyzer_for

if TYPE_CHECKING:
    from qmd_py.gate import Gate
    from qmd_py.render.template import Template


@dataclass(frozen=True, slots=True)
class Shown:
    """How an answer is printed."""

    form: str
    """`json`, `csv`, `md`, `files`, `format`, or empty for people."""
    toc: bool
    explain: bool
    separator: str
    """Ends each file in a list of files."""
    template: "Template | None" = None
    """The user's own form of a line."""

    @classmethod
    def chosen(
        cls,
        *,
        json: bool,
        csv: bool,
        md: bool,
        files: bool,
        null: bool,
        toc: bool,
        explain: bool,
        template: str | None = None,
    ) -> Self:
        """From the options of a command.

        Raises:
            UsageError: several formats are asked for, or the template cannot be understood.
        """
        wanted = {"json": json, "csv": csv, "md": md, "files": files or null}
        form = _format(wanted | {"format": template is not None})
        return cls(form, toc, explain, "\0" if null else "\n", _template(template))


def searcher(mode: str, text: str) -> Callable[..., None]:
    """The command function of `search` or `vsearch`, with the text of its help."""

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
        template: Format = None,
        no_toc: NoToc = False,
        full: Full = False,
        explain: Explain = False,
        min_score: MinScore = 0.0,
        without: Without = None,
        snippet: Snippet = DEFAULT_LENGTH,
        admit: Admit = False,
        policy: Policy = None,
        as_of: AsOf = None,
        trace: Trace = None,
        index: IndexOption = None,
    ) -> None:
        shown = Shown.chosen(
            json=as_json,
            csv=as_csv,
            md=as_markdown,
            files=as_files,
            null=null,
            toc=not no_toc,
            explain=explain,
            template=template,
        )
        config = configured(index)
        ask = Ask(
            limit=limit,
            scope=Scope(tuple(collections or ()), tuple(paths or ())),
            min_score=min_score,
            without=known_runs(without or ()),
            snippet=snippet,
            full=config.settings.max_bytes if full else 0,
        )
        asked = question(words)
        admission = Admission.chosen(config, admit=admit, policy=policy, as_of=as_of, trace=trace)
        available = Models()
        if mode != "search":
            from qmd_py.cli.loading import Loader

            loader = Loader(config)
            available = Models(loader.embedder(questions_only=True), missing=loader.missing)
        answer(mode, config, asked, ask, available, shown, admission)

    command.__doc__ = text
    return command


def answer(
    mode: str,
    config: Config,
    text: str,
    ask: Ask,
    models: Models,
    shown: Shown,
    admission: Admission,
) -> None:
    """Ask, print, and end with the status that says whether anything was found.

    On a terminal the fused answer stands there while a reranker reads, and then gives way.

    Raises:
        Exit: nothing was found, or nothing may be used.
        PolicyUnknown: a policy has to decide, and there is none.
    """
    with admission.reading(git=bool(shown.form)) as reading:
        ask = replace(ask, reading=reading, gate=_gate(admission, reading, mode, text, shown))
        with Reader.open(config.index) as store, screen() as preview:
            check_collections(store, ask.scope.collections)
            analyzer = analyzer_for(store.languages)
            if not shown.form and sys.stdout.isatty():
                ask = replace(ask, early=lambda early: preview(_early(early, analyzer)))
            found = pipeline(mode)(store, text, ask, models, admission.moment)
    admission.write_trace(found, ask.gate, ask.limit)
    if shown.form:
        emit(formatted(found, shown, config.settings.max_bytes))
    else:
        from qmd_py.render import people

        show(people.answer_lines(found, analyzer, explain=shown.explain))
    _remark(found)
    if not found.hits:
        raise typer.Exit(Status.NOTHING_FOUND)


def _gate(
    admission: Admission, reading: Reading, mode: str, text: str, shown: Shown
) -> "Gate | None":
    """What may be shown; a policy that is not known stops here, in the format asked for.

    Raises:
        PolicyUnknown: it is not.
    """
    try:
        return admission.gate(reading)
    except PolicyUnknown:
        stopped = admission.stopped(mode, text)
        most = admission.config.settings.max_bytes
        emit(formatted(stopped, shown, most) if shown.form else "")
        raise


def _early(found: Answer, analyzer: Analyzer) -> list[Line]:
    from qmd_py.render import people

    return people.early_lines(found, analyzer)


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


Pipeline = Callable[[Reader, str, Ask, Models, datetime.datetime], Answer]

MODES = ("search", "vsearch", "query")


def pipeline(mode: str) -> Pipeline:
    """The function behind a search command; each is imported only when it is used.

    Raises:
        UsageError: there is no such mode.
    """
    if mode == "query":
        from qmd_py.search.hybrid import hybrid

        return hybrid
    from qmd_py.search.simple import by_meaning, by_words

    found = {"search": by_words, "vsearch": by_meaning}.get(mode)
    if found is None:
        raise UsageError(f"no mode '{mode}': there are {', '.join(MODES)}")
    return found


def _template(typed: str | None) -> "Template | None":
    if typed is None:
        return None
    from qmd_py.render.template import Template

    return Template(typed)


def formatted(found: Answer, shown: Shown, max_bytes: int) -> str:
    """An answer in the form that was chosen for programs."""
    from qmd_py.render import machine

    if shown.template is not None:
        lines = shown.template.lines(found)
        return styled.safe(lines) if sys.stdout.isatty() else lines

    if shown.form == "json":
        from qmd_py import sizes

        found = sizes.counted(found, max_bytes)
    formats: Mapping[str, Callable[[], str]] = {
        "json": lambda: machine.answer_json(found, toc=shown.toc, explain=shown.explain),
        "csv": lambda: machine.answer_csv(found),
        "md": lambda: machine.answer_markdown(found),
        "files": lambda: machine.answer_files(found, shown.separator),
    }
    return formats[shown.form]()


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
    if answer.decision and answer.decision.refused:
        count, reasons = len(answer.decision.refused), ", ".join(answer.decision.reasons)
        what = "hit" if count == 1 else "hits"
        notice(f"{count} {what} may not be used as evidence: {reasons}")
    if answer.cut:
        notice(f"{answer.cut} notes scored below --min-score and were left out")
    if not answer.hits and sys.stderr.isatty():
        notice("nothing found: try fewer or other words")
    for skipped in answer.skipped if sys.stderr.isatty() else answer.broken:
        notice(f"skipped {skipped}")


search = searcher(
    "search",
    """Search by words: BM25 over sections, with word stems of the notes' languages.

    qmd search worker pool

    qmd search '"rate limit"' -draft --json
    """,
)
vsearch = searcher(
    "vsearch",
    """Search by meaning alone: the vectors of sections.

    qmd vsearch how to keep two goroutines from writing at once

    qmd vsearch "хлеб не поднимается" -n 3
    """,
)
