"""What all pipelines share: runs kept, scores, the cut, the answer."""

import datetime
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from qmd_py import citing, fusion, moments, retrieval
from qmd_py.errors import IndexUnusable, ModelFailed, ModelMissing
from qmd_py.models import Models
from qmd_py.records.answers import Answer, Hit, Run
from qmd_py.records.values import Value
from qmd_py.retrieval import Asked
from qmd_py.search.asking import Ask
from qmd_py.stages import Stages
from qmd_py.store.reader import Reader
from qmd_py.terms import Analyzer

_HALF_SCORE = 24.0
"""Sum of the BM25 of chunk and note at which words score ½.

About two rare words, found in both; judged questions reach 18 to 60 with their best note, off-topic
ones 0 to 20.
"""

_BATCH = 20  # notes cited at a time where some may be refused


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Answerer(Value):
    """Cuts and cites for one question."""

    store: Reader
    analyzer: Analyzer
    asked: Asked
    text: str
    """The question as typed."""
    mode: str
    ask: Ask
    now: datetime.datetime
    leads: bool = False
    """Whether one note clearly led before anything but words was asked."""

    def answer(self, ranking: citing.Ranking, stages: Stages) -> Answer:
        """The notes to show with everything that is shown of them."""
        ask = self.ask
        if ask.gate:
            ask.gate.anew()
        enough = [(pid, s) for pid, s in ranking.scores.items() if s >= ask.min_score]
        with stages.of("cite"):
            cited = self._released if ask.gate else self._cited
            hits, gone = cited(ranking, enough)
            stages.note(f"{len(hits)} shown" + ("" if ask.gate else f" of {len(enough)}"))
        return Answer(
            query=self.text,
            mode=self.mode,
            retrieved_at=moments.rfc3339(self.now),
            skipped=stages.remarks,
            hits=hits,
            terms=self.asked.terms,
            # index terms near a question's words can come from notes that may not be shown
            respelled={} if ask.gate else self.asked.respelled,
            # nor does anything tell how many such notes there are
            cut=0 if ask.gate else len(ranking.scores) - len(enough),
            gone=gone,
            stages=stages.done,
            leads=self.leads,
            decision=ask.gate.decision(hits) if ask.gate else None,
            broken=stages.broken,
        )

    def _cited(
        self, ranking: citing.Ranking, enough: Sequence[tuple[int, float]]
    ) -> tuple[tuple[Hit, ...], tuple[str, ...]]:
        """The hits to show, and the notes in their place whose files are gone.

        Others come up for those, so that their number does not depend on what was deleted.
        """
        shown, rest = enough[: self.ask.limit], enough[self.ask.limit :]
        hits = self.citer(ranking, [pid for pid, _ in shown]).hits(shown)
        gone = [f"{hit.collection}/{hit.path}" for hit in hits if hit.stale == citing.GONE]
        if gone:
            hits = tuple(hit for hit in hits if hit.stale != citing.GONE)
            more = self._present(rest, self.ask.limit - len(hits))
            hits += self.citer(ranking, [pid for pid, _ in more]).hits(more)
        return hits, tuple(gone)

    def _present(
        self, ranked: Sequence[tuple[int, float]], most: int
    ) -> Sequence[tuple[int, float]]:
        """The first few of ranked notes whose files are there."""
        notes = self.store.notes(pid for pid, _ in ranked)
        there = (one for one in ranked if one[0] in notes and citing.is_there(notes[one[0]]))
        return list(itertools.islice(there, most))

    def _released(
        self, ranking: citing.Ranking, ranked: Sequence[tuple[int, float]]
    ) -> tuple[tuple[Hit, ...], tuple[str, ...]]:
        """The best hits among those that may be shown; what was refused takes nobody's place.

        Files that are gone are among those refused, and are not named.
        """
        limit, size = self.ask.limit, max(self.ask.limit, _BATCH)
        released: list[Hit] = []
        for at in range(0, len(ranked), size):
            batch = ranked[at : at + size]
            released += self.citer(ranking, [pid for pid, _ in batch]).hits(batch)
            if len(released) >= limit:
                break
        return tuple(released[:limit]), ()

    def best(self, ranking: citing.Ranking, depth: int) -> list[tuple[int, float]]:
        """(pid, score) of the best notes that a model may read."""
        return list(usable(self.store, self.ask, ranking.scores, depth).items())

    def citer(self, ranking: citing.Ranking, pids: Sequence[int]) -> citing.Citer:
        """What makes hits of some notes."""
        places = retrieval.places(self.store, self.asked, pids)
        style = citing.Style(self.ask.snippet, self.ask.full, self.ask.reading, self.ask.gate)
        whole = replace(ranking, places=places)
        return citing.Citer(self.store, self.analyzer, self.asked.terms, whole, style)


def dense(
    store: Reader,
    asked: Asked,
    ask: Ask,
    models: Models,
    others: Sequence[tuple[str, str]],
    stages: Stages,
    own: Run | None = None,
) -> dict[str, Run]:
    """The dense runs of a question, as `dense`, and of its other wordings, united by their kinds.

    Nothing where there is no embedder or no vectors; then the reason is among the remarks.

    Args:
        store: the index.
        asked: the question.
        ask: what is left out, and where to look.
        models: with an embedder or not.
        others: (kind, text) of other wordings.
        stages: takes remarks.
        own: the run of the question itself where it is known; then it is not searched again.
    """
    if models.embedder is None or "dense" in ask.without:
        return {}
    from qmd_py import meaning

    space, remark = meaning.space_for(store, models.embedder)
    stages.remark(remark)
    if space is None:
        return {}
    wanted = [(kind, text) for kind, text in others if kind not in ask.without]
    texts = [text for _, text in wanted]
    try:
        rows = meaning.vectors_of(models.embedder, asked.query.plain, texts)
        first = 0 if own is None else 1
        found = meaning.by_meaning(store, space, asked.query, ask.scope, rows[first:])
    except (IndexUnusable, ModelFailed, ModelMissing) as error:  # words answer all the same
        stages.failure(f"dense: {error}")
        return {}
    if own is None:
        own, *found = found
    runs: dict[str, list[Run]] = {}
    for (kind, _), run in zip(wanted, found, strict=True):
        runs.setdefault(kind, []).append(run)
    return {"dense": own, **{kind: meaning.united(several) for kind, several in runs.items()}}


def usable(store: Reader, ask: Ask, scores: Mapping[int, float], most: int) -> dict[int, float]:
    """The first notes of a list that may be used: pid → score, in its order.

    Args:
        store: the index.
        ask: with a gate or without.
        scores: pid → score, best first.
        most: how many are wanted; files are read until there are so many.
    """
    if ask.gate is None:
        return dict(itertools.islice(scores.items(), most))
    found: dict[int, float] = {}
    for pid, score in scores.items():
        if len(found) == most:
            break
        note = store.notes([pid]).get(pid)
        if note and ask.gate.usable(note):
            found[pid] = score
    return found


def kept(runs: Mapping[str, Run], ask: Ask) -> dict[str, Run]:
    """The runs that were not left out."""
    return {name: run for name, run in runs.items() if name not in ask.without}


def summed(runs: Mapping[str, Run]) -> dict[int, float]:
    """BM25 scores are of one scale, so those of a note's best chunk and of the note add up."""
    return fusion.summed([retrieval.notes_of(run) for run in runs.values()])


def certainty(score: float) -> float:
    """A BM25 sum on the scale from 0 to 1."""
    return score / (score + _HALF_SCORE)


def between(score: float, low: float, high: float) -> float:
    """A cosine on the scale from 0 (unrelated) to 1 (surely related)."""
    return min(max((score - low) / (high - low), 0.0), 1.0)
