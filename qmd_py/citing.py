"""Ranked notes → hits: toc, places, snippets, provenance."""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from qmd_py import fusion, provenance, snippets
from qmd_py.errors import FileUnreadable
from qmd_py.formats.suffixes import is_code
from qmd_py.provenance import Reading
from qmd_py.records.answers import Hit, Match, Run, Share, Source
from qmd_py.records.stored import FileState, Section, StoredChunk, StoredNote, breadcrumb
from qmd_py.records.values import Value
from qmd_py.store import beside
from qmd_py.store.reader import Reader
from qmd_py.terms import Analyzer

if TYPE_CHECKING:
    from qmd_py.gate import Gate

MATCHES = 3
"""Places shown of one note; each in another section."""

GONE = "the file is gone"
"""What a hit is marked with whose file is there no more."""

_CHUNK_RUNS = ("bm25", "near", "dense", "vec", "hyde", "phrasings")
_LOOKED_AT = 12
"""Chunks of a note that are looked at for its places."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ranking(Value):
    """The notes in their order, and what led to it."""

    scores: Mapping[int, float]
    """pid → final score, best first."""
    runs: Mapping[str, Run]
    """Every run, over chunks or notes."""
    fused: Mapping[str, Mapping[int, float]]
    """The lists over notes that were fused: name → pid → score, best first."""
    weights: Mapping[str, float]
    said: Mapping[int, float] = field(default_factory=dict)
    """pid → the reranker's P(yes), for the notes it has read."""
    places: Run = ()
    """The chunks of the notes to show, by what their own text says to the question."""
    recency: Mapping[int, float] = field(default_factory=dict)
    """pid → what its score was multiplied by for its age, newest first; empty if not wanted."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Style(Value):
    """How much of a hit is shown."""

    snippet: int
    """Longest snippet in characters."""
    full: int
    """Bytes of the largest note that is shown whole; 0 for none."""
    reading: Reading = field(default_factory=Reading)
    """How provenance is found out."""
    gate: "Gate | None" = None
    """What may be shown at all; None for everything."""


class Citer:
    """Turns ranked notes into hits."""

    def __init__(
        self,
        store: Reader,
        analyzer: Analyzer,
        terms: frozenset[str],
        ranking: Ranking,
        style: Style,
    ) -> None:
        self._store = store
        self._analyzer = analyzer
        self._terms = terms
        self._ranking = ranking
        self._style = style
        self._chunk_ranks = {
            name: {candidate.id: rank for rank, candidate in enumerate(run, start=1)}
            for name, run in ranking.runs.items()
            if name in _CHUNK_RUNS
        }
        self._note_scores = {name: _notes(run) for name, run in ranking.runs.items()}

    def best_places(self, pids: Sequence[int]) -> dict[int, StoredChunk]:
        """The chunk that speaks most for each note."""
        return {pid: found[0][0] for pid, found in self._places(pids).items() if found}

    def hits(self, shown: Sequence[tuple[int, float]]) -> tuple[Hit, ...]:
        """The hits for (pid, score) of the notes to show, in the same order, but what is refused."""
        pids = [pid for pid, _ in shown]
        notes = self._store.notes(pids)
        places = self._places(pids)
        found = (
            self._hit(notes[pid], score, places[pid])
            for pid, score in shown
            if pid in notes and pid in places
        )
        about = beside.contexts(self._store, notes.values())
        # they would count notes that this reader may not know of, unless each was read for it
        links = {} if self._style.gate else beside.link_counts(self._store, pids)
        return tuple(
            replace(
                hit,
                contexts=about[hit.pid],
                links=links.get(hit.pid),
            )
            for hit in found
            if hit
        )

    def _places(self, pids: Sequence[int]) -> dict[int, list[tuple[StoredChunk, float]]]:
        """The chunks to show of each note with their relative scores; its first if none was found."""
        best = self._best_chunks(pids)
        stored = self._store.chunks(id_ for ranked in best.values() for id_, _ in ranked)
        places: dict[int, list[tuple[StoredChunk, float]]] = {}
        for pid, ranked in best.items():
            by_section: dict[int | None, tuple[StoredChunk, float]] = {}
            for id_, score in ranked:
                # ids of chunks that are gone are given again, to other notes too
                if id_ in stored and stored[id_].pid == pid:
                    by_section.setdefault(stored[id_].chunk.section, (stored[id_], score))
            places[pid] = list(by_section.values())[:MATCHES]
        bare = self._store.first_chunks(pid for pid, found in places.items() if not found)
        return places | {pid: [(chunk, 1.0)] for pid, chunk in bare.items()}

    def _best_chunks(self, pids: Sequence[int]) -> dict[int, list[tuple[int, float]]]:
        """For each note, its chunks as the runs rank them together, the first one scoring 1.

        Ranks are taken inside the note, so that they do not depend on which notes are shown.
        """
        runs = {"words": self._ranking.places, "dense": self._ranking.runs.get("dense", ())}
        lists: dict[int, dict[str, list[int]]] = {pid: {name: [] for name in runs} for pid in pids}
        for name, run in runs.items():
            for candidate in run:
                if candidate.pid in lists:
                    lists[candidate.pid][name].append(candidate.id)
        weights = {name: self._ranking.weights.get(name, 1.0) for name in runs}
        return {pid: _relative(fusion.rrf(ranked, weights)) for pid, ranked in lists.items()}

    def _hit(
        self, note: StoredNote, score: float, places: Sequence[tuple[StoredChunk, float]]
    ) -> Hit | None:
        gate = self._style.gate
        if gate and gate.refusal(note):  # nothing is made of its text
            gate.refuse(note, score)
            return None
        toc = self._store.toc(note.pid)
        matches = tuple(self._match(note, toc, chunk, score * part) for chunk, part in places)
        file = Path(note.root, note.file)
        source, stale = gate.known(note) if gate else self._known(note)
        hit = Hit(
            pid=note.pid,
            collection=note.collection,
            path=note.path,
            file=str(file),
            title=note.title,
            score=score,
            toc=toc,
            matches=matches,
            source=provenance.at(source, matches[0].anchor),
            stale=stale,
            body=_body(note, toc, self._style),
            # ranks would tell how much stands above that may not be shown
            shares=() if gate else tuple(self._shares(note.pid)),
        )
        return gate.released(note, hit) if gate else hit

    def _known(self, note: StoredNote) -> tuple[Source, str | None]:
        """The record of a note as the index has it, and why it is not as it was indexed."""
        stale = _stale(note)
        known = provenance.indexed(note, self._style.reading, current=stale is None)
        return provenance.whole(note, *known), stale

    def _match(
        self, note: StoredNote, toc: Sequence[Section], stored: StoredChunk, score: float
    ) -> Match:
        chunk = stored.chunk
        section = toc[chunk.section] if chunk.section is not None else None
        path = section.path if section else ()
        shown = snippets.snippet(
            chunk.text,
            self._terms,
            self._analyzer,
            self._style.snippet,
            marked=not is_code(note.path),
        )
        return Match(
            toc_path=path,
            anchor=section.anchor if section else "",
            breadcrumb=breadcrumb(note.title, path),
            line=chunk.first_line,
            last_line=chunk.last_line,
            snippet_line=min(chunk.first_line + shown.offset, chunk.last_line),
            snippet=shown.text,
            text=chunk.text,
            score=score,
            evidence={} if self._style.gate else self._evidence(stored),
        )

    def _evidence(self, stored: StoredChunk) -> dict[str, float]:
        """The chunk's rank in each run over chunks, its note's in each run over notes."""
        found: dict[str, float] = {}
        for name, scores in self._note_scores.items():
            if name in self._chunk_ranks:
                rank = self._chunk_ranks[name].get(stored.id)
            else:
                rank = _rank(scores, stored.pid)
            if rank:
                found[name] = rank
        if stored.pid in self._ranking.said and not math.isnan(self._ranking.said[stored.pid]):
            found["rerank"] = self._ranking.said[stored.pid]
        return found

    def _shares(self, pid: int) -> Iterable[Share]:
        """What each run says of a note: first the fused lists, then the runs that went into one."""
        contributions = fusion.contributions(self._ranking.fused, self._ranking.weights, pid)
        fused = self._ranking.fused
        aged = {"recent": self._ranking.recency} if self._ranking.recency else {}
        for name, scores in {**fused, **self._note_scores, **aged}.items():
            rank = _rank(scores, pid)
            if rank:
                yield Share(name, rank, scores[pid], contributions.get(name))


def _relative(scores: Mapping[int, float]) -> list[tuple[int, float]]:
    """The first few ids with their scores as shares of the best."""
    best = max(scores.values(), default=0.0) or 1.0
    return [(id_, score / best) for id_, score in list(scores.items())[:_LOOKED_AT]]


def _notes(run: Run) -> dict[int, float]:
    scores: dict[int, float] = {}
    for candidate in run:
        scores.setdefault(candidate.pid, candidate.score)
    return scores


def _rank(scores: Mapping[int, float], pid: int) -> int | None:
    return next((at for at, found in enumerate(scores, start=1) if found == pid), None)


def is_there(note: StoredNote) -> bool:
    """Whether a note's file still exists."""
    return os.path.exists(os.path.join(note.root, note.file))  # noqa: PTH110, PTH118 — a third of the time


def _stale(note: StoredNote) -> str | None:
    file = os.path.join(note.root, note.file)  # noqa: PTH118 — half the time of Path
    try:
        state = os.stat(file, follow_symlinks=False)  # noqa: PTH116 — likewise
    except OSError:
        return GONE
    if (FileState.changed_ns(state), state.st_size) == (note.state.mtime_ns, note.state.size):
        return None
    same = state.st_size == note.state.size and _digest(note) == note.state.digest
    return None if same else "the file has changed since it was indexed"


def _digest(note: StoredNote) -> str | None:
    """SHA-256 of a file that was touched, to tell whether it was changed too."""
    import hashlib

    from qmd_py import contained

    try:
        found = contained.content(Path(note.root), note.file, note.state.size)
    except FileUnreadable:
        return None
    return hashlib.sha256(found).hexdigest()


def _body(note: StoredNote, toc: Sequence[Section], style: Style) -> str | None:
    """The whole note as it is on disk, as far as it may be shown.

    None when it is not wanted or cannot be read any more.
    """
    if not style.full:
        return None
    from qmd_py.formats import reading

    try:
        found = reading.read(Path(note.root), note.file, style.full)
    except FileUnreadable:
        return None
    return style.gate.cited(note, toc, found) if style.gate else found.text
