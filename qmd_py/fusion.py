"""Runs → one run. Pure: ids and numbers in, ids and numbers out."""

import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

Id = TypeVar("Id", bound=Hashable)

RRF_K = 10.0
"""Constant of reciprocal rank fusion.

Cormack et al. (SIGIR 2009) take 60, for dozens of runs; with few and good ones that drowns a clear
winner. Between 5 and 10 all is flat on our judged questions.
"""


def rrf(
    runs: Mapping[str, Sequence[Id]], weights: Mapping[str, float], rrf_k: float = RRF_K
) -> dict[Id, float]:
    """Reciprocal rank fusion: ids with scores from 0 to 1, best first.

    The score of an id is the sum of `weight / (rrf_k + rank)` over the runs that hold it, divided by
    the sum that rank 1 in every run would give, so that a run that is missing or found nothing does
    not lower the scale.
    Ids of equal score keep the order in which the runs bring them.

    Args:
        runs: name to ids, best first, each id at most once.
        weights: name to weight; 1 for a name that is missing.
        rrf_k: larger values flatten the difference between ranks.
    """
    scores: dict[Id, float] = {}
    for name, run in runs.items():
        weight = weights.get(name, 1.0)
        for rank, id_ in enumerate(run, start=1):
            scores[id_] = scores.get(id_, 0.0) + weight / (rrf_k + rank)
    best = _best(runs, weights, rrf_k)
    ordered = sorted(scores.items(), key=lambda item: -item[1])
    # rounding may lead a hair above 1
    return {id_: min(score / best, 1.0) for id_, score in ordered} if best else dict(ordered)


def contributions(
    runs: Mapping[str, Collection[Id]], weights: Mapping[str, float], id_: Id, rrf_k: float = RRF_K
) -> dict[str, float]:
    """What each run adds to an id's score in `rrf`; runs that do not hold it are left out."""
    best = _best(runs, weights, rrf_k)
    found = {}
    for name, run in runs.items():
        rank = next((rank for rank, other in enumerate(run, start=1) if other == id_), None)
        if rank and best:
            found[name] = weights.get(name, 1.0) / (rrf_k + rank) / best
    return found


def _best(runs: Mapping[str, Collection[Id]], weights: Mapping[str, float], rrf_k: float) -> float:
    """What rank 1 in every run that found anything adds up to."""
    return sum(weights.get(name, 1.0) for name, run in runs.items() if run) / (rrf_k + 1)


UNSURE = 1.1
"""Log-odds up to which a reranker has said nothing: P(yes) between a quarter and three quarters."""

_CERTAIN = 0.999
"""Probabilities are taken as no surer than this, so that no answer is beyond revision."""


def blend(prior: float, probability: float) -> float:
    """A score from 0 to 1 after a reranker has spoken.

    Bayes in log-odds: those of the prior plus those of the reranker, less what counts as unsure. A
    confident reranker moves any hit, rank 1 included; an unsure one leaves the order as it was. NaN
    says nothing.

    Args:
        prior: the fused score, 0 to 1.
        probability: the reranker's P(yes).
    """
    said = 0.0 if math.isnan(probability) else _log_odds(probability, 1 - _CERTAIN)
    evidence = math.copysign(max(abs(said) - UNSURE, 0.0), said)
    return 1 / (1 + math.exp(-_log_odds(prior, 0.02) - evidence))


def best_blend(prior: float) -> float:
    """The highest score that a hit with this prior can reach."""
    return blend(prior, 1.0)


def _log_odds(probability: float, least: float) -> float:
    """Log-odds of a probability kept away from 0 and 1 by `least`."""
    kept = min(max(probability, least), 1 - least)
    return math.log(kept / (1 - kept))


def summed(runs: Iterable[Mapping[Id, float]]) -> dict[Id, float]:
    """The sum of an id's scores over runs of one scale, best first; ties keep the runs' order."""
    scores: dict[Id, float] = {}
    for run in runs:
        for id_, score in run.items():
            scores[id_] = scores.get(id_, 0.0) + score
    return dict(sorted(scores.items(), key=lambda item: -item[1]))
