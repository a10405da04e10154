"""Newer notes first, as far as that is wanted."""

import datetime
import math
from dataclasses import replace

from qmd_py.citing import Ranking
from qmd_py.errors import UsageError
from qmd_py.search.asking import Ask
from qmd_py.store.reader import Reader

LEAST = 0.5
"""What a note of any age keeps of its score, so that what answers well is found however old it is."""

_DAY = 86_400.0  # seconds


def boosted(store: Reader, ranking: Ranking, ask: Ask, now: datetime.datetime) -> Ranking:
    """The ranking with scores that fall with age: half of what age takes is gone after `recent` days.

    Raises:
        UsageError: that is no number of days.
    """
    if ask.recent is None:
        return ranking
    if not 0 < ask.recent < math.inf:
        raise UsageError(f"--recent {ask.recent:g}: it takes a number of days above 0")
    from qmd_py import filters

    notes = store.notes(ranking.scores)
    ages = {
        pid: max(now.timestamp() - filters.written(note), 0.0) / _DAY for pid, note in notes.items()
    }
    kept = {pid: LEAST + (1 - LEAST) * 2 ** (-age / ask.recent) for pid, age in ages.items()}
    scores = {pid: score * kept.get(pid, LEAST) for pid, score in ranking.scores.items()}
    ordered = dict(sorted(scores.items(), key=lambda item: -item[1]))
    newest = dict(sorted(kept.items(), key=lambda item: -item[1]))
    return replace(ranking, scores=ordered, recency=newest)
