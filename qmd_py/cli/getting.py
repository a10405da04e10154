"""`qmd get`: whole notes, or parts of them, by whatever names them."""

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from qmd_py import sections
from qmd_py.cli import completing
from qmd_py.cli.app import IndexOption, Status, emit, notice, show
from qmd_py.cli.options import AsOf, Policy
from qmd_py.cli.reading import admitted, emit_note, opened
from qmd_py.errors import QmdError
from qmd_py.records.notes import SectionText
from qmd_py.records.stored import StoredNote
from qmd_py.references import Pointer, matching
from qmd_py.render import machine, places
from qmd_py.store.reader import Reader

if TYPE_CHECKING:
    from qmd_py.gate import Gate


def get(
    notes: Annotated[
        list[str],
        typer.Argument(
            metavar="PID|PATH[:FROM[:COUNT]]…",
            help="Notes, or COUNT of their lines beginning with line FROM; globs; "
            "`-` reads names from stdin, one a line or each ended by NUL.",
            autocompletion=completing.notes,
        ),
    ],
    max_bytes: Annotated[
        int | None,
        typer.Option("--max-bytes", min=1, help="Leave out what is longer than this, by name."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON array.")] = False,
    policy: Policy = None,
    as_of: AsOf = None,
    index: IndexOption = None,
) -> None:
    """Print whole notes, or some of their lines. A section is mostly enough: see 'qmd section'.

    qmd get 42 "Sourdough Bread.md:10:25"

    qmd search bread -l | qmd get - --max-bytes 20000
    """
    with opened(index, policy, as_of) as (store, config, gate):
        gathered = _Gathered(config.settings.max_bytes, max_bytes, gate)
        for name in _names(notes):
            gathered.take(store, name)
    texts = gathered.texts
    if as_json:
        emit(machine.texts_json(texts))
    else:
        _emit(texts, gathered.notes, config.settings.editor)
    if gathered.failed:
        raise typer.Exit(Status.ERROR)
    if not texts:
        raise typer.Exit(Status.NOTHING_FOUND)


class _Gathered:
    """The texts asked for, in order and each once; what cannot be had is told, and the rest goes on."""

    def __init__(self, readable: int, longest: int | None, gate: "Gate | None") -> None:
        self.texts: list[SectionText] = []
        self.notes: dict[int, StoredNote] = {}
        self.failed = False
        self._readable = readable
        self._longest = longest
        self._gate = gate
        self._seen: set[tuple[int, int, int, str]] = set()

    def take(self, store: Reader, name: str) -> None:
        """Add what a name stands for."""
        found: Sequence[Pointer] = ()
        with self._told():
            found = matching(store, name, admitted(self._gate))
        for pointer in found:
            key = (pointer.note.pid, pointer.line, pointer.count, pointer.anchor)
            if key not in self._seen:
                self._seen.add(key)
                with self._told():
                    self._add(pointer)

    def _add(self, pointer: Pointer) -> None:
        text = _read(pointer, self._readable, self._gate)
        size = len(text.text.encode(errors="surrogatepass"))
        if self._longest is not None and size > self._longest:
            named = f"{text.collection}/{text.path}"
            notice(f"{named} left out: {size} bytes; see 'qmd toc {text.pid}' for its sections")
        else:
            self.texts.append(text)
            self.notes[text.pid] = pointer.note

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except QmdError as error:
            self.failed = True
            notice(str(error))


def _read(pointer: Pointer, max_bytes: int, gate: "Gate | None") -> SectionText:
    """The lines, the section, or else the whole note that a pointer names."""
    if pointer.line:
        return sections.lines(pointer, max_bytes, gate)
    return sections.shown(pointer, [], max_bytes, gate)


def _names(typed: Sequence[str]) -> Iterator[str]:
    """The names typed; `-` stands for those on stdin."""
    for name in typed:
        if name == "-":
            piped = sys.stdin.buffer.read()
            ends = b"\0" if b"\0" in piped else b"\n"
            names = (os.fsdecode(line).strip("\r") for line in piped.split(ends))
            yield from (line for line in names if line.strip())
        else:
            yield name


def _emit(
    texts: Sequence[SectionText], notes: Mapping[int, StoredNote], editor: str | None
) -> None:
    """Write the text; of several, each under a line that names it."""
    for at, text in enumerate(texts):
        if len(texts) > 1:
            file = places.file_of(notes[text.pid])
            place = places.place(_place(text), file, text.line, editor)
            show([*([[]] if at else []), [("==> ", ""), place, (" <==", "")]])
        if text.section_tokens < text.note_tokens and not text.toc_path:
            emit(_ended(text.text))  # lines that were asked for by number are wanted as they are
        else:
            emit_note(text.path, _ended(text.text))


def _place(text: SectionText) -> str:
    line = f":{text.line}" if text.line > 1 else ""
    return f"{text.collection}/{text.path}{line}"


def _ended(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"
