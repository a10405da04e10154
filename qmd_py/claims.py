"""A claim and the place that is to support it → a citation that can be opened again, and checked."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from qmd_py import admission, ledger, moments, provenance, references, sections
from qmd_py.errors import FileUnreadable, NotFound, Refused, UsageError
from qmd_py.formats import parsing
from qmd_py.gate import Gate
from qmd_py.ledger import Claim, Row
from qmd_py.markdown import Document
from qmd_py.provenance import Live, Proven
from qmd_py.records.evidence import Record
from qmd_py.records.notes import SectionText
from qmd_py.records.stored import StoredNote, breadcrumb
from qmd_py.store.reader import Reader
from qmd_py.terms import Analyzer
from qmd_py.visible import one_line

CHANGED = "revision-changed"
MOVED = "source-moved"
NO_FRAGMENT = "fragment-not-found"
NO_SOURCE = "source-not-found"
MALFORMED = "malformed-row"

LIMITATION = "chosen by shared words: whether it supports the claim is not checked"

_QUOTED = 400  # characters of a section quoted unless the user says which words
_LINES = re.compile(r"L(\d{1,9})-L(\d{1,9})")
_FILE = "file://"


@dataclass(frozen=True, slots=True)
class Citation:
    """A place in a note that can be opened again in the revision that was read."""

    place: str
    """Title and headings."""
    record: Record
    retrieved_at: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a row still holds."""

    row: Row
    reason: str | None = None
    """Why it does not; None where it does."""
    uri: str | None = None
    """Where its source is now, when that moved."""


@dataclass(frozen=True, slots=True)
class _Place:
    """What a row points at in a note."""

    note: StoredNote
    anchor: str
    lines: tuple[int, int]
    moved: bool


def cite(
    store: Reader, gate: Gate, reference: str, path: Sequence[str], max_bytes: int
) -> tuple[Citation, SectionText]:
    """The citation of a section, and the section.

    Raises:
        NotFound: the note or the section is not there.
        Ambiguous: there are several.
        Refused: it cannot be cited exactly, or the policy forbids it.
    """
    pointer = references.find(store, reference, gate.admitted)
    found = sections.shown(pointer, path, max_bytes, gate)
    record = gate.record(pointer.note, found.anchor, (found.line, found.last_line))
    why = gate.reason(record)
    if not why and not record.source.revision:
        why = admission.STALE
    if why:
        raise Refused(f"{why}: {_REMEDIES.get(why, 'this may not be cited')}")
    moment = moments.rfc3339(gate.retrieved_at)
    return Citation(breadcrumb(found.title, found.toc_path), record, moment), found


_REMEDIES = {
    admission.NO_CITATION: "a citation needs a section with a heading: see 'qmd toc'",
    admission.MISSING_REVISION: "no proof that counts: run 'qmd index', or state a new revision in it",
    admission.STALE: "the file changed since it was indexed: run 'qmd index'",
}


def row(
    citation: Citation,
    section: SectionText,
    claim: str,
    quoted: str | None,
    limitation: str,
    analyzer: Analyzer,
) -> Claim:
    """The row of a claims table for a claim; the fragment is `quoted`, or what shares most words.

    Raises:
        UsageError: the section does not say what is quoted.
    """
    if not one_line(claim):
        raise UsageError("the claim is empty: say what the section is to support")
    if quoted is not None and not _says(section.text, quoted):
        raise UsageError("the section does not say what is quoted: copy its words as they stand")
    source = citation.record.source
    made = Claim(
        claim=one_line(claim),
        place=one_line(citation.place),
        uri=source.uri,
        record_id=source.record_id,
        proof=source.proof or "",
        revision=source.revision or "",
        fragment=one_line(quoted) if quoted is not None else _fragment(section, claim, analyzer),
        limitation=one_line(limitation),
    )
    if len(ledger.table([made])) > ledger.LONGEST:
        raise UsageError("the claim or the quotation is too long for a row: shorten it")
    return made


def check(store: Reader, gate: Gate, rows: Sequence[Row], max_bytes: int) -> Iterator[Verdict]:
    """Each row with the reason why it no longer holds, if it does not.

    Notes are found by the index alone, so that a row cannot name any other file.
    """
    for row in rows:
        yield _verdict(store, gate, row, max_bytes)


def _verdict(store: Reader, gate: Gate, row: Row, max_bytes: int) -> Verdict:
    if not row.readable:
        return Verdict(row, MALFORMED)
    claim = row.claim
    place = _place(store, gate, claim)
    if place is None or not gate.look(place.note).there:
        return Verdict(row, NO_SOURCE)
    proven = Proven(claim.proof, claim.revision)
    record = gate.record(place.note, place.anchor, place.lines, proven)
    why = None if _proves(gate.look(place.note), proven) else CHANGED
    why = why or gate.reason(record) or _missing(gate, place, claim, max_bytes)
    if place.moved:
        why = NO_SOURCE if why else MOVED
    told = why and gate.told(record, why)
    return Verdict(row, told, record.source.uri if told == MOVED else None)


def _place(store: Reader, gate: Gate, claim: Claim) -> _Place | None:
    """What URI and record id of a row both name.

    Or the id alone, of a note that has moved away; or both, but that its collection is called otherwise.
    """
    base, _, fragment = claim.uri.partition("#")
    if not base.startswith(_FILE):
        return None
    found = _LINES.fullmatch(fragment)
    lines = (int(found[1]), int(found[2])) if found else (0, 0)
    anchor = "" if found else unquote(fragment)
    for note in store.notes_in(unquote(base.removeprefix(_FILE))):
        whole = gate.record(note).source
        source = provenance.at(whole, anchor)
        uri = f"{whole.uri}#{fragment}" if found else source.uri
        if (uri, source.record_id) == (claim.uri, claim.record_id):
            return _Place(note, anchor, lines, moved=False)
    collection, _, pid = claim.record_id.removesuffix(anchor).rstrip("/").rpartition("/")
    moved = store.notes([int(pid)]).get(int(pid)) if re.fullmatch(r"[0-9]{1,18}", pid) else None
    if moved is None or claim.record_id != f"{collection}/{pid}/{anchor}":
        return None
    away = (moved.collection == collection) != (gate.record(moved).source.uri == base)
    return _Place(moved, anchor, lines, moved=True) if away else None


def _proves(live: Live, proven: Proven) -> bool:
    """Whether a note has a revision now, by the proof it had then."""
    digest = Proven(provenance.CONTENT, f"sha256:{live.digest}")
    return proven in live.proven or proven == digest


def _missing(gate: Gate, place: _Place, claim: Claim, max_bytes: int) -> str | None:
    """What a row points at and the note no longer has."""
    document = _document(place.note, gate, max_bytes)
    if document is None:
        return admission.STALE
    spots = [spot for spot in document.spots if spot.section.anchor == place.anchor]
    if spots and place.anchor:
        text = document.text(spots[0])
    elif 0 < place.lines[0] <= place.lines[1] <= document.lines.numbers[-1]:
        text = document.lines.numbered(*place.lines)
    else:
        return admission.NO_ANCHOR
    return None if claim.fragment and claim.fragment in one_line(text) else NO_FRAGMENT


def _document(note: StoredNote, gate: Gate, max_bytes: int) -> Document | None:
    """The note's file parsed; None when it is not as it was when it was looked at."""
    try:
        return sections.live(note, max_bytes, gate)
    except (FileUnreadable, NotFound, Refused):
        return None


def _says(text: str, quoted: str) -> bool:
    return bool(one_line(quoted)) and one_line(quoted) in one_line(text)


def _fragment(section: SectionText, claim: str, analyzer: Analyzer) -> str:
    """The paragraph with most of the claim's words, or the beginning of it."""
    terms = frozenset(analyzer.words(claim))
    document = parsing.parse(section.text, section.path)
    headings = {at for spot in document.spots for at in range(spot.start, spot.body)}
    own = ("" if at in headings else line for at, line in enumerate(document.lines.lines))
    told = _paragraphs("\n".join(own)) or _paragraphs(section.text)
    best = max(told, key=lambda part: len(terms.intersection(analyzer.words(part))), default="")
    return best if len(best) <= _QUOTED else best[:_QUOTED].rsplit(" ", 1)[0]


def _paragraphs(text: str) -> list[str]:
    return [one_line(part) for part in re.split(r"\n\s*\n", text) if part.strip()]
