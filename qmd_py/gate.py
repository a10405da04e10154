"""What a search found → what a policy lets through; and what it decided, for the owner."""

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from qmd_py import admission, provenance
from qmd_py.admission import Policy
from qmd_py.errors import Refused
from qmd_py.provenance import Live, Proven, Reading
from qmd_py.records.answers import Hit, Match, Source
from qmd_py.records.evidence import Decision, Record
from qmd_py.records.stored import Section, StoredNote

if TYPE_CHECKING:
    from qmd_py.files import Text


class Gate:
    """Stands between what was found and what is shown; every file is read again, once.

    It decides for one reader at one moment.
    """

    def __init__(self, policy: Policy, retrieved_at: datetime.datetime, reading: Reading) -> None:
        self.policy = policy
        self.retrieved_at = retrieved_at
        self._reading = reading
        self._looked: dict[int, Live] = {}
        self._sources: dict[int, Source] = {}
        self._seen: dict[str, Record] = {}

    def anew(self) -> None:
        """Forget what was judged: another ranking is about to be."""
        self._seen.clear()

    @property
    def judged(self) -> list[tuple[Record, str | None]]:
        """Every place that was judged, as it came, with the reason it was refused for, if it was."""
        return [
            (record, admission.reason(record, self.policy, self.retrieved_at))
            for record in self._seen.values()
        ]

    def decision(self, released: Iterable[Hit]) -> Decision:
        """What is to be said of the hits that are shown, and of all that were refused."""
        decided = admission.decide(self._seen.values(), self.policy, self.retrieved_at)
        shown = {f"{hit.collection}/{hit.pid}/{m.anchor}" for hit in released for m in hit.matches}
        evidence = tuple(one for one in decided.evidence if one.source.record_id in shown)
        return replace(decided, evidence=evidence)

    def known(self, note: StoredNote) -> tuple[Source, str | None]:
        """The record of a note, and why its file is not what was indexed, in words."""
        live = self.look(note)
        stale = None if live.same else "the file has changed since it was indexed"
        return self._whole(note, live), stale

    def refuse(self, note: StoredNote, score: float) -> None:
        """Remember a note of which nothing is shown, as a whole: which place was found is not told."""
        record = self.record(note, score=score)
        self._seen[record.source.record_id] = record

    def released(self, note: StoredNote, hit: Hit) -> Hit | None:
        """The hit with those of its places that may be shown; None when there are none."""
        records = [self._matched(note, match, hit.toc) for match in hit.matches]
        self._seen |= {record.source.record_id: record for record in records}
        admitted = [
            (match, record.source)
            for match, record in zip(hit.matches, records, strict=True)
            if admission.reason(record, self.policy, self.retrieved_at) is None
        ]
        if not admitted:
            return None
        return replace(hit, matches=tuple(match for match, _ in admitted), source=admitted[0][1])

    def usable(self, note: StoredNote) -> bool:
        """Whether places of a note can be evidence at all, as far as the note decides that."""
        return self.refusal(note) is None and self.look(note).same

    def current(self, note: StoredNote) -> StoredNote:
        """The note with the title that its file has now."""
        live = self.look(note)
        return note if live.same else replace(note, title=live.document(note).title)

    def cited(self, note: StoredNote, toc: Sequence[Section], text: "Text") -> str | None:
        """What a text of the note may show: the sections that can be cited, mostly all of it.

        None when the file is not as it was when the note was looked at.
        """
        if text.digest != self.look(note).digest:
            return None
        kept = [one for one in toc if self._section(note, one) is None]
        if not toc or len(kept) == len(toc):
            return text.text
        from qmd_py.markdown import Lines

        shown = {number for one in kept for number in range(one.line, one.last_line + 1)}
        lines = Lines.of(text.text)
        numbered = zip(lines.numbers, lines.lines, strict=True)
        return "\n".join(line for number, line in numbered if number in shown)

    def refusal(self, note: StoredNote) -> str | None:
        """The reason why a note as a whole may not be used, as far as the reader may know it."""
        record = self.record(note)
        why = admission.reason(record, self.policy, self.retrieved_at, cited=False)
        if why is None and not self.look(note).there:
            why = admission.STALE
        return why and self.told(record, why)

    def reason(self, record: Record) -> str | None:
        """Why a record may not be cited, as far as the reader may know it; None if it may."""
        why = admission.reason(record, self.policy, self.retrieved_at)
        return why and self.told(record, why)

    def told(self, record: Record, why: str) -> str:
        """What the reader may know of a reason."""
        return admission.told(record, self.policy, why)

    def admitted(self, notes: Iterable[StoredNote]) -> list[StoredNote]:
        """Those of the notes that may be used.

        Raises:
            Refused: there are some, and none may be.
        """
        told = [(note, self.refusal(note)) for note in notes]
        passed = [note for note, why in told if why is None]
        if told and not passed:
            raise Refused(refused_line(why for _, why in told if why))
        return passed

    def look(self, note: StoredNote) -> Live:
        """The note's file, as it was when it was first looked at."""
        if note.pid not in self._looked:
            counts = provenance.GIT in self.policy.proofs
            self._looked[note.pid] = provenance.look(note, self._reading, git=counts)
        return self._looked[note.pid]

    def record(
        self,
        note: StoredNote,
        anchor: str = "",
        lines: tuple[int, int] = (0, 0),
        proven: Proven | None = None,
        score: float = 0.0,
        fault: str | None = None,
    ) -> Record:
        """The record of a place in the note's file as it is now.

        Args:
            note: its row.
            anchor: of the place; empty for the note as a whole, or for lines alone.
            lines: first and last, 1-based; zeros for none.
            proven: a revision that the note is known to have; the best that counts unless given.
            score: how it was ranked.
            fault: why it cannot be cited as it was indexed.
        """
        live = self.look(note)
        found = self._whole(note, live)
        if proven:
            found = replace(found, revision=proven.revision, proof=proven.proof)
        found = provenance.at(found, anchor)
        if not anchor and lines[0] and self.policy.line_ranges:
            found = replace(found, uri=f"{found.uri}#L{lines[0]}-L{lines[1]}")
        return Record(found, score, *lines, live.stated.access_known, fault)

    def _whole(self, note: StoredNote, live: Live) -> Source:
        if note.pid not in self._sources:
            proven = live.revision(self.policy.proofs)
            self._sources[note.pid] = provenance.whole(note, live.stated, proven)
        return self._sources[note.pid]

    def _section(self, note: StoredNote, section: Section) -> str | None:
        lines = (section.line, section.last_line)
        record = self.record(note, section.anchor, lines)
        return admission.reason(record, self.policy, self.retrieved_at)

    def _matched(self, note: StoredNote, match: Match, toc: Sequence[Section]) -> Record:
        fault = _fault(note, self.look(note), match.anchor, toc)
        lines = (match.line, match.last_line)
        return self.record(note, match.anchor, lines, score=match.score, fault=fault)


def refused_line(reasons: Iterable[str]) -> str:
    """The one line a reader is told, and no more."""
    return f"{', '.join(sorted(set(reasons)))}: this may not be used as evidence: ask its owner"


def _fault(note: StoredNote, live: Live, anchor: str, toc: Sequence[Section]) -> str | None:
    """Why a place cannot be cited as it was indexed; None when it is as it was."""
    if live.same:
        found = not anchor or any(section.anchor == anchor for section in toc)
        return None if found else admission.NO_ANCHOR
    if not live.there:
        return admission.STALE
    spots = live.document(note).spots
    found = not anchor or any(spot.section.anchor == anchor for spot in spots)
    return admission.STALE if found else admission.NO_ANCHOR
