"""The first stage: a question → runs."""

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from qmd_py import fusion, passages
from qmd_py.errors import IndexUnusable, ModelMissing, UsageError
from qmd_py.models import Embedder
from qmd_py.query import Query, Word, parse
from qmd_py.records.answers import Candidate, Run, Scope
from qmd_py.records.values import Value
from qmd_py.store import matching
from qmd_py.store.reader import Reader, Weights
from qmd_py.terms import Analyzer

if TYPE_CHECKING:
    from qmd_py.models import Matrix
    from qmd_py.store.embeddings import Space

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

_RESPELLED = 20
"""Unknown words that may be slips of others; a question with more is a pasted text."""

_SECOND_BEST = 0.15
"""How much a note's second best chunk counts in its dense score, beside its best.

Two places that fit are better evidence than one; more chunks only favour long notes.
"""


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
    slips = [word for word in unknown if _may_be_a_slip(word, analyzer)][:_RESPELLED]
    terms_from = functools.cache(store.terms_from)  # for the words that begin alike
    near = [found for word in slips if (found := _respelled(terms_from, word, analyzer))]
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


def by_meaning(
    store: Reader, space: "Space", query: Query, scope: Scope, asked: "Matrix"
) -> list[Run]:
    """For each vector, the chunks by their cosine with it, best first.

    Args:
        store: the index.
        space: where its vectors are.
        query: phrases and exclusions that the notes have to meet.
        scope: what may be found.
        asked: unit vectors of a question and its variants, one a row.

    Raises:
        IndexUnusable: the vectors on disk are damaged.
        ModelFailed: those of the question are of another length.
    """
    try:
        runs = _by_meaning(store, space, query, scope, asked)
    except IndexUnusable:
        # a snapshot still names the file that is gone
        with Reader.open(store.file) as latest, latest.snapshot():
            if (now := _moved(latest, space)) is None:
                raise
            runs = _by_meaning(latest, now, query, scope, asked)
        return [_known(store, run) for run in runs]
    # rows got other numbers meanwhile, and may have been taken for each other's passages
    now = _moved(store, space)
    return _by_meaning(store, now, query, scope, asked) if now else runs


def _moved(store: Reader, space: "Space") -> "Space | None":
    """The space as it is now, when another process has put its vectors into another file."""
    from qmd_py.store import embeddings

    now = embeddings.space_of(store, space.fingerprint)
    return now if now and now.file != space.file else None


def _known(store: Reader, run: Run) -> Run:
    """What another reader found and this one has too."""
    chunks = store.chunks(candidate.id for candidate in run)
    return [one for one in run if one.id in chunks and chunks[one.id].pid == one.pid]


def _by_meaning(
    store: Reader, space: "Space", query: Query, scope: Scope, asked: "Matrix"
) -> list[Run]:
    from qmd_py import vectors
    from qmd_py.store import embeddings

    vectors.check_length(asked, space.dimensions)
    file = vectors.VectorFile(store.file.with_name(space.file), space.dimensions)
    if matching.is_everything(query, scope):
        scores = file.checked(file.cosines(space.rows, asked))
        return [_nearest_of_all(store, space, one) for one in scores]
    rows = embeddings.rows_in_scope(store, space, query, scope)
    chosen = vectors.cosines(file.rows(space.rows)[[row for row, _, _ in rows]], asked)
    return [_nearest_of(rows, one) for one in file.checked(chosen)]


def vectors_of(embedder: Embedder, question: str, variants: Sequence[str]) -> "Matrix":
    """The vectors of a question and its variants, in one call; unusable ones of variants are zeros.

    Raises:
        ModelMissing: the model has no usable vector for the question.
    """
    from qmd_py import vectors

    rows = embedder.queries([question, *variants])
    usable = vectors.usable(rows)
    if not usable[0]:
        raise ModelMissing("the model has no usable vector for this question: use other words")
    rows[~usable] = 0.0
    return rows


def space_for(store: Reader, embedder: Embedder) -> "tuple[Space | None, str | None]":
    """The vectors to search in, if any, and what the reader should know of them."""
    from qmd_py.store import embeddings

    space = embeddings.space_of(store, fingerprint(store, embedder))
    if space and space.rows:
        waiting = embeddings.count_waiting(store, space)
        count = "1 passage waits" if waiting == 1 else f"{waiting} passages wait"
        return space, f"dense: {count} for 'qmd embed'" if waiting else None
    if embeddings.spaces(store) and not space:
        return None, "dense: the vectors are of another model or setting: run 'qmd embed'"
    return None, "dense: nothing is embedded yet: run 'qmd embed'"


def fingerprint(store: Reader, embedder: Embedder) -> str:
    """What decides how a vector comes out: the model, and how notes become passages."""
    return f"{embedder.fingerprint} passages {passages.VERSION} chunks {store.chunk_chars}"


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


def united(runs: Sequence[Run]) -> Run:
    """Several dense runs as one: each chunk with its best cosine, best first."""
    best: dict[int, Candidate] = {}
    for candidate in (one for run in runs for one in run):
        held = best.get(candidate.id)
        if held is None or candidate.score > held.score:
            best[candidate.id] = candidate
    return sorted(best.values(), key=lambda candidate: -candidate.score)[:DEPTH]


def dense_notes(run: Run) -> dict[int, float]:
    """The pids of a dense run with their scores, best first."""
    return notes_of(run, _SECOND_BEST)


def _may_be_a_slip(word: Word, analyzer: Analyzer) -> bool:
    parts = analyzer.words(word.typed)
    return len(parts) == 1 and any(map(str.isalpha, parts[0]))


def _respelled(
    terms_from: Callable[[str], list[str]], word: Word, analyzer: Analyzer
) -> Word | None:
    from qmd_py import spelling

    typed = analyzer.opening(word.typed)[1]
    # a slip in the first letter is rare, and without it every term would have to be read
    near = spelling.nearest(typed, terms_from(typed[0]))
    if not near and (heard := spelling.other_alphabet(typed)):
        near = spelling.nearest(heard, terms_from(heard[0]), sounded=True)
    found = dict.fromkeys(term for one in near for term in (one, *analyzer.words(one)))
    return Word(word.typed, tuple(found)) if found else None


def _content(name: str, analyzer: Analyzer) -> frozenset[str]:
    """The terms of a name without its function words."""
    words = [word for word in name.split() if not analyzer.is_stop_word(word)]
    return frozenset(analyzer.words(" ".join(words)))


def _nearest_of_all(store: Reader, space: "Space", scores: "Matrix") -> Run:
    """The best chunks of all; rows that no note uses any more take no place from others."""
    from qmd_py import vectors
    from qmd_py.store import embeddings

    depth = DEPTH
    while True:
        best = vectors.best(scores, depth)
        found = embeddings.candidates(store, space, best)
        if len(found) >= DEPTH or depth >= len(scores):
            return found[:DEPTH]
        depth *= 2


def _nearest_of(rows: list[tuple[int, int, int]], scores: "Matrix") -> Run:
    """The best of the given (row, chunk id, pid), ties in their order."""
    found = [
        Candidate(id_, pid, float(score)) for (_, id_, pid), score in zip(rows, scores, strict=True)
    ]
    return sorted(found, key=lambda candidate: -candidate.score)[:DEPTH]
