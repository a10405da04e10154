"""What was slow elsewhere by its kind: threads above the quota, filters after the search, loading."""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from qmd_py import processors, vectors
from qmd_py.models import Models
from qmd_py.records.answers import Scope
from qmd_py.search.asking import Ask
from qmd_py.search.simple import by_words
from qmd_py.store.reader import Reader
from tests.faults.shelf import Shelf
from tests.faults.test_expansion import NOW

QUOTAS = [
    pytest.param({"cpu.max": "200000 100000\n"}, 2, id="two processors"),
    pytest.param({"cpu.max": "250000 100000\n"}, 2, id="two and a half"),
    pytest.param({"cpu.max": "50000 100000\n"}, 1, id="half a one"),
    pytest.param({"cpu.max": "max 100000\n"}, 8, id="no limit"),
    pytest.param({"cpu.max": "nonsense\n"}, 8, id="nonsense"),
    pytest.param({"cpu.max": ""}, 8, id="nothing"),
    pytest.param(
        {"cpu/cpu.cfs_quota_us": "300000\n", "cpu/cpu.cfs_period_us": "100000\n"},
        3,
        id="the first kind of groups",
    ),
    pytest.param(
        {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"},
        8,
        id="no limit there",
    ),
    pytest.param({}, 8, id="no groups"),
]


@pytest.mark.parametrize(("files", "threads"), QUOTAS)
def test_no_more_threads_than_the_quota_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], threads: int
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(
        processors, "Path", lambda file: tmp_path / str(file).removeprefix("/sys/fs/cgroup/")
    )
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert processors.threads() == threads


def test_nor_than_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {3}, raising=False)
    assert processors.threads() == 1


def median(act: Callable[[], object]) -> float:
    """Seconds; the median of seven after a first one."""
    act()
    taken = []
    for _ in range(7):
        start = time.perf_counter()
        act()
        taken.append(time.perf_counter() - start)
    return sorted(taken)[3]


@pytest.mark.bench
def test_a_filter_makes_a_search_no_slower(tmp_path: Path) -> None:
    """Over 20,000 notes, of which the filter lets one in twenty pass."""
    names = {f"{'few' if at % 20 == 0 else 'many'}/{at}.md": at for at in range(20_000)}
    notes = {name: f"word{at % 50} apples {at} bread" for name, at in names.items()}
    shelf = Shelf.of(tmp_path, notes)
    with Reader.open(shelf.index) as store:

        def ask(scope: Scope) -> float:
            return median(lambda: by_words(store, "word7 bread", Ask(scope=scope), Models(), NOW))

        everywhere, within = ask(Scope()), ask(Scope(paths=("few/",)))
    assert within < max(2 * everywhere, 0.05)


@pytest.mark.bench
def test_the_nearest_of_fifty_thousand_vectors_take_milliseconds() -> None:
    draw = np.random.default_rng(0)
    matrix = draw.standard_normal((50_000, 384), dtype=np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    assert median(lambda: vectors.best(vectors.cosines(matrix, matrix[7:8])[0], 1000)) < 0.05
