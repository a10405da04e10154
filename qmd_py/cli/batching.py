"""Many questions, each a line of stdin, answered by one process: `query --batch`, or `query -`."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import typer

from qmd_py.cli import filtering
from qmd_py.cli.admitting import Admission
from qmd_py.cli.app import Status, emit, notice
from qmd_py.cli.printing import Shown, formatted
from qmd_py.cli.searching import pipeline
from qmd_py.errors import PolicyUnknown, UsageError
from qmd_py.expansion import callers
from qmd_py.expansion.callers import Handed
from qmd_py.models import Models
from qmd_py.records.answers import Filters
from qmd_py.render import machine
from qmd_py.search.asking import Ask
from qmd_py.search.scoping import check_collections
from qmd_py.store.reader import Reader


def questions(words: Sequence[str] | None, *, batch: bool) -> tuple[list[str], Iterable[str]]:
    """The words of one question, or the questions of a batch, as they come.

    With `-` alone several lines on stdin are as many questions, unless they are one query document.

    Raises:
        UsageError: words were typed beside `--batch`.
    """
    if batch:
        if words not in (None, [], ["-"]):
            raise UsageError("--batch reads its questions from stdin: leave out the words")
        return [], _lines()
    if words != ["-"]:
        return list(words or ()), ()
    text = sys.stdin.buffer.read().decode(errors="replace").removeprefix("\ufeff")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return ([], lines) if len(lines) > 1 and not _is_document(text, lines) else ([text], ())


def check(shown: Shown, trace: Path | None) -> Shown:
    """The form of a batch's answers: JSON, or the user's own lines.

    Raises:
        UsageError: what a batch cannot give was asked for.
    """
    if trace:
        raise UsageError("several questions and --trace together: a trace is of one question")
    if shown.form not in {"", "json", "format"}:
        form = "-0" if shown.separator == "\0" else f"--{shown.form}"
        raise UsageError(f"several questions and {form} together: they give JSON, or --format")
    return replace(shown, form=shown.form or "json")


def answer_each(
    asked_for: Iterable[str],
    ask: Ask,
    models: Models,
    shown: Shown,
    options: Handed,
    admission: Admission,
    wanted: Filters,
) -> None:
    """Answer every question as it comes, one JSON object a line; a wrong one gets its error.

    While no policy is known that should decide, the answer is that it stops.

    Raises:
        UsageError: there are no questions.
        Exit: nothing was found for any of them, one was wrong, or no policy was known.
    """
    statuses = set()
    config = admission.config
    with admission.reading(git=True) as reading, Reader.open(config.index) as store:
        check_collections(store, wanted.collections)
        ask = replace(ask, scope=filtering.narrowed(store, wanted, gated=admission.active))
        for remark in filtering.astray(store, wanted, gated=admission.active):
            notice(remark)
        for typed in asked_for:
            # what expires while a batch waits for its next question is expired then
            now = admission.current()
            try:
                text, handed = callers.asked(typed, options)
                asked = replace(ask, handed=handed, reading=reading, gate=now.gate(reading))
                needed = _needed(models, handed)
                with store.snapshot():
                    found = pipeline("query")(store, text, asked, needed, now.moment)
            except UsageError as error:  # the other questions can be answered all the same
                statuses.add(Status.ERROR)
                _tell(typed, str(error), shown)
            except PolicyUnknown as error:  # it may be mended before the next question
                statuses.add(Status.ERROR)
                emit(formatted(now.stopped("query", text), shown, config.settings.max_bytes))
                notice(f"{typed}: {error}")
            else:
                statuses.add(Status.FOUND if found.hits else Status.NOTHING_FOUND)
                emit(formatted(found, shown, config.settings.max_bytes))
    if not statuses:
        raise UsageError("no question on stdin: write one a line")
    if Status.ERROR in statuses or Status.FOUND not in statuses:
        raise typer.Exit(max(statuses))


def _needed(models: Models, handed: Handed) -> Models:
    """The models without the expander, where the caller has worded the question himself."""
    if not (handed.variants or handed.queries):
        return models
    missing = tuple(why for why in models.missing if not why.startswith("expand:"))
    return replace(models, expander=None, missing=missing)


def _is_document(text: str, lines: Sequence[str]) -> bool:
    try:
        question, handed = callers.from_document(text)
    except UsageError:  # perhaps each line is one by itself
        return not all(line[0] == "{" and line[-1] == "}" for line in lines)
    return question != text or handed != Handed()


def _lines() -> Iterator[str]:
    for line in sys.stdin.buffer:
        if text := line.decode("utf-8-sig", errors="replace").strip():
            yield text


def _tell(question: str, error: str, shown: Shown) -> None:
    if shown.form == "json":
        emit(machine.failure_json(question, error))
    notice(f"{question}: {error}")
