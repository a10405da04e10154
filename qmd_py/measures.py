"""Run + judgements → numbers. Pure.

A run is ids, best first; judgements map an id to its gain (0 or missing: not relevant).
"""

import math
from collections.abc import Mapping, Sequence

Gains = Mapping[str, float]


def ndcg(run: Sequence[str], gains: Gains, k: int) -> float:
    """nDCG@k: gain over log2(rank + 1), divided by that of the ideal order (Järvelin & Kekäläinen)."""
    ideal = sorted((gain for gain in gains.values() if gain > 0), reverse=True)
    best = _dcg(ideal[:k])
    return _dcg([gains.get(id_, 0.0) for id_ in run[:k]]) / best if best else 0.0


def reciprocal_rank(run: Sequence[str], gains: Gains) -> float:
    """1 / rank of the first relevant id; 0 when none was found."""
    return next((1 / rank for rank, id_ in enumerate(run, 1) if gains.get(id_, 0) > 0), 0.0)


def success(run: Sequence[str], gains: Gains, k: int) -> float:
    """1 when a relevant id is among the first k, else 0."""
    return float(any(gains.get(id_, 0) > 0 for id_ in run[:k]))


def recall(run: Sequence[str], gains: Gains, k: int) -> float:
    """Share of the relevant ids that are among the first k."""
    relevant = {id_ for id_, gain in gains.items() if gain > 0}
    return len(relevant & set(run[:k])) / len(relevant) if relevant else 0.0


def _dcg(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))
