"""`qmd section`, `toc`, `ls`: printing what a pointer points to."""

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qmd_py.cli import completing, filtering, hinting
from qmd_py.cli.admitting import Admission
from qmd_py.cli.app import IndexOption, Status, configured, emit, emit_styled, notice, show
from qmd_py.cli.options import AsOf, Policy, composed
from qmd_py.config import Config
from qmd_py.errors import UsageError
from qmd_py.records.answers import Filters, Scope
from qmd_py.render import machine, people
from qmd_py.search.scoping import check_collections
from qmd_py.store.reader import Reader

if TYPE_CHECKING:
    from qmd_py.gate import Gate
    from qmd_py.references import Admitted

Reference = Annotated[
    str,
    typer.Argument(
        metavar="PID|PATH",
        help="A pid, a path, PID:LINE as 'qmd toc' shows it, or whatever else qmd prints to name a note.",
        autocompletion=completing.notes,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object.")]


@contextlib.contextmanager
def opened(
    index: str | None, policy: Path | None, as_of: str | None
) -> Iterator[tuple[Reader, Config, "Gate | None"]]:
    """The index, the settings, and what stands between the notes and the reader, if anything."""
    config = configured(index)
    with (
        Admission.chosen(config, policy=policy, as_of=as_of).gated() as gate,
        Reader.open(config.index) as store,
    ):
        yield store, config, gate


def admitted(gate: "Gate | None") -> "Admitted":
    """What may be read."""
    return gate.admitted if gate else list


def section(
    note: Reference,
    path: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="HEADING…",
            show_default=False,
            help="The toc_path: words, one JSON array, 'A > B', or '#anchor'. None: the whole note.",
            autocompletion=completing.headings,
        ),
    ] = None,
    as_json: Json = False,
    html: Annotated[bool, typer.Option("--html", help="HTML instead of Markdown.")] = False,
    policy: Policy = None,
    as_of: AsOf = None,
    index: IndexOption = None,
) -> None:
    """Print one section of a note, as it is in the file now.

    qmd section 42 Goroutines "Worker pool"

    qmd section 42 '["Goroutines", "Worker pool"]' --json

    qmd section 42:27

    On a terminal the Markdown is laid out; a pipe gets it as it is. A line means the innermost section
    around it.
    """
    from qmd_py import sections

    if html and as_json:
        raise UsageError("--html and --json together: choose one")
    with opened(index, policy, as_of) as (store, config, gate):
        most = config.settings.max_bytes
        found = sections.section(store, note, path or [], most, gate)
    if as_json:
        emit(machine.section_json(found))
    elif html:
        from qmd_py.formats import kinds
        from qmd_py.markdown.html import to_html

        emit(to_html(kinds.as_markdown(found.path, found.text)))
    else:
        emit_note(found.path, found.text.rstrip("\n") + "\n")
        if sys.stderr.isatty():
            notice(f"about {found.section_tokens} tokens of the note's {found.note_tokens}")


def emit_note(path: str, text: str) -> None:
    """Write text of a note to stdout: laid out on a terminal, elsewhere as it is."""
    if not sys.stdout.isatty():
        emit(text)
        return
    from qmd_py.formats import kinds
    from qmd_py.render import read

    emit_styled(read.laid_out(kinds.as_markdown(path, text)))


def toc(
    note: Reference,
    as_json: Json = False,
    policy: Policy = None,
    as_of: AsOf = None,
    index: IndexOption = None,
) -> None:
    """Print the table of contents of a note, with line numbers.

    qmd toc 42

    qmd toc "Go Concurrency Patterns.md" --json

    A terminal shows PID:LINE, to copy: 'qmd section 42:27' prints that section.
    """
    from qmd_py import sections

    with opened(index, policy, as_of) as (store, config, gate):
        found = sections.find_note(store, note, admitted(gate))
        document = sections.live(found, config.settings.max_bytes, gate)
    entries = [spot.section for spot in document.spots]
    if as_json:
        emit(machine.toc_json(replace(found, title=document.title), entries))
    else:
        show(people.toc_lines(entries, found, config.settings.editor))
    if not entries:
        hinting.tell(f"the note has no headings: 'qmd get {found.pid}' prints it")


def ls(
    collection: Annotated[
        str | None,
        typer.Argument(
            metavar="COLLECTION[/PATH]",
            callback=composed,
            autocompletion=completing.collections,
        ),
    ] = None,
    as_json: Json = False,
    policy: Policy = None,
    as_of: AsOf = None,
    index: IndexOption = None,
) -> None:
    """List the notes in the index: pid, path, and the title where it is not the file's name.

    qmd ls

    qmd ls notes/recipes --json
    """
    with opened(index, policy, as_of) as (store, config, gate):
        wanted = _place(collection or "")
        check_collections(store, wanted.collections)
        notes = store.notes_of(wanted)
        typed = Filters(paths=(collection,) if collection and wanted.paths else ())
        astray = filtering.astray(store, typed, gated=gate is not None)
        if gate:
            notes = [gate.current(note) for note in notes if gate.refusal(note) is None]
    if as_json:
        emit(machine.notes_json(notes))
    else:
        show(people.notes_lines(notes, config.settings.editor))
    if not notes:
        for remark in astray:
            notice(remark)
        if not astray:
            hinting.tell(
                "no note may be shown" if gate else "no notes here yet: run 'qmd index DIR'"
            )
        raise typer.Exit(Status.NOTHING_FOUND)


def _place(typed: str) -> Scope:
    """`COLLECTION[/PATH]` as what may be listed."""
    name, _, below = typed.partition("/")
    return Scope((name or typed,) if typed else (), (below,) if below and name else ())
