"""`qmd eval`: how good the answers are, on judged questions."""

import datetime
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import qmd_py
from qmd_py.cache import Cache, NoCache
from qmd_py.cli import completing
from qmd_py.cli.app import IndexOption, bar, columns, configured, emit, show
from qmd_py.cli.choosing import Device, Expander, Reranker
from qmd_py.cli.loading import Loader
from qmd_py.cli.options import composed
from qmd_py.cli.searching import known_runs, pipeline
from qmd_py.config import Config
from qmd_py.errors import Refused, UsageError
from qmd_py.models import Models
from qmd_py.records.answers import Hit, Scope
from qmd_py.search.asking import Ask
from qmd_py.search.scoping import check_collections
from qmd_py.store.reader import Reader

if TYPE_CHECKING:
    from qmd_py.evaluation.judging import Judged, Row
    from qmd_py.evaluation.questions import Question, QuestionSet
    from qmd_py.expansion.callers import Handed

_COLD_RUNS = 3


def evaluate(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="GOLDEN…", help="Judged questions (JSON), or TREC qrels."),
    ],
    mode: Annotated[
        str,
        typer.Option(
            metavar="MODE", help="search, vsearch or query.", autocompletion=completing.modes
        ),
    ] = "query",
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--without", metavar="RUN", help="Leave out a run.", autocompletion=completing.runs
        ),
    ] = None,
    queries: Annotated[
        Path | None, typer.Option("--queries", help="The questions of TREC qrels: id, tab, text.")
    ] = None,
    worded: Annotated[
        Path | None,
        typer.Option("--questions", help="Ask in the words of another file with the same ids."),
    ] = None,
    fields: Annotated[
        list[Path] | None,
        typer.Option(
            "--fields",
            metavar="FIELDS.json",
            help="Ask with a caller's fields (by question id) too, and show the differences; "
            "one file for each of the judged, in their order.",
        ),
    ] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="The two files are saved runs: show the differences.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="RUN.json", help="Save the run.")
    ] = None,
    collections: Annotated[
        list[str] | None,
        typer.Option(
            "--collection",
            "-c",
            metavar="NAME",
            callback=composed,
            help="Where to search; else where the judged are.",
            autocompletion=completing.collections,
        ),
    ] = None,
    expander: Expander = "none",
    reranker: Reranker = "none",
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    index: IndexOption = None,
) -> None:
    """Measure the answers on judged questions, with 95 % intervals.

    qmd eval golden.json

    qmd eval golden.json --without dense -o words.json

    qmd eval --compare words.json all.json

    qmd eval golden.json --fields written.json
    """
    from qmd_py.evaluation import judging

    if compare:
        before, after = _two(files)
        changes = judging.compare(judging.load(before), judging.load(after))
        _print([], changes, as_json)
        return
    config = configured(index)
    if config.policy:
        raise Refused("an evaluation reads every note: it is not done under a policy")
    sets = _read(files, queries, worded)
    written = _written(fields or (), sets, mode)
    available = Models()
    if mode != "search":
        available = Loader(config, device=device).models(expander=expander, reranker=reranker)
    asker = _Asker(config, mode, without or (), collections, available)
    judged = {each.name: asker.judge(each) for each in sets}
    helped = {each.name: asker.judge(each, written[each.name]) for each in sets if written}
    both = judged | {f"{name} with fields": found for name, found in helped.items()}
    if output:
        judging.save(output, both, {"qmd": qmd_py.__version__, "mode": mode, "without": without})
    _print(judging.report(both), judging.compare(judged, helped) if helped else [], as_json)
    if not as_json:
        from qmd_py.render import tables

        show([*tables.times(judged, asker.cold()), *tables.probe(judged, asker.led)])


class _Asker:
    """Asks the questions of a set where its judged notes are."""

    def __init__(
        self,
        config: Config,
        mode: str,
        without: Sequence[str],
        collections: Sequence[str] | None,
        models: Models,
    ) -> None:
        self._index = config.index
        self._cache = Cache(config.cache) if models.expander or models.reranker else NoCache()
        self._mode = mode
        self._pipeline = pipeline(mode)
        self._without = known_runs(without)
        self._collections = tuple(collections or ())
        self._models = models
        self._first = ""
        self.led: set[tuple[str, str]] = set()
        """(set, question id) where one note clearly led by words alone."""

    def judge(
        self, asked: "QuestionSet", written: "Mapping[str, Handed] | None" = None
    ) -> "tuple[Judged, ...]":
        """Ask the questions, each with what a caller wrote for it, if anything."""
        from qmd_py.evaluation import judging

        self._first = self._first or asked.questions[0].query
        with Reader.open(self._index) as store, bar(asked.name) as progress:
            check_collections(store, self._collections)
            scope = self._scope(store, asked)
            ask = Ask(judging.DEPTH, scope, without=self._without, cache=self._cache)
            done = 0

            def find(question: "Question") -> Sequence[Hit]:
                nonlocal done
                done += 1
                progress(done, len(asked.questions))
                now = datetime.datetime.now(datetime.UTC)
                own = replace(ask, handed=written[question.id]) if written else ask
                with store.snapshot():
                    answer = self._pipeline(store, question.query, own, self._models, now)
                if answer.leads:
                    self.led.add((asked.name, question.id))
                return answer.hits

            return judging.evaluate_each(asked, find)

    def cold(self) -> float:
        """Median seconds of a whole process that answers the first question."""
        command = [
            sys.executable,
            "-P",  # the working folder may hold a file named like a module
            "-m",
            "qmd_py",
            self._mode,
            "--json",
            "--index",
            str(self._index.absolute()),
        ]
        taken = []
        for _ in range(_COLD_RUNS):
            start = time.perf_counter()
            subprocess.run([*command, "--", self._first], capture_output=True, check=False)
            taken.append(time.perf_counter() - start)
        return sorted(taken)[_COLD_RUNS // 2]

    def _scope(self, store: Reader, asked: "QuestionSet") -> Scope:
        """The collections asked for, else those that hold any judged note.

        Raises:
            UsageError: no judged note is in the index.
        """
        if self._collections:
            return Scope(self._collections)
        judged = {path for question in asked.questions for path in question.gains}
        names = {note.collection for note in store.notes_of(Scope()) if note.path in judged}
        if not names:
            raise UsageError(
                f"the index holds none of the notes that {asked.name} judges: index them first"
            )
        return Scope(tuple(sorted(names)))


def _read(files: Sequence[Path], queries: Path | None, worded: Path | None) -> "list[QuestionSet]":
    from qmd_py.evaluation import questions

    sets = [questions.read(file, queries) for file in files]
    stems = [each.name for each in sets]
    sets = [
        each if stems.count(each.name) == 1 else replace(each, name=str(file))
        for each, file in zip(sets, files, strict=True)
    ]
    if worded:
        other = questions.read(worded, queries)
        sets = [questions.worded_by(each, other) for each in sets]
    return sets


def _written(
    files: Sequence[Path], sets: "Sequence[QuestionSet]", mode: str
) -> "Mapping[str, Mapping[str, Handed]]":
    """Set → question id → the caller's fields; empty where no file of them is given."""
    from qmd_py.evaluation import wordings

    if not files:
        return {}
    if mode != "query":
        raise UsageError(f"--fields is for --mode query: {mode} has no place for them")
    if len(files) != len(sets):
        raise UsageError(
            f"{len(sets)} sets of questions and {len(files)} files of fields: "
            "give one --fields for each, in the same order"
        )
    found = {each.name: wordings.read(file) for each, file in zip(sets, files, strict=True)}
    for each in sets:
        wordings.check_complete(found[each.name], each)
    return found


def _two(files: Sequence[Path]) -> tuple[Path, Path]:
    if len(files) != 2:
        raise UsageError("--compare takes two saved runs: the one before and the one after")
    return files[0], files[1]


def _print(rows: "Sequence[Row]", changes: "Sequence[Row]", as_json: bool) -> None:
    """Print measures and differences; in JSON, those are of sets `… difference` beside others."""
    from qmd_py.render import machine, tables

    if as_json:
        named = [replace(row, set=f"{row.set} difference") for row in changes] if rows else changes
        emit(machine.rows_json([*rows, *named]))
        return
    for table, signed in ((rows, False), (changes, True)):
        if table:
            show(tables.measures(table, signed=signed, columns=columns()))
