"""`qmd section`, `toc`, `get`, `ls`: printing what a pointer points to."""

import contextlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qmd_py.cli.admitting import Admission
from qmd_py.cli.app import IndexOption, Status, configured, emit, notice, show
from qmd_py.cli.options import AsOf, Policy
from qmd_py.config import Config
from qmd_py.errors import UsageError
from qmd_py.records import Scope
from qmd_py.render import machine, people
from qmd_py.search.scoping import check_collections
from qmd_py.store.reader import Reader

if TYPE_CHECKING:
    from qmd_py.gate import Gate
    from qmd_py.sections import Admitted

Reference = Annotated[
    str, typer.Argument(metavar="PID|PATH", help="A pid, a path in its collection, or NAME/PATH.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object.")]


@contextlib.contextmanager
def _opened(
    index: Path | None, policy: Path | None, as_of: str | None
) -> Iterator[tuple[Reader, Config, "Gate | None"]]:
    """The index, the settings, and what stands between the notes and the reader, if anything."""
    config = configured(index)
    with (
        Admission.chosen(config, policy=policy, as_of=as_of).gated() as gate,
        Reader.open(config.index) as store,
    ):
        yield store, config, gate


def _admitted(gate: "Gate | None") -> "Admitted":
    return gate.admitted if gate else list


def section(
    note: Reference,
    path: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="HEADING…",
            show_default=False,
            help="The toc_path: words, one JSON array, 'A > B', or '#anchor'. None: the whole note.",
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
    """
    from qmd_py import sections

    if html and as_json:
        raise UsageError("--html and --json together: choose one")
    with _opened(index, policy, as_of) as (store, config, gate):
        most = config.settings.max_bytes
        found = sections.section(store, note, path or [], most, _admitted(gate))
    if as_json:
        emit(machine.section_json(found))
    elif html:
        from qmd_py.markdown.html import to_html

        emit(to_html(found.text))
    else:
        emit(found.text.rstrip("\n") + "\n")
        if sys.stderr.isatty():
            notice(f"about {found.section_tokens} tokens of the note's {found.note_tokens}")


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
    """
    from qmd_py import sections

    with _opened(index, policy, as_of) as (store, config, gate):
        found = sections.find_note(store, note, _admitted(gate))
    document = sections.live(found, config.settings.max_bytes)
    entries = [spot.section for spot in document.spots]
    if as_json:
        emit(machine.toc_json(found, entries))
    else:
        show(people.toc_lines(entries))


def get(
    note: Annotated[
        str,
        typer.Argument(
            metavar="PID|PATH[:FROM[:COUNT]]",
            help="A note, or COUNT of its lines beginning with line FROM.",
        ),
    ],
    policy: Policy = None,
    as_of: AsOf = None,
    index: IndexOption = None,
) -> None:
    """Print a whole note, or some of its lines. A section is mostly enough: see 'qmd section'.

    qmd get 42

    qmd get "Sourdough Bread.md:10:25"
    """
    from qmd_py import sections

    reference, first, count = _line_range(note)
    with _opened(index, policy, as_of) as (store, config, gate):
        most = config.settings.max_bytes
        found = sections.section(store, reference, [], most, _admitted(gate))
    text = found.text
    if first:
        lines = text.split("\n")
        text = "\n".join(lines[first - 1 : first - 1 + count if count else None])
        if first > len(lines):
            raise UsageError(f"line {first} is past the end: the note has {len(lines)} lines")
    emit(text if text.endswith("\n") else text + "\n")


def ls(
    collection: Annotated[str | None, typer.Argument(metavar="COLLECTION")] = None,
    as_json: Json = False,
    policy: Policy = None,
    as_of: AsOf = None,
    index: IndexOption = None,
) -> None:
    """List the notes in the index: pid, path, and the title where it is not the file's name.

    qmd ls

    qmd ls notes --json
    """
    with _opened(index, policy, as_of) as (store, _config, gate):
        names = (collection,) if collection else ()
        check_collections(store, names)
        notes = store.notes_of(Scope(names))
        if gate:
            notes = [note for note in notes if gate.refusal(note) is None]
    if as_json:
        emit(machine.notes_json(notes))
    else:
        show(people.notes_lines(notes))
    if not notes:
        raise typer.Exit(Status.NOTHING_FOUND)


def _line_range(reference: str) -> tuple[str, int, int]:
    """`PATH:FROM:COUNT` taken apart; zeros where a number is not given."""
    parts = re.fullmatch(r"(.+?):(\d{1,9})(?::(\d{1,9}))?", reference)
    if not parts:
        return reference, 0, 0
    first, count = int(parts[2]), int(parts[3] or 0)
    if not first or (parts[3] and not count):
        raise UsageError(f"'{reference}': lines and counts begin with 1")
    return parts[1], first, count
