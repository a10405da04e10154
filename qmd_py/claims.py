"""A claim and the place that is to support it → a citation that can be opened again, and checked."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from qmd_py import admission, moments, sections
from qmd_py.errors import Refused, UsageError
from qmd_py.gate import Gate
from qmd_py.provenance import Live
from qmd_py.records import Record, StoredNote, breadcrumb
from qmd_py.store.reader import Reader
from qmd_py.terms import Analyzer

CHANGED = "revision-changed"
NO_FRAGMENT = "fragment-not-found"
NO_SOURCE = "source-not-found"

COLUMNS = ("claim", "link", "fragment", "limitation", "status")
LIMITATION = "chosen by shared words: whether it supports the claim is not checked"

_QUOTED = 400  # characters of a section quoted unless the user says which words
_LINK = re.compile(r"\[(?P<place>.*)\]\((?P<uri>\S+) \"(?P<id>\S+) @ (?P<revision>\S+)\"\)")
_LINES = re.compile(r"L(\d{1,9})-L(\d{1,9})")
_CELLS = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Citation:
    """A place in a note that can be opened again in the revision that was read."""

    place: str
    """Title and headings."""
    record: Record
    retrieved_at: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A row of a claims table."""

    claim: str
    place: str
    uri: str
    record_id: str
    revision: str
    fragment: str
    """Words of the section, quoted."""
    limitation: str
    status: str = admission.VERIFY
    line: int = 0
    """1-based line of the file it was read from; 0 for none."""


def cite(
    store: Reader, gate: Gate, reference: str, path: Sequence[str], max_bytes: int
) -> tuple[Citation, str]:
    """The citation of a section, and its text.

    Raises:
        NotFound: the note or the section is not there.
        Ambiguous: there are several.
        Refused: it cannot be cited exactly, or the policy forbids it.
    """
    note = sections.find_note(store, reference, gate.admitted)
    found = sections.section(store, str(note.pid), path, max_bytes)
    record = gate.record(note, found.anchor, (found.line, found.last_line))
    why = gate.reason(record)
    if why:
        raise Refused(f"{why}: {_REMEDIES.get(why, 'this may not be cited')}")
    moment = moments.rfc3339(gate.retrieved_at)
    return Citation(breadcrumb(found.title, found.toc_path), record, moment), found.text


_REMEDIES = {
    admission.NO_CITATION: "a citation needs a section with a heading: see 'qmd toc'",
    admission.MISSING_REVISION: "the file changed since it was indexed: run 'qmd index'",
    admission.STALE: "the file changed since it was indexed: run 'qmd index'",
}


def row(
    citation: Citation,
    text: str,
    claim: str,
    quoted: str | None,
    limitation: str,
    analyzer: Analyzer,
) -> Claim:
    """The row of a claims table for a claim; the fragment is `quoted`, or what shares most words.

    Raises:
        UsageError: the section does not say what is quoted.
    """
    if not claim.strip():
        raise UsageError("the claim is empty: say what the section is to support")
    if quoted is not None and (not quoted.strip() or _plain(quoted) not in _plain(text)):
        raise UsageError("the section does not say what is quoted: copy its words as they stand")
    source = citation.record.source
    return Claim(
        claim=_plain(claim),
        place=citation.place,
        uri=source.uri,
        record_id=source.record_id,
        revision=source.revision or "",
        fragment=_plain(quoted) if quoted is not None else _fragment(text, claim, analyzer),
        limitation=_plain(limitation),
    )


def table(claims: Sequence[Claim]) -> str:
    """The claims as a Markdown table, which `read` reads."""
    rows = [[c.claim, _link(c), c.fragment, c.limitation, c.status] for c in claims]
    lines = [list(COLUMNS), ["---"] * len(COLUMNS), *rows]
    return "".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines
    )


def read(text: str) -> list[Claim]:
    """The rows of every claims table in a text: Markdown, or a JSON object a line.

    Raises:
        UsageError: a row cannot be read, or there is none.
    """
    found = [
        _row(line.strip(), number)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.lstrip().startswith(("|", "{")) and not _is_head(line)
    ]
    if not found:
        raise UsageError("no row of a claims table in it: 'qmd cite … --claim' prints some")
    return found


def check(
    store: Reader, gate: Gate, claims: Sequence[Claim], max_bytes: int
) -> Iterator[tuple[Claim, str | None]]:
    """Each row with the reason why it no longer holds; None where it does.

    Notes are found by the index alone, so that a row cannot name any other file.
    """
    for claim in claims:
        yield claim, _fault(store, gate, claim, max_bytes)


def _fault(store: Reader, gate: Gate, claim: Claim, max_bytes: int) -> str | None:
    note = _note(store, claim)
    if note is None:
        return NO_SOURCE
    live = gate.look(note)
    if not live.there:
        return NO_SOURCE
    fragment = unquote(urlsplit(claim.uri).fragment)
    lines = _LINES.fullmatch(fragment)
    span = (int(lines[1]), int(lines[2])) if lines else (0, 0)
    record = gate.record(note, "" if lines else fragment, span, claim.revision)
    why = None if _same_revision(live, claim.revision) else CHANGED
    why = why or gate.reason(record) or _missing(note, fragment, span, claim, max_bytes)
    return why and gate.told(record, why)


def _note(store: Reader, claim: Claim) -> StoredNote | None:
    """The note at the row's address; where none is, the one that has moved from there."""
    file = unquote(urlsplit(claim.uri).path)
    collection, _, pid = claim.record_id.rpartition("/")[0].rpartition("/")
    for note in store.notes_in(file):
        if note.collection == collection:
            return note
    moved = store.notes([int(pid)]).get(int(pid)) if re.fullmatch(r"\d{1,18}", pid) else None
    return moved if moved and moved.collection == collection else None


def _same_revision(live: Live, revision: str) -> bool:
    if revision.startswith("sha256:"):
        return revision == f"sha256:{live.digest}"
    if revision.startswith("git:"):
        return revision == live.revision
    return revision == live.stated.revision


def _missing(
    note: StoredNote, fragment: str, lines: tuple[int, int], claim: Claim, max_bytes: int
) -> str | None:
    """What a row points at and the note no longer has."""
    document = sections.live(note, max_bytes)
    spots = [spot for spot in document.spots if spot.section.anchor == fragment]
    if spots:
        text = document.text(spots[0])
    elif lines[0]:
        text = document.lines.text(lines[0] - 1, lines[1])
    else:
        return admission.NO_ANCHOR
    return None if _plain(claim.fragment) in _plain(text) else NO_FRAGMENT


def _row(line: str, number: int) -> Claim:
    try:
        return _from_json(line, number) if line.startswith("{") else _from_cells(line, number)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise UsageError(f"line {number} is no row of a claims table: make it anew") from error


def _from_json(line: str, number: int) -> Claim:
    told = json.loads(line)["claim"]
    values = {name: told[name] for name in Claim.__slots__ if name != "line"}
    if not all(isinstance(value, str) for value in values.values()):
        raise TypeError(line)
    return Claim(**values, line=number)


def _from_cells(line: str, number: int) -> Claim:
    claim, link, fragment, limitation, status = (
        cell.strip().replace("\\|", "|") for cell in _CELLS.split(line)[1:-1]
    )
    told = _LINK.fullmatch(link)
    if told is None:
        raise ValueError(link)
    named = (told["place"], told["uri"], unquote(told["id"]), unquote(told["revision"]))
    return Claim(claim, *named, fragment, limitation, status, number)


def _is_head(line: str) -> bool:
    if not line.lstrip().startswith("|"):
        return False
    cells = [cell.strip() for cell in _CELLS.split(line.strip())[1:-1]]
    return cells == list(COLUMNS) or all(re.fullmatch(r":?-+:?", cell) for cell in cells)


def _link(claim: Claim) -> str:
    revision = quote(claim.revision, safe=":/@")
    return f'[{claim.place}]({claim.uri} "{quote(claim.record_id)} @ {revision}")'


def _plain(text: str) -> str:
    return " ".join(text.split())


def _fragment(text: str, claim: str, analyzer: Analyzer) -> str:
    """The paragraph with most of the claim's words, or the beginning of it."""
    terms = frozenset(analyzer.words(claim))
    paragraphs = [_plain(part) for part in re.split(r"\n\s*\n", text) if part.strip()]
    told = [part for part in paragraphs if not part.startswith("#")] or paragraphs
    best = max(told, key=lambda part: len(terms.intersection(analyzer.words(part))), default="")
    return best if len(best) <= _QUOTED else best[:_QUOTED].rsplit(" ", 1)[0]
