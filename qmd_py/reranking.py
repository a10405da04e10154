"""The best candidates read by a cross-encoder, and the order that follows."""

import heapq
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from qmd_py import fusion, passages, snippets
from qmd_py.cache import AnswerCache
from qmd_py.errors import ModelFailed
from qmd_py.models import Reranker
from qmd_py.records.stored import Section, StoredChunk, StoredNote, breadcrumb
from qmd_py.records.values import Value
from qmd_py.terms import Analyzer

DEPTH = 40
"""Candidates that are read: the best notes, each by its best place."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Candidate(Value):
    """A note in the fused order, with the passage that speaks for it."""

    pid: int
    prior: float
    """Its fused score, 0 to 1."""
    passage: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reranked(Value):
    """What came of reading."""

    scores: Mapping[int, float]
    """pid → blended score, for the candidates that were read."""
    said: Mapping[int, float]
    """pid → the reranker's own P(yes)."""
    read: int
    """How many passages the model read now; the others were in the cache or left out."""
    remark: str | None = None
    """What the reader should know, beginning with `rerank: `."""
    broke_down: bool = False
    """Whether the remark is of a model that broke down."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Limits(Value):
    """When to stop reading."""

    shown: int
    """Notes that will be shown; reading stops when no other can come among them."""
    seconds: float | None = None
    """Time to spend, or no bound."""


def passage_of(
    note: StoredNote,
    toc: Sequence[Section],
    stored: StoredChunk,
    terms: frozenset[str],
    analyzer: Analyzer,
    most: int,
) -> str:
    """What a reranker reads of a place: its breadcrumb, and the part of the chunk that answers.

    Args:
        note: the note.
        toc: its toc.
        stored: the chunk that the evidence points to.
        terms: index terms of the question.
        analyzer: of the index's languages.
        most: about how many tokens; the model's own count cuts the end if need be.
    """
    chunk = stored.chunk
    path = toc[chunk.section].path if chunk.section is not None else ()
    crumb = breadcrumb(note.title, path)
    room = max(most - passages.tokens(crumb) - 2, most // 2)
    text = snippets.window(chunk.text, terms, analyzer, passages.tokens, room)
    return f"{crumb}\n\n{text}" if text else crumb


def rerank(
    reranker: Reranker,
    cache: AnswerCache,
    question: str,
    candidates: Sequence[Candidate],
    limits: Limits,
) -> Reranked:
    """Read the candidates, best first, and blend what the model says with where they stood.

    Equal passages are read once, and passages read before are taken from the cache. Reading stops
    early when no candidate left can come among those shown, whatever the model would say of it, so
    that the answer is the same; or when the time is spent, which is said. A model that breaks down
    costs what it has not said yet.
    """
    keys = {c.pid: passages.key(c.passage) for c in candidates}
    known = cache.scores(reranker.fingerprint, question, list(keys.values()))
    unread = {keys[c.pid]: c.passage for c in candidates if keys[c.pid] not in known}
    reading = _Reading(candidates, keys, known, limits)
    remark, broke_down = None, False
    fresh: dict[bytes, float] = {}
    if unread and not reading.is_settled():
        stop = math.inf if limits.seconds is None else time.monotonic() + limits.seconds
        try:
            scores = reranker.scores(question, list(unread.values()))
            for key, score in zip(unread, scores, strict=True):
                fresh[key] = score
                if reading.take(key, score):
                    break
                if time.monotonic() > stop:
                    remark = _spent(limits, len(unread) - len(fresh))
                    break
        except ModelFailed as error:
            remark, broke_down = f"rerank: {error}", True
        finally:  # by Ctrl-C too: asked again, it reads on from there
            cache.put_scores(reranker.fingerprint, question, fresh)
    return Reranked(reading.scores(), reading.said(), len(fresh), remark, broke_down)


class _Reading:
    """What has been said of the candidates so far, and whether more could change what is shown."""

    def __init__(
        self,
        candidates: Sequence[Candidate],
        keys: Mapping[int, bytes],
        known: Mapping[bytes, float],
        limits: Limits,
    ) -> None:
        self._candidates = candidates
        self._keys = keys
        self._said = dict(known)
        self._shown = limits.shown

    def take(self, key: bytes, score: float) -> bool:
        """Note a score; True when reading may stop."""
        self._said[key] = score
        return self.is_settled()

    def is_settled(self) -> bool:
        """Whether no unread candidate can come among those shown."""
        unread = [c.prior for c in self._candidates if self._keys[c.pid] not in self._said]
        if not unread:
            return True
        best = heapq.nlargest(self._shown, self.scores().values())
        return len(best) == self._shown and best[-1] > fusion.best_blend(max(unread))

    def scores(self) -> dict[int, float]:
        """Blended scores of the candidates that were read."""
        said = self.said()
        return {
            c.pid: fusion.blend(c.prior, said[c.pid]) for c in self._candidates if c.pid in said
        }

    def said(self) -> dict[int, float]:
        """What the model said of each candidate that was read."""
        return {pid: self._said[key] for pid, key in self._keys.items() if key in self._said}


def _spent(limits: Limits, left: int) -> str | None:
    if not left:
        return None
    return f"rerank: {left} candidates were not read within --budget {limits.seconds:g}"
