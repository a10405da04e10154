"""How fast and how exact the nearest vectors are found: `python -m tests.bench.dense FILE ROWS`.

The vectors stand like those of a text embedder: in a narrow cone, in clusters of a few dozen.
"""

import json
import resource
import statistics
import sys
import time
from pathlib import Path

import numpy as np

from qmd_py import vectors
from qmd_py.vectors import VectorFile

DIMENSIONS = 384
DEPTH = 50
QUESTIONS = 21
_SPREAD = 0.55  # of a vector around its cluster, and of clusters around the axis of the cone
_CLUSTER = 40


def write(file: Path, rows: int, seed: int = 1) -> None:
    """Append so many vectors to a new file."""
    dice = np.random.default_rng(seed)
    axis = dice.standard_normal(DIMENSIONS, dtype=np.float32)
    made, step = VectorFile(file, DIMENSIONS), 50_000
    for at in range(0, rows, step):
        count = min(step, rows - at)
        centres = axis + dice.standard_normal((count // _CLUSTER + 1, DIMENSIONS), dtype=np.float32)
        near = centres[dice.integers(0, len(centres), count)]
        near += _SPREAD * dice.standard_normal((count, DIMENSIONS), dtype=np.float32)
        made.append(near / np.linalg.norm(near, axis=1, keepdims=True), at)


def measure(file: Path, rows: int) -> dict[str, float]:
    """Milliseconds of the median search, warm; its processor seconds; share of the exact best that are found; memory."""
    dice = np.random.default_rng(2)
    stored = VectorFile(file, DIMENSIONS)
    exact = stored.rows(rows)
    asked = exact[dice.integers(0, rows, QUESTIONS)]
    asked = asked + 0.03 * dice.standard_normal(asked.shape, dtype=np.float32)
    asked /= np.linalg.norm(asked, axis=1, keepdims=True)
    times, found = [], []
    busy = time.process_time()
    for one in asked:
        begin = time.perf_counter()
        scores = stored.cosines(rows, one[None])[0]
        found.append([row for row, _ in vectors.best(scores, DEPTH)])
        times.append(time.perf_counter() - begin)
    busy = time.process_time() - busy
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    shares = [len(set(best(exact, q)) & set(f)) / DEPTH for q, f in zip(asked, found, strict=True)]
    return {
        "milliseconds": 1000 * statistics.median(times[1:]),
        "processor": busy / len(asked),
        "recall": statistics.mean(shares),
        "megabytes": megabytes,
        "depth": DEPTH,
        "questions": QUESTIONS - 1,
    }


def best(exact: np.ndarray, question: np.ndarray) -> list[int]:
    """The nearest rows by the full scalar product."""
    scores = np.concatenate(
        [exact[at : at + 100_000] @ question for at in range(0, len(exact), 100_000)]
    )
    return [int(row) for row in np.argpartition(-scores, DEPTH)[:DEPTH]]


if __name__ == "__main__":
    place, size = Path(sys.argv[1]), int(sys.argv[2])
    if not place.exists():
        write(place, size)
    print(json.dumps(measure(place, size)))
