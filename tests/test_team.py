"""Work shared among members: in order, not far ahead, never two pieces at once for one of them."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from qmd_py.errors import ModelFailed
from qmd_py.llama.team import Team


class Worker:
    """Notes what it is asked for, and works until it is done or given up."""

    def __init__(self, log: list[str], name: str) -> None:
        self.log, self.name = log, name
        self.busy = threading.Lock()
        self.given_up: Callable[[], bool] = bool
        log.append(f"made {name}")

    def give_up_when(self, given_up: Callable[[], bool]) -> None:
        self.given_up = given_up

    def close(self) -> None:
        self.log.append(f"closed {self.name}")

    def work(self, piece: float) -> float:
        """Take so many hundredths of a second; ends at once when given up."""
        assert self.busy.acquire(blocking=False), "two pieces at once"
        try:
            self.log.append(f"begun {piece}")
            end = time.monotonic() + piece / 100
            while time.monotonic() < end:
                if self.given_up():
                    self.log.append(f"gave up {piece}")
                    raise TimeoutError
                time.sleep(0.001)
        finally:
            self.busy.release()
        return piece


@pytest.fixture
def log() -> list[str]:
    return []


@pytest.fixture
def team(log: list[str]) -> Iterator[Team[Worker]]:
    made = Team(3, lambda: Worker(log, str(sum(line.startswith("made") for line in log))))
    yield made
    made.close()


def pieces(count: int, taken: list[int]) -> Iterator[float]:
    for number in range(count):
        taken.append(number)
        yield 0.0


def test_results_are_in_order_whatever_takes_longest(team: Team[Worker]) -> None:
    given = [5.0, 0.0, 3.0, 1.0, 0.0, 0.0, 4.0, 2.0]
    assert list(team.results(Worker.work, given)) == given


def test_there_are_no_more_members_than_said(team: Team[Worker], log: list[str]) -> None:
    list(team.results(Worker.work, [1.0] * 20))
    assert 1 <= sum(line.startswith("made") for line in log) <= 3
    list(team.results(Worker.work, [1.0] * 20))
    assert sum(line.startswith("made") for line in log) <= 3


def test_no_pieces_no_members(team: Team[Worker], log: list[str]) -> None:
    assert list(team.results(Worker.work, [])) == []
    assert log == []


def test_not_many_pieces_are_taken_ahead(team: Team[Worker]) -> None:
    taken: list[int] = []
    results = team.results(Worker.work, pieces(100, taken))
    for number in range(10):
        next(results)
        assert len(taken) <= number + 8
    results.close()


def test_an_error_comes_in_its_turn(team: Team[Worker]) -> None:
    def work(worker: Worker, piece: float) -> float:
        if piece == 2:
            raise ValueError("two")
        return worker.work(piece)

    results = team.results(work, [0, 1, 2, 3])
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(ValueError, match="two"):
        next(results)
    assert list(team.results(work, [4, 5])) == [4, 5]


def test_who_stops_taking_ends_the_work(team: Team[Worker], log: list[str]) -> None:
    results = team.results(Worker.work, [0.0, *[1000.0] * 9])
    next(results)
    results.close()
    begin = time.monotonic()
    team.close()
    assert time.monotonic() - begin < 5
    begun = [line for line in log if line == "begun 1000.0"]
    assert len(begun) <= 3
    assert len([line for line in log if line == "gave up 1000.0"]) == len(begun)


def test_work_that_is_given_up_leaves_other_work_alone(team: Team[Worker]) -> None:
    left = team.results(Worker.work, [0.0, *[1000.0] * 2])
    next(left)
    kept = team.results(Worker.work, [1.0, 2.0, 3.0, 4.0])
    left.close()
    assert list(kept) == [1.0, 2.0, 3.0, 4.0]


def test_the_first_to_join_is_closed_last(team: Team[Worker], log: list[str]) -> None:
    team.join(Worker(log, "first"))
    list(team.results(Worker.work, [2.0] * 9))
    team.close()
    closed = [line for line in log if line.startswith("closed")]
    assert closed[-1] == "closed first"
    assert len(closed) == sum(line.startswith("made") for line in log)


def test_where_no_more_can_be_made_the_others_do_the_work(log: list[str]) -> None:
    asked: list[int] = []

    def make() -> Worker:
        asked.append(len(asked))
        if len(asked) > 2:
            raise ModelFailed("not enough memory")
        return Worker(log, str(len(asked)))

    team = Team(4, make)
    given = [2.0] * 20
    assert list(team.results(Worker.work, given)) == given
    assert asked == [0, 1, 2]
    team.close()
    assert [line for line in log if line.startswith("closed")] == ["closed 2", "closed 1"]


def test_where_none_can_be_made_that_is_an_error() -> None:
    def make() -> Worker:
        raise ModelFailed("not enough memory")

    team = Team(3, make)
    with pytest.raises(ModelFailed, match="not enough memory"):
        list(team.results(Worker.work, [1.0] * 9))
    team.close()


@pytest.mark.parametrize("allowed", [0, 1])
def test_where_no_thread_can_be_started_that_is_an_error(
    team: Team[Worker], monkeypatch: pytest.MonkeyPatch, allowed: int
) -> None:
    start, started = threading.Thread.start, itertools.count()

    def full(self: threading.Thread) -> None:
        if next(started) >= allowed:
            raise RuntimeError("can't start new thread")
        start(self)

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", full)
        with pytest.raises(ModelFailed, match=r"no thread .*can't start new thread.*ulimit"):
            list(team.results(Worker.work, [1.0] * 9))
    assert list(team.results(Worker.work, [1.0, 2.0])) == [1.0, 2.0]


def test_closing_ends_work_that_nobody_takes(team: Team[Worker], log: list[str]) -> None:
    results = team.results(Worker.work, [0.0, *[1000.0] * 9])
    next(results)
    team.close()
    closed = [line.startswith("closed") for line in log]
    assert sum(closed) == sum(line.startswith("made") for line in log)
    assert closed == sorted(closed)  # nothing is done after the first was closed
