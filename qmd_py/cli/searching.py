"""The commands that search: one function, a pipeline for each."""

import datetime
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from qmd_py.cli import filtering
from qmd_py.cli.admitting import Admission
from qmd_py.cli.app import IndexOption, configured, emit, screen
from qmd_py.cli.options import (
    LIMIT,
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
    Recent,
    Refresh,
    Since,
    Snippet,
    Tags,
    Trace,
    Until,
    Where,
    Without,
    Words,
)
from qmd_py.cli.printing import Shown, formatted, print_answer
from qmd_py.config import Config
from qmd_py.errors import PolicyUnknown, UsageError
from qmd_py.models import Models
from qmd_py.provenance import Reading
from qmd_py.records.answers import Answer, Filters
from qmd_py.render.styled import Line
from qmd_py.search.asking import RUNS, Ask
from qmd_py.search.scoping import check_collections
from qmd_py.snippets import DEFAULT_LENGTH
from qmd_py.store.reader import Reader
from qmd_py.terms import Analyzer, analyzer_for

if TYPE_CHECKING:
    from qmd_py.gate import Gate


def searcher(mode: str, text: str) -> Callable[..., None]:
    """The command function of `search` or `vsearch`, with the text of its help."""

    def command(
        words: Words = None,
        limit: Limit = None,
        collections: Collections = None,
        paths: Paths = None,
        tags: Tags = None,
        where: Where = None,
        since: Since = None,
        until: Until = None,
        recent: Recent = None,
        refresh: Refresh = False,
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
        wanted = filtering.typed(collections, paths, tags, where, since, until)
        ask = Ask(
            limit=limit or LIMIT,
            recent=recent,
            min_score=min_score,
            without=known_runs(without or ()),
            snippet=snippet,
            full=config.settings.max_bytes if full else 0,
        )
        if refresh:
            bring_up_to_date(config, wanted, embed=mode != "search")
        admission = Admission.chosen(config, admit=admit, policy=policy, as_of=as_of, trace=trace)
        if not words and wanted.given:
            list_notes(ask, limit, wanted, shown, admission)
            return
        asked = question(words)
        available = Models()
        if mode != "search":
            from qmd_py.cli.loading import Loader

            loader = Loader(config)
            available = Models(loader.embedder(questions_only=True), missing=loader.missing)
        answer(mode, config, asked, ask, available, shown, admission, wanted)

    command.__doc__ = text
    return command


def bring_up_to_date(config: Config, wanted: Filters, *, embed: bool) -> None:
    """Index the collections that are searched."""
    from qmd_py.cli import refreshing

    refreshing.refresh(config, wanted.collections, embed=embed)


def answer(
    mode: str,
    config: Config,
    text: str,
    ask: Ask,
    models: Models,
    shown: Shown,
    admission: Admission,
    wanted: Filters,
) -> None:
    """Ask, print, and end with the status that says whether anything was found.

    On a terminal the fused answer stands there while a reranker reads, and then gives way.

    Raises:
        Exit: nothing was found, or nothing may be used.
        PolicyUnknown: a policy has to decide, and there is none.
    """
    with admission.reading(git=bool(shown.form)) as reading:
        gate = _gate(admission, reading, mode, text, ask.limit, shown)
        ask = replace(ask, reading=reading, gate=gate)
        with Reader.open(config.index) as store, store.snapshot(), screen() as preview:
            check_collections(store, wanted.collections)
            scope = filtering.narrowed(store, wanted, gated=gate is not None)
            astray = filtering.astray(store, wanted, gated=gate is not None)
            ask = replace(ask, scope=scope)
            analyzer = analyzer_for(store.languages)
            # nothing is shown before its trace is kept
            if not shown.form and sys.stdout.isatty() and not admission.trace:
                editor = config.settings.editor
                ask = replace(ask, early=lambda early: preview(_early(early, analyzer, editor)))
            found = pipeline(mode)(store, text, ask, models, admission.moment)
    admission.write_trace(found, ask.gate, ask.limit)
    print_answer(found, shown, config.settings, analyzer, astray, models.absent)


def list_notes(
    ask: Ask, limit: int | None, wanted: Filters, shown: Shown, admission: Admission
) -> None:
    """Print the notes that meet filters, where nothing else is asked."""
    config = admission.config
    with admission.reading(git=bool(shown.form)) as reading:
        gate = _gate(admission, reading, "list", "", ask.limit, shown)
        ask = replace(ask, reading=reading, gate=gate)
        with Reader.open(config.index) as store, store.snapshot():
            check_collections(store, wanted.collections)
            found = filtering.listed(store, ask, limit, wanted, admission.moment)
            astray = filtering.astray(store, wanted, gated=gate is not None)
    admission.write_trace(found, ask.gate, ask.limit)
    print_answer(found, shown, config.settings, told=astray)


def _gate(
    admission: Admission, reading: Reading, mode: str, text: str, limit: int, shown: Shown
) -> "Gate | None":
    """What may be shown; a policy that is not known stops here, in the format asked for.

    Raises:
        PolicyUnknown: it is not.
    """
    try:
        return admission.gate(reading)
    except PolicyUnknown:
        stopped = admission.stopped(mode, text)
        admission.write_trace(stopped, None, limit)
        most = admission.config.settings.max_bytes
        emit(formatted(stopped, shown, most) if shown.form else "")
        raise


def _early(found: Answer, analyzer: Analyzer, editor: str | None) -> list[Line]:
    from qmd_py.render import people

    return people.early_lines(found, analyzer, editor)


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
    return sys.stdin.buffer.read().decode("utf-8-sig", errors="replace")


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


def known_runs(names: Sequence[str]) -> frozenset[str]:
    """Names of runs to leave out.

    Raises:
        UsageError: there is no such run.
    """
    for name in names:
        if name not in RUNS:
            raise UsageError(f"no run '{name}': there are {', '.join(RUNS)}")
    return frozenset(names)


search = searcher(
    "search",
    """Search by words: BM25 over sections, with word stems of the notes' languages.

    qmd search worker pool

    qmd search '"rate limit"' -draft --json

    qmd search --tag project/alpha --where 'status=open' --since 2026-03
    """,
)
vsearch = searcher(
    "vsearch",
    """Search by meaning alone: the vectors of sections.

    qmd vsearch how to keep two goroutines from writing at once

    qmd vsearch "хлеб не поднимается" -n 3
    """,
)
