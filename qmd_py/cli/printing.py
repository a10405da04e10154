"""How answers are printed, and what is said beside them."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import typer

from qmd_py.cli.app import Status, emit, notice, show
from qmd_py.config import Settings
from qmd_py.errors import UsageError
from qmd_py.records.answers import Answer
from qmd_py.records.values import Value
from qmd_py.render import styled
from qmd_py.terms import Analyzer

if TYPE_CHECKING:
    from qmd_py.render.template import Template


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Shown(Value):
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
        wanted = {"--json": json, "--csv": csv, "--md": md, "--files": files}
        wanted |= {"-0": null and not files, "--format": template is not None}
        form = _format(wanted)
        return cls(
            "files" if form == "0" else form,
            toc,
            explain,
            "\0" if null else "\n",
            _template(template),
        )


def print_answer(
    found: Answer,
    shown: Shown,
    settings: Settings,
    analyzer: Analyzer | None = None,
    told: Sequence[str] = (),
    absent: Sequence[str] = (),
) -> None:
    """Print an answer, and end with the status that says whether anything was found.

    Args:
        found: the answer.
        shown: its form.
        settings: the editor that links open, and how much of a note is read.
        analyzer: finds the question's words in snippets.
        told: what the filters have to say, which is why nothing may have been found.
        absent: those of the stages left out whose models only have to be pulled.

    Raises:
        Exit: nothing was found.
    """
    if shown.form:
        emit(formatted(found, shown, settings.max_bytes))
    else:
        from qmd_py.render import people

        show(
            people.answer_lines(
                found, analyzer or Analyzer(()), explain=shown.explain, editor=settings.editor
            )
        )
    for remark in told:
        notice(remark)
    _remark(found, hint=not told, absent=absent)
    if not found.hits:
        raise typer.Exit(Status.NOTHING_FOUND)


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


def _format(wanted: Mapping[str, bool]) -> str:
    """The one output format asked for; empty for people's.

    Raises:
        UsageError: several are.
    """
    chosen = [name for name, on in wanted.items() if on]
    if len(chosen) > 1:
        raise UsageError(f"{chosen[0]} and {chosen[1]} together: choose one")
    return chosen[0].lstrip("-") if chosen else ""


def _remark(answer: Answer, *, hint: bool = True, absent: Sequence[str] = ()) -> None:
    """Say on stderr what the reader of the answer should know."""
    if outdated := _outdated(answer):
        notice(f"{'; '.join(outdated)}: run 'qmd index'")
    if answer.decision and answer.decision.refused:
        count, reasons = len(answer.decision.refused), ", ".join(answer.decision.reasons)
        what = "hit" if count == 1 else "hits"
        notice(f"{count} {what} may not be used as evidence: {reasons}")
    if answer.cut:
        cut = "1 note scored" if answer.cut == 1 else f"{answer.cut} notes scored"
        notice(f"{cut} below --min-score: left out")
    if hint and not (answer.hits or answer.cut or answer.gone) and sys.stderr.isatty():
        listing = answer.mode == "list"
        notice(
            "no note meets the filters" if listing else "nothing found: try fewer or other words"
        )
    for skipped in answer.skipped if sys.stderr.isatty() else answer.broken:
        if skipped not in absent:
            notice(f"skipped {skipped}")
    stages = [why.partition(":")[0] for why in absent if why in answer.skipped]
    if stages and sys.stderr.isatty():
        notice(_modest(stages))


def _modest(stages: Sequence[str]) -> str:
    """That a search did without models, and how not to hear of it again; in one short line."""
    what = "no models" if len(stages) > 1 else "no model"
    off = 'both to "none"' if len(stages) > 1 else f'{stages[0]} = "none"'
    named = " and ".join(stages)
    return f"{what} to {named}: run 'qmd models pull', or set {off} in config.toml"


def _outdated(answer: Answer) -> list[str]:
    """What in the index is no longer as it is on disk, in words."""
    stale = [f"{hit.collection}/{hit.path}: {hit.stale}" for hit in answer.hits if hit.stale]
    gone = [f"{path}: the file is gone, so it is left out" for path in answer.gone]
    return [
        found[0] + (f" ({len(found)} such notes)" if len(found) > 1 else "")
        for found in (stale, gone)
        if found
    ]
