"""The first stage: a question → runs by its words."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from qmd_py import fusion
from qmd_py.errors import UsageError
from qmd_py.query import Query, Word, parse
from qmd_py.records.answers import Candidate, Run, Scope
from qmd_py.records.values import Value
from qmd_py.store.reader import Reader, Weights
from qmd_py.terms import Analyzer

DEPTH = 1000
"""Candidates a run hands on. Fixed, so that `-n 5` is the beginning of `-n 50`."""

_TITLES = 200
"""Notes whose titles are compared with the question; only the first few count in fusion."""

WEIGHTS: Weights = (10.0, 8.0, 2.0, 1.0, 0.5)
"""BM25 weights of title, aliases and tags, headings, body, side column.

A word in the title says what the whole note is about. Round values: halving or doubling any of
them moves nDCG@5 by less than its standard error on our judged questions.
"""

_PLACE_WEIGHTS: Weights = (0.0, 0.0, 2.0, 1.0, 0.5)
"""The same for choosing a place inside a note, where all chunks have its title in common."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Asked(Value):
    """A question understood against an index."""

    query: Query
    near: Query | None
    """The words the index does not contain, as the index terms nearest to them."""
    coverage: float
    """Share of the question's words that the index contains; a respelled word counts half."""

    @property
    def respelled(self) -> Mapping[str, tuple[str, ...]]:
        """Unknown words and what was looked for in their place."""
        return {word.typed: word.terms for word in self.near.words} if self.near else {}

    @property
    def terms(self) -> frozenset[str]:
        """All index terms that were looked for."""
        words = [*self.query.words, *(self.near.words if self.near else ())]
        groups = [word.terms for word in words] + [p.terms for p in self.query.phrases]
        return frozenset(term for group in groups for term in group)


def understand(store: Reader, text: str, analyzer: Analyzer) -> Asked:
    """Parse a question, and find what its unknown words may stand for.

    Raises:
        UsageError: it holds nothing to look for.
    """
    query = parse(text, analyzer)
    unknown = [word for word in query.words if not word.prefix and not store.knows(word.terms)]
    near: list[Word] = []
    if unknown:
        from qmd_py import respelling

        near = respelling.respelled(unknown, store.terms_from, analyzer)
    asked = len(query.words) + len(query.phrases)
    known = asked - len(unknown) + len(near) / 2
    respelled = replace(query, words=tuple(near), phrases=(), required=query.phrases)
    return Asked(query, respelled if near else None, known / asked)


def by_words(store: Reader, asked: Asked, scope: Scope) -> dict[str, Run]:
    """BM25 over chunks and over whole notes, and over chunks for respelled words."""
    runs: dict[str, Run] = {
        "bm25": store.chunk_run(asked.query, scope, DEPTH, WEIGHTS),
        "note": store.note_run(asked.query, scope, DEPTH, WEIGHTS),
    }
    if asked.near:
        runs["near"] = store.chunk_run(asked.near, scope, DEPTH, WEIGHTS)
    return runs


def places(store: Reader, asked: Asked, pids: Sequence[int]) -> Run:
    """The chunks of some notes by what their own headings and text say to the question."""
    queries = [query for query in (asked.query, asked.near) if query and query.looks]
    runs = [store.places(query, pids, _PLACE_WEIGHTS) for query in queries]
    found = {candidate.id: candidate for run in runs for candidate in run}
    scores = fusion.summed([{c.id: c.score for c in run} for run in runs])
    return [replace(found[id_], score=score) for id_, score in scores.items()]


def by_other_words(
    store: Reader, asked: Asked, texts: Sequence[str], scope: Scope, analyzer: Analyzer
) -> dict[str, Run]:
    """BM25 over chunks and notes for the words of some lex variants, taken together.

    As one bag of words they weigh as one, however many there are.
    """
    words: dict[tuple[str, ...], Word] = {}
    for text in texts:
        with contextlib.suppress(UsageError):  # a variant without words finds nothing
            words |= {word.terms: word for word in parse(text, analyzer).words}
    if not words:
        return {}
    own = asked.query
    required = (*own.phrases, *own.required)
    query = replace(own, words=tuple(words.values()), phrases=(), required=required)
    return {
        "bm25": store.chunk_run(query, scope, DEPTH, WEIGHTS),
        "note": store.note_run(query, scope, DEPTH, WEIGHTS),
    }


def by_title(store: Reader, asked: Asked, scope: Scope, analyzer: Analyzer) -> Run:
    """Notes by how far their title, or one of their aliases, is the question.

    The score is Dice's: twice the shared words over the words of both.
    """
    terms = frozenset(term for word in asked.query.words for term in word.terms)
    size = len(asked.query.words)
    if not size:
        return []
    found = []
    for note in store.named_like(asked.query, scope, _TITLES):
        names = [_content(name, analyzer) for name in (note.title, *note.aliases)]
        score = max(2 * len(name & terms) / (len(name) + size) for name in names)
        found.append(Candidate(note.pid, note.pid, score))
    return sorted(found, key=lambda candidate: -candidate.score)


def notes_of(run: Run, second: float = 0.0) -> dict[int, float]:
    """The pids of a run, best first, with the score of their best candidate.

    Args:
        run: candidates, best first.
        second: share that a note's second best candidate has in its score.
    """
    best: dict[int, float] = {}
    runner_up: dict[int, float] = {}
    for candidate in run:
        held = runner_up if candidate.pid in best else best
        held.setdefault(candidate.pid, candidate.score)
    if not second:
        return best
    scores = {
        pid: (1 - second) * score + second * runner_up.get(pid, score)
        for pid, score in best.items()
    }
    return dict(sorted(scores.items(), key=lambda item: -item[1]))


def _content(name: str, analyzer: Analyzer) -> frozenset[str]:
    """The terms of a name without its function words."""
    words = [word for word in name.split() if not analyzer.is_stop_word(word)]
    return frozenset(analyzer.words(" ".join(words)))
