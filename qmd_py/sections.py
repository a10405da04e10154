"""A pointer → the section it points to, in the file as it is now."""

import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from qmd_py import passages, references, spelling
from qmd_py.admission import STALE
from qmd_py.errors import Ambiguous, FileUnreadable, NotFound, Refused, UsageError
from qmd_py.formats import parsing, reading
from qmd_py.markdown import Document, plain_heading
from qmd_py.markdown.tree import Spot
from qmd_py.records.notes import SectionText
from qmd_py.records.stored import Section, StoredNote
from qmd_py.references import Admitted, Pointer
from qmd_py.store.reader import Reader

if TYPE_CHECKING:
    from qmd_py.gate import Gate

_SHOWN = 5  # headings named in an error
_LIKE = 0.4  # share of letters; a heading may have been renamed
_LONGEST_PATH = 20_000  # characters; six headings of the longest kind, escaped as JSON
_ORDINAL = re.compile(r"^(?:\d{1,3} )+(?=[^\W\d])")  # longer ones are years, which tell apart
_LETTERS = re.compile(r"[^\w+#]+")


def find_note(store: Reader, reference: str, admitted: Admitted = list) -> StoredNote:
    """The note of whatever qmd prints to name one.

    Raises:
        NotFound: there is none.
        Ambiguous: the path stands in several collections.
        Refused: there is one, and it may not be read.
    """
    return references.find(store, reference, admitted).note


def section(
    store: Reader,
    reference: str,
    path: Sequence[str],
    max_bytes: int,
    gate: "Gate | None" = None,
) -> SectionText:
    """The section a pointer names, read from the live file; the whole note without a path.

    Args:
        store: the index, for finding the file.
        reference: a pid or a path.
        path: headings as separate words, or one word holding a JSON array, `A > B` or `#anchor`;
            none: the section around the line or under the anchor that the reference names.
        max_bytes: larger files are not read.
        gate: what may be read; None for everything.

    Raises:
        NotFound: the note is not in the index, its file is gone, or no heading fits.
        Ambiguous: several headings fit.
        FileUnreadable: the file cannot be read.
        Refused: it may not be read.
    """
    pointer = references.find(store, reference, gate.admitted if gate else list)
    return shown(pointer, path, max_bytes, gate)


def shown(
    pointer: Pointer, path: Sequence[str], max_bytes: int, gate: "Gate | None" = None
) -> SectionText:
    """The section a path names in a pointer's note; without a path, the one the pointer names.

    Raises:
        NotFound: the file is gone, or no heading fits.
        Ambiguous: several headings fit.
        FileUnreadable: the file cannot be read.
        Refused: it is no longer what the gate let pass.
    """
    document = live(pointer.note, max_bytes, gate)
    if spot := _spot(document, pointer, path):
        return _text(pointer.note, document, spot.section, document.text(spot))
    place = _whole(document)
    return _text(pointer.note, document, place, document.lines.numbered(1, place.last_line))


def lines(pointer: Pointer, max_bytes: int, gate: "Gate | None" = None) -> SectionText:
    """The lines that a pointer names, as `sed -n` counts them.

    Raises:
        NotFound: the file is gone.
        FileUnreadable: the file cannot be read.
        Refused: it is no longer what the gate let pass.
        UsageError: the note has fewer.
    """
    note = pointer.note
    document = live(note, max_bytes, gate)
    end = document.lines.numbers[-1]
    if pointer.line > end:
        raise UsageError(
            f"{note.collection}/{note.path}: line {pointer.line} is past the end: "
            f"the note has {end} lines"
        )
    last = min(pointer.line + pointer.count - 1, end) if pointer.count else end
    place = replace(_whole(document), line=pointer.line, last_line=last)
    return _text(note, document, place, document.lines.numbered(pointer.line, last))


def _text(note: StoredNote, document: Document, place: Section, text: str) -> SectionText:
    return SectionText(
        pid=note.pid,
        collection=note.collection,
        path=note.path,
        title=document.title,
        toc_path=place.path,
        anchor=place.anchor,
        line=place.line,
        last_line=place.last_line,
        text=text,
        section_tokens=passages.tokens(text),
        note_tokens=passages.tokens("\n".join(document.lines.lines)),
    )


def _spot(document: Document, pointer: Pointer, path: Sequence[str]) -> Spot | None:
    """The toc entry to show; None for the whole note."""
    if not _is_whole(path) or any(_same(spot.section, path) for spot in document.spots):
        return resolve(document, path, pointer.note.pid)
    if path:
        return None  # an empty path is asked for
    if pointer.anchor:
        return resolve(document, [f"#{pointer.anchor}"], pointer.note.pid)
    around = [s for s in document.spots if s.section.line <= pointer.line <= s.section.last_line]
    return around[-1] if around else None


def live(note: StoredNote, max_bytes: int, gate: "Gate | None" = None) -> Document:
    """The note's file parsed as it is now, which has to be as the gate saw it.

    Raises:
        NotFound: the file is gone.
        FileUnreadable: it cannot be read.
        Refused: it is no longer what the gate let pass.
    """
    file = Path(note.root, note.file)
    try:
        text = reading.read(Path(note.root), note.file, max_bytes)
    except FileUnreadable as error:
        if file.exists():
            raise
        raise NotFound(
            f"{file} is gone since it was indexed: run 'qmd index' and search again"
        ) from error
    if gate and text.digest != gate.look(note).digest:
        raise Refused(f"{STALE}: the file changed while it was read: ask again")
    if text.problem and not text.text:
        raise FileUnreadable(f"{file} {text.problem}")
    return parsing.parse(text.text, note.path)


def resolve(document: Document, path: Sequence[str], pid: int | None = None) -> Spot:
    """The one toc entry that a path names.

    The very path comes first. Then one that differs only in case, spaces, numbering, punctuation,
    emoji or Markdown marks. `A > B` and `#anchor`, which people type, may also leave out headings at
    the start and letters at the ends of words, or begin with the note's title, as hits are shown.

    Args:
        document: the note as it is now.
        path: headings, in any form.
        pid: of the note, for errors that name what can be asked for instead as `PID:LINE`; None: lines alone.

    Raises:
        NotFound: no entry fits; the nearest are named.
        Ambiguous: several fit; they are named.
        UsageError: the path is longer than any can be.
    """
    if sum(map(len, path)) > _LONGEST_PATH:
        raise UsageError(f"no toc path has more than {_LONGEST_PATH} characters: take one from toc")
    if not document.spots:
        raise NotFound("the note has no headings: read it whole, with 'qmd get'")
    wanted, typed = _split(document, path)
    inner = _below_title(document, wanted) if typed else None
    for path in (wanted, inner) if inner else (wanted,):
        for fits in (_same, _alike, *((_ends_alike, _begins_alike) if typed else ())):
            found = [spot for spot in document.spots if fits(spot.section, path)]
            if len(found) == 1:
                return found[0]
            if found:
                raise Ambiguous(f"several headings fit {_show(path)}: {_list(found, pid)}")
    near = _nearest(document, wanted)
    told = f"the nearest are {_list(near, pid)}" if near else f"it has {_list(document.spots, pid)}"
    raise NotFound(f"no heading {_show(wanted)} in the note now: {told}")


_Fits = Callable[[Section, Sequence[str]], bool]


def _is_whole(path: Sequence[str]) -> bool:
    """Whether no heading is named: no path, an empty word, or the `[]` of a note without headings."""
    return not any(path) or [word.replace(" ", "") for word in path] == ["[]"]


def _split(document: Document, path: Sequence[str]) -> tuple[list[str], bool]:
    """The headings named by a path, and whether it is in a form that people type."""
    words = [unicodedata.normalize("NFC", word) for word in path]
    if len(words) != 1 or any(_same(spot.section, words) for spot in document.spots):
        return words, False
    word = words[0].strip()
    if word.startswith("["):
        try:
            parsed = json.loads(word)
        except (ValueError, RecursionError):
            return words, False
        if isinstance(parsed, list) and all(isinstance(item, str) for item in parsed):
            return parsed, False
    if word.startswith("#"):
        for spot in document.spots:
            if spot.section.anchor and spot.section.anchor == word[1:].lower():
                return list(spot.section.path), False
        return _stripped(re.split("[>#]", word.lstrip("#").strip())), True
    parts = re.split(r"(?<=\s)>(?=\s)", word)
    return (_stripped(parts), True) if " > " in word else (words, False)


def _below_title(document: Document, wanted: Sequence[str]) -> Sequence[str] | None:
    """What follows the note's title, where a path begins with it."""
    titled = len(wanted) > 1 and _plain(wanted[0]) == _plain(document.title)
    return wanted[1:] if titled else None


def _stripped(parts: Sequence[str]) -> list[str]:
    return [part.strip() for part in parts]


def _same(section: Section, wanted: Sequence[str]) -> bool:
    return section.path == tuple(wanted)


def _alike(section: Section, wanted: Sequence[str]) -> bool:
    return len(section.path) == len(wanted) and _ends_alike(section, wanted)


def _ends_alike(section: Section, wanted: Sequence[str]) -> bool:
    if len(section.path) < len(wanted):
        return False
    pairs = zip(section.path[-len(wanted) :], wanted, strict=True)
    return all(_plain(word) in _spellings(heading) for heading, word in pairs)


def _begins_alike(section: Section, wanted: Sequence[str]) -> bool:
    if len(section.path) < len(wanted):
        return False
    pairs = zip(section.path[-len(wanted) :], wanted, strict=True)
    return all(
        word and any(spelling.startswith(_plain(word)) for spelling in _spellings(heading))
        for heading, word in pairs
    )


def _spellings(heading: str) -> tuple[str, str]:
    """The heading's letters, and the same without its number, which people leave out."""
    return _plain(heading), _ORDINAL.sub("", _plain(heading))


def _plain(heading: str) -> str:
    """The heading's letters: what stays the same when someone types it from memory."""
    text = unicodedata.normalize("NFKC", plain_heading(heading)).casefold().replace("ё", "е")
    return _LETTERS.sub(" ", text).strip() or heading.strip()


def _nearest(document: Document, wanted: Sequence[str]) -> list[Spot]:
    """Entries that end so, as when the headings above were left out, then those written alike."""
    ending = [spot for spot in document.spots if _ends_alike(spot.section, wanted)]
    by_text = {" > ".join(spot.section.path): spot for spot in document.spots}
    close = spelling.alike(" > ".join(wanted), list(by_text), _SHOWN, _LIKE)
    return ending + [by_text[text] for text in close if by_text[text] not in ending]


def _list(spots: Sequence[Spot], pid: int | None) -> str:
    before = "line " if pid is None else f"{pid}:"
    shown = ", ".join(
        f"{_show(spot.section.path)} ({before}{spot.section.line})" for spot in spots[:_SHOWN]
    )
    return f"{shown} and {len(spots) - _SHOWN} more" if len(spots) > _SHOWN else shown


def _show(path: Sequence[str]) -> str:
    return references.echo(json.dumps(list(path), ensure_ascii=False))


def _whole(document: Document) -> Section:
    last = len(document.lines.lines)
    return Section(document.title, 0, (), "", 1, document.lines.number(last - 1))
