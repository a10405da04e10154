"""A question → the notes and sections that answer it."""

import datetime
import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from qmd_py import fusion, retrieval, snippets
from qmd_py.errors import FileUnreadable
from qmd_py.query import Query, parse
from qmd_py.records import (
    Answer,
    Hit,
    Match,
    MetadataValue,
    Run,
    Scope,
    Section,
    Source,
    StoredChunk,
    StoredNote,
    breadcrumb,
)
from qmd_py.store.reader import Reader
from qmd_py.terms import Analyzer

MATCHES = 3
"""Places shown of one note; each in another section."""

_HALF_SCORE = 24.0
"""Sum of both BM25 at which a score is ½: about three rare words in one chunk."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What is asked for, besides the question."""

    limit: int = 10
    scope: Scope = field(default_factory=Scope)
    snippet: int = snippets.DEFAULT_LENGTH
    """Longest snippet in characters."""
    full: int = 0
    """Bytes of the largest note that a hit carries whole; 0 for none."""


def by_words(store: Reader, text: str, ask: Ask, now: datetime.datetime) -> Answer:
    """Search by words alone: the BM25 of a note's best chunk plus that of the whole note.

    A score is `sum / (sum + 24)`.

    Raises:
        UsageError: the question holds nothing to look for.
    """
    analyzer = Analyzer(store.languages)
    query = parse(text, analyzer)
    runs = retrieval.runs(store, query, ask.scope)
    summed = fusion.summed([retrieval.by_note(run) for run in runs.values()])
    scored = [(pid, score / (score + _HALF_SCORE)) for pid, score in summed.items()]
    cite = _Citer(store, analyzer, query, runs, ask)
    return Answer(text, "search", _rfc3339(now), (), cite.hits(scored[: ask.limit]), _terms(query))


def hybrid(store: Reader, text: str, ask: Ask, now: datetime.datetime) -> Answer:
    """The whole pipeline; stages that lack their model are named in `skipped`.

    A score is the fused one, from 0 to 1; 1 is rank 1 in every run.

    Raises:
        UsageError: the question holds nothing to look for.
    """
    analyzer = Analyzer(store.languages)
    query = parse(text, analyzer)
    runs = retrieval.runs(store, query, ask.scope)
    fused = fusion.rrf({name: list(retrieval.by_note(run)) for name, run in runs.items()}, {})
    cite = _Citer(store, analyzer, query, runs, ask)
    hits = cite.hits(list(fused.items())[: ask.limit])
    return Answer(text, "query", _rfc3339(now), _SKIPPED, hits, _terms(query))


_SKIPPED = (
    "expand: no expansion model in this version",
    "dense: no embedding model in this version",
    "rerank: no reranking model in this version",
)


def _terms(query: Query) -> frozenset[str]:
    groups = [word.terms for word in query.words] + [phrase.terms for phrase in query.phrases]
    return frozenset(itertools.chain.from_iterable(groups))


class _Citer:
    """Turns ranked notes into hits: toc, places, snippets, provenance."""

    def __init__(
        self, store: Reader, analyzer: Analyzer, query: Query, runs: Mapping[str, Run], ask: Ask
    ) -> None:
        self._store = store
        self._analyzer = analyzer
        self._runs = runs
        self._ask = ask
        self._terms = _terms(query)
        self._note_ranks = {
            name: {pid: rank for rank, pid in enumerate(retrieval.by_note(run), start=1)}
            for name, run in runs.items()
        }

    def hits(self, ranked: Sequence[tuple[int, float]]) -> tuple[Hit, ...]:
        """The notes with everything that is shown of them, in the same order."""
        pids = [pid for pid, _ in ranked]
        notes = self._store.notes(pids)
        places = self._places(pids)
        return tuple(
            self._hit(notes[pid], score, places[pid])
            for pid, score in ranked
            if pid in notes and pid in places
        )

    def _places(self, pids: Sequence[int]) -> dict[int, list[tuple[StoredChunk, int | None]]]:
        """The chunks to show of each note with their ranks; its first one when none was found."""
        ranked: dict[int, list[tuple[int, int]]] = {pid: [] for pid in pids}
        for rank, candidate in enumerate(self._runs["bm25"], start=1):
            if candidate.pid in ranked:
                ranked[candidate.pid].append((candidate.id, rank))
        stored = self._store.chunks(id_ for found in ranked.values() for id_, _ in found)
        places: dict[int, list[tuple[StoredChunk, int | None]]] = {}
        for pid, found in ranked.items():
            sections: set[int | None] = set()
            places[pid] = []
            for id_, rank in found:
                section = stored[id_].chunk.section
                if section not in sections and len(sections) < MATCHES:
                    sections.add(section)
                    places[pid].append((stored[id_], rank))
        bare = self._store.first_chunks(pid for pid, found in places.items() if not found)
        return places | {pid: [(chunk, None)] for pid, chunk in bare.items()}

    def _hit(
        self, note: StoredNote, score: float, places: Sequence[tuple[StoredChunk, int | None]]
    ) -> Hit:
        toc = self._store.toc(note.pid)
        best = places[0][1] or 1
        matches = tuple(
            self._match(note, toc, stored, rank, score * (best + 1) / ((rank or best) + 1))
            for stored, rank in places
        )
        file = Path(note.root, note.file)
        stale = _stale(file, note)
        source = _source(note, file, matches[0].anchor, current=stale is None)
        return Hit(
            note.pid, note.collection, note.path, str(file), note.title, score, toc, matches,
            source, stale, _body(file, self._ask.full),
        )  # fmt: skip

    def _match(
        self,
        note: StoredNote,
        toc: Sequence[Section],
        stored: StoredChunk,
        rank: int | None,
        score: float,
    ) -> Match:
        chunk = stored.chunk
        section = toc[chunk.section] if chunk.section is not None else None
        path = section.path if section else ()
        shown = snippets.snippet(chunk.text, self._terms, self._analyzer, self._ask.snippet)
        evidence: dict[str, float] = {"bm25": rank} if rank else {}
        for name, ranks in self._note_ranks.items():
            if name != "bm25" and note.pid in ranks:
                evidence[name] = ranks[note.pid]
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
            evidence=evidence,
        )


def _stale(file: Path, note: StoredNote) -> str | None:
    try:
        state = os.stat(file)  # noqa: PTH116 — half the time of Path.stat
    except OSError:
        return "the file is gone"
    if (state.st_mtime_ns, state.st_size) != (note.state.mtime_ns, note.state.size):
        return "the file has changed since it was indexed"
    return None


def _body(file: Path, max_bytes: int) -> str | None:
    """The whole note as it is on disk; None when it is not wanted or cannot be read any more."""
    from qmd_py import files

    try:
        return files.read(file, max_bytes).text if max_bytes else None
    except FileUnreadable:
        return None


def _source(note: StoredNote, file: Path, anchor: str, *, current: bool) -> Source:
    stated = _text(note.metadata.get("revision") or note.metadata.get("version"))
    access = note.metadata.get("access") or note.metadata.get("labels") or []
    fragment = f"#{quote(anchor)}" if anchor else ""
    return Source(
        record_id=f"{note.collection}/{note.pid}/{anchor}",
        revision=stated or (f"sha256:{note.state.digest}" if current else None),
        uri=f"file://{quote(str(file))}{fragment}",
        published_at=_text(note.metadata.get("published") or note.metadata.get("date")),
        indexed_at=note.indexed_at,
        expires_at=_text(note.metadata.get("expires") or note.metadata.get("review_by")),
        access=tuple(map(str, access)) if isinstance(access, list) else (str(access),),
    )


def _text(value: MetadataValue) -> str | None:
    return None if value is None or isinstance(value, list | dict) else str(value)


def _rfc3339(moment: datetime.datetime) -> str:
    return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
