"""Run + judgements → numbers. Pure.

A run is ids, best first; judgements map an id to its gain (0 or missing: not relevant). The binary
measures count an id as relevant when its gain is at least 1, so that a part of an answer (½) counts
in nDCG only.
"""

import math
from collections.abc import Mapping, Sequence

Gains = Mapping[str, float]

RESAMPLES = 10_000
"""Bootstrap resamples: enough for two stable digits of an interval's ends."""


def ndcg(run: Sequence[str], gains: Gains, k: int) -> float:
    """nDCG@k: gain over log2(rank + 1), divided by that of the ideal order.

    Järvelin & Kekäläinen (TOIS 2002), with gains as they are, as trec_eval has it.
    """
    ideal = sorted((gain for gain in gains.values() if gain > 0), reverse=True)
    best = _dcg(ideal[:k])
    # trec_eval takes grades below 0 for 0
    return _dcg([max(gains.get(id_, 0.0), 0.0) for id_ in run[:k]]) / best if best else 0.0


def reciprocal_rank(run: Sequence[str], gains: Gains) -> float:
    """1 / rank of the first relevant id; 0 when none was found."""
    return next((1 / rank for rank, id_ in enumerate(run, 1) if gains.get(id_, 0) >= 1), 0.0)


def success(run: Sequence[str], gains: Gains, k: int) -> float:
    """1 when a relevant id is among the first k, else 0."""
    return float(any(gains.get(id_, 0) >= 1 for id_ in run[:k]))


def recall(run: Sequence[str], gains: Gains, k: int) -> float:
    """Share of the relevant ids that are among the first k; 0 when there are none."""
    relevant = {id_ for id_, gain in gains.items() if gain >= 1}
    return len(relevant & set(run[:k])) / len(relevant) if relevant else 0.0


def interval(values: Sequence[float], seed: int = 0) -> tuple[float, float]:
    """95 % interval of the mean by the percentile bootstrap over questions (Efron 1979).

    Args:
        values: one a question; differences between two systems give a paired interval.
        seed: of the resampling, so that the same values give the same interval.
    """
    import numpy as np

    if not values:
        return 0.0, 0.0
    sample = np.asarray(values, dtype=np.float64)
    drawn = np.random.default_rng(seed).integers(0, len(sample), (RESAMPLES, len(sample)))
    low, high = np.percentile(sample[drawn].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def mean(values: Sequence[float]) -> float:
    """The mean; 0 of nothing."""
    return math.fsum(values) / len(values) if values else 0.0


def _dcg(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))
