"""The whole pipeline: probe, expand, retrieve, fuse, rerank, cite."""

import datetime
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from qmd_py import citing, fusion, meaning, retrieval, widening
from qmd_py.cache import AnswerCache, NoCache
from qmd_py.expansion.callers import Handed
from qmd_py.models import AskedOnce, Models, Reranker
from qmd_py.records.answers import Answer, Run
from qmd_py.retrieval import Asked
from qmd_py.search import recency
from qmd_py.search.answering import Answerer, between, certainty, dense, kept, summed, usable
from qmd_py.search.asking import Ask
from qmd_py.stages import Stages
from qmd_py.store.reader import Reader
from qmd_py.terms import Analyzer, analyzer_for
from qmd_py.widening import Widened

if TYPE_CHECKING:
    from qmd_py import reranking
    from qmd_py.reranking import Reranked

TITLE_WEIGHT = 0.25
"""Weight of the title run, beside 1 for words and 1 for meaning.

Most questions are not the title of what answers them, so it only breaks near ties.
"""

LEAD = 0.8
"""A note clearly leads when the next best has at most this share of its BM25 sum."""

LEADERS_TITLE = 0.2
"""... and its title or an alias has this much in common with the question (Dice).

With every word of the question in the index, and no other note ahead by meaning: on our 116 judged
questions this holds for 23, and the first hit is right on 22 of them; `qmd eval` prints both.
"""


def hybrid(store: Reader, text: str, ask: Ask, models: Models, now: datetime.datetime) -> Answer:
    """The whole pipeline; stages that lack their model are named in `skipped`.

    Words, meaning, titles and variants are fused by reciprocal rank. Words and titles weigh as much
    as the index knows of the question's words, so that a question in another language than the
    notes is left to meaning. The fused score, 1 for rank 1 everywhere, is multiplied by the
    certainty that there is an answer at all, taken from the best scores of words and meaning. A
    reranker that is sure moves a hit from there.

    Raises:
        UsageError: the question holds nothing to look for.
    """
    stages = Stages(models.missing)
    models = _asking_once(models)
    analyzer = analyzer_for(store.languages)
    with stages.of("probe"):
        asked = retrieval.understand(store, text, analyzer)
        worded = kept(retrieval.by_words(store, asked, ask.scope), ask)
        titled = kept({"title": retrieval.by_title(store, asked, ask.scope, analyzer)}, ask)
        own = dense(store, asked, ask, models, (), stages)
        leads = has_leader(asked, titled, *_best(store, ask, summed(worded), own))
    with stages.of("expand"):
        widened = _widened(asked, ask, models, analyzer, leads, stages)
    with stages.of("retrieve"):
        lexed = _lexed(store, asked, ask, widened, analyzer)
        others = _other_wordings(widened, ask)
        meant = (
            dense(store, asked, ask, models, others, stages, own["dense"])
            if others and own
            else own
        )
    with stages.of("fuse"):
        lists, weights = _lists(asked, worded, titled, lexed, meant, widened)
        sure = _sure(*_best(store, ask, lists["words"], meant), models)
        fused = fusion.rrf({name: list(run) for name, run in lists.items()}, weights)
        scores = {pid: sure * score for pid, score in fused.items()}
        ranking = citing.Ranking(scores, {**worded, **titled, **meant}, lists, weights)
        ranking = recency.boosted(store, ranking, ask, now)
        stages.note(_counted(lists, ask))
    answerer = Answerer(store, analyzer, asked, text, "query", ask, now, leads)
    if models.reranker and "rerank" not in ask.without and ranking.scores:
        if ask.early:
            ask.early(answerer.answer(ranking, Stages()))
        with stages.of("rerank"):
            ranking = _reranked(answerer, ranking, models.reranker, stages)
    return replace(
        answerer.answer(ranking, stages),
        variants=widened.variants,
        dropped=tuple((one.variant, one.reason) for one in widened.dropped),
        widened_by=widened.source,
    )


def has_leader(
    asked: Asked,
    titled: Mapping[str, Run],
    words: Mapping[int, float],
    meant: Mapping[int, float],
) -> bool:
    """Whether one note clearly leads, so that other wordings could only do harm.

    Args:
        asked: the question.
        titled: the title run, if any.
        words: pid → BM25 sum, best first.
        meant: pid → score of the dense run, best first; without one, words decide alone.
    """
    if asked.coverage < 1 or not words:
        return False
    (leader, best), *others = list(words.items())[:2]
    named = retrieval.notes_of(titled.get("title", ())).get(leader, 0.0)
    nearest = next(iter(meant), leader)
    ahead = not others or others[0][1] <= LEAD * best
    return ahead and named >= LEADERS_TITLE and nearest == leader


def _asking_once(models: Models) -> Models:
    """The same models, with an embedder that reads each wording of this question once."""
    if models.embedder is None:
        return models
    return replace(models, embedder=AskedOnce(models.embedder))


def _widened(
    asked: Asked,
    ask: Ask,
    models: Models,
    analyzer: Analyzer,
    leads: bool,
    stages: Stages,
) -> Widened:
    """The caller's variants if there are any, else the model's unless a note leads already."""
    if _handed(ask).variants or _handed(ask).queries:
        return widening.by_caller(_handed(ask))
    if models.expander is None:
        return Widened(source="no model")
    if leads and not _handed(ask).intent:
        return Widened(source="skipped: one note clearly leads")
    plain = asked.query.plain
    found = widening.by_model(plain, models.expander, _cache(ask), analyzer, models.embedder)
    stages.failure(found.remark)
    return found


def _lexed(
    store: Reader, asked: Asked, ask: Ask, widened: Widened, analyzer: Analyzer
) -> dict[str, dict[int, float]]:
    """BM25 sums for the lex variants together, and for the caller's further phrasings."""
    texts = {
        "lex": [variant.text for variant in widened.variants if variant.kind == "lex"],
        "phrasings": list(_handed(ask).queries),
    }
    return {
        name: summed(runs)
        for name, wanted in texts.items()
        if wanted
        and name not in ask.without
        and (runs := retrieval.by_other_words(store, asked, wanted, ask.scope, analyzer))
    }


def _lists(
    asked: Asked,
    worded: Mapping[str, Run],
    titled: Mapping[str, Run],
    lexed: Mapping[str, Mapping[int, float]],
    meant: Mapping[str, Run],
    widened: Widened,
) -> tuple[dict[str, Mapping[int, float]], dict[str, float]]:
    """The lists over notes that are fused, each with its weight."""
    known = asked.coverage if meant else 1.0
    lists: dict[str, Mapping[int, float]] = {"words": summed(worded)}
    weights = {"words": known, "title": TITLE_WEIGHT * known, "dense": 1.0}
    lists |= {name: retrieval.notes_of(run) for name, run in titled.items()}
    for name, scores in lexed.items():
        lists[f"{name} (words)" if name == "phrasings" else name] = scores
    for name, run in meant.items():
        lists[f"{name} (meaning)" if name == "phrasings" else name] = meaning.dense_notes(run)
    for name in lists:
        # a further phrasing is the caller's own question once more
        weights.setdefault(name, 1.0 if name.startswith("phrasings") else widened.weight)
    return lists, weights


def _counted(lists: Mapping[str, Mapping[int, float]], ask: Ask) -> str:
    """How many notes each list holds; under a policy that would tell how many there are."""
    if ask.gate:
        return ""
    return ", ".join(f"{name} {len(found)}" for name, found in lists.items())


def _reranked(
    answerer: Answerer, ranking: citing.Ranking, reranker: Reranker, stages: Stages
) -> citing.Ranking:
    """The ranking after the reranker has read its best."""
    from qmd_py import reranking

    ask = answerer.ask
    intent = f" ({_handed(ask).intent})" if _handed(ask).intent else ""
    question = answerer.asked.query.plain + intent
    done = reranking.rerank(
        reranker,
        _cache(ask),
        question,
        _candidates(answerer, ranking),
        reranking.Limits(ask.limit, ask.budget),
    )
    (stages.failure if done.broke_down else stages.remark)(done.remark)
    stages.note(f"{done.read} read now, {len(done.said) - done.read} known")
    return replace(ranking, scores=_after(ranking.scores, done), said=done.said)


def _candidates(answerer: Answerer, ranking: citing.Ranking) -> "list[reranking.Candidate]":
    """The best notes that may be shown, each with the passage of its best place."""
    from qmd_py import reranking

    best = answerer.best(ranking, reranking.DEPTH)
    pids = [pid for pid, _ in best]
    notes = answerer.store.notes(pids)
    chosen = answerer.citer(ranking, pids).best_places(pids)
    terms, analyzer, most = answerer.asked.terms, answerer.analyzer, answerer.ask.passage_tokens
    return [
        reranking.Candidate(
            pid,
            score,
            reranking.passage_of(
                notes[pid], answerer.store.toc(pid), chosen[pid], terms, analyzer, most
            ),
        )
        for pid, score in best
        if pid in notes and pid in chosen
    ]


def _other_wordings(widened: Widened, ask: Ask) -> list[tuple[str, str]]:
    """(kind, text) of what is searched by meaning beside the question."""
    variants = [(v.kind, v.text) for v in widened.variants if v.kind != "lex"]
    return variants + [("phrasings", text) for text in _handed(ask).queries]


def _handed(ask: Ask) -> Handed:
    return ask.handed or Handed()


def _cache(ask: Ask) -> AnswerCache:
    return ask.cache or NoCache()


def _after(before: Mapping[int, float], done: "Reranked") -> dict[int, float]:
    """Scores after reading, best first; what was not read keeps what it had, on the same scale."""
    unread = float("nan")
    scores = {
        pid: done.scores.get(pid, fusion.blend(score, unread)) for pid, score in before.items()
    }
    return dict(sorted(scores.items(), key=lambda item: -item[1]))


def _best(
    store: Reader, ask: Ask, words: Mapping[int, float], meant: Mapping[str, Run]
) -> tuple[dict[int, float], dict[int, float]]:
    """The best two by words and the best by meaning: pid → score.

    Of notes that may not be used nothing is taken, not even how well they fit.
    """
    nearest = meaning.dense_notes(meant.get("dense", ()))
    return usable(store, ask, words, 2), usable(store, ask, nearest, 1)


def _sure(words: Mapping[int, float], meant: Mapping[int, float], models: Models) -> float:
    """How certain it is that there is an answer: words or meaning may say so, or both a little."""
    worded = certainty(max(words.values(), default=0.0))
    meaning = 0.0
    if models.embedder and meant:
        meaning = between(max(meant.values()), *models.embedder.scale)
    return 1 - (1 - worded) * (1 - meaning)
