import math
import random

import ir_measures
import pytest
from ir_measures import RR, R, Success, nDCG

from qmd_py import measures

LOG3 = math.log2(3)
GAINS = {"a": 1.0, "b": 0.5, "c": 1.0}


@pytest.mark.parametrize(
    ("run", "k", "value"),
    [
        pytest.param(["a", "c", "b"], 5, 1.0, id="the ideal order"),
        pytest.param(["c", "a", "b"], 5, 1.0, id="equals may change places"),
        pytest.param(
            ["b", "a", "c"],
            5,
            (0.5 + 1 / LOG3 + 1 / 2) / (1 + 1 / LOG3 + 0.5 / 2),
            id="a part before the answers",
        ),
        pytest.param(["x", "a"], 5, (1 / LOG3) / (1 + 1 / LOG3 + 0.25), id="an answer second"),
        pytest.param(["x", "a"], 1, 0.0, id="an answer behind the cut"),
        pytest.param(["a"], 1, 1.0, id="the ideal is cut too"),
        pytest.param(["x", "y"], 5, 0.0, id="nothing relevant"),
        pytest.param([], 5, 0.0, id="nothing found"),
    ],
)
def test_ndcg(run: list[str], k: int, value: float) -> None:
    assert measures.ndcg(run, GAINS, k) == pytest.approx(value)


@pytest.mark.parametrize(
    ("run", "reciprocal", "first", "recalled"),
    [
        pytest.param(["a", "c"], 1.0, 1.0, 1.0, id="all at once"),
        pytest.param(["b", "c"], 1 / 2, 0.0, 1 / 2, id="a part is no answer"),
        pytest.param(["x", "y", "a"], 1 / 3, 0.0, 0.0, id="behind the cut"),
        pytest.param([], 0.0, 0.0, 0.0, id="nothing found"),
    ],
)
def test_binary_measures(run: list[str], reciprocal: float, first: float, recalled: float) -> None:
    assert measures.reciprocal_rank(run, GAINS) == pytest.approx(reciprocal)
    assert measures.success(run, GAINS, 1) == first
    assert measures.recall(run, GAINS, 2) == pytest.approx(recalled)


@pytest.mark.parametrize(
    "gains",
    [
        pytest.param({}, id="nothing judged"),
        pytest.param({"a": 0.0}, id="judged as useless"),
        pytest.param({"a": -1.0}, id="judged as harmful"),
    ],
)
def test_questions_without_an_answer_score_nothing(gains: dict[str, float]) -> None:
    run = ["a", "b"]
    assert measures.ndcg(run, gains, 5) == 0
    assert measures.reciprocal_rank(run, gains) == 0
    assert measures.success(run, gains, 5) == 0
    assert measures.recall(run, gains, 5) == 0


def random_case(seed: int) -> tuple[dict[str, int], list[str]]:
    """Grades −1 to 2 of some of 30 notes, and a run of up to 20."""
    drawn = random.Random(seed)
    notes = [f"n{n}" for n in range(30)]
    judged = drawn.sample(notes, drawn.randint(1, 12))
    grades = {note: drawn.choice([-1, 0, 1, 2]) for note in judged}
    return grades, drawn.sample(notes, drawn.randint(1, 20))


def test_measures_are_those_of_trec_eval() -> None:
    seeds = range(200)
    cases = {str(seed): random_case(seed) for seed in seeds}
    qrels = {id_: grades for id_, (grades, _) in cases.items()}
    runs = {
        id_: {note: -float(rank) for rank, note in enumerate(run)}
        for id_, (_, run) in cases.items()
    }
    ours = {
        nDCG @ 5: lambda run, gains: measures.ndcg(run, gains, 5),
        nDCG @ 10: lambda run, gains: measures.ndcg(run, gains, 10),
        RR(rel=2): measures.reciprocal_rank,
        Success(rel=2) @ 1: lambda run, gains: measures.success(run, gains, 1),
        R(rel=2) @ 10: lambda run, gains: measures.recall(run, gains, 10),
    }
    theirs = list(ir_measures.iter_calc(list(ours), qrels, runs))
    assert len(theirs) == len(ours) * len(seeds)
    for found in theirs:
        grades, run = cases[found.query_id]
        gains = {note: grade / 2 for note, grade in grades.items()}
        value = ours[found.measure](run, gains)
        assert value == pytest.approx(found.value, abs=1e-9), (found, run, grades)


def test_an_interval_holds_the_mean_and_narrows_with_more_questions() -> None:
    values = [0.0, 1.0] * 20
    low, high = measures.interval(values)
    assert low < 0.5 < high
    # 1.96 standard errors of a coin thrown 40 times
    assert (high - low) / 2 == pytest.approx(1.96 * 0.5 / math.sqrt(40), rel=0.1)
    wide = high - low
    low, high = measures.interval(values * 10)
    assert high - low < wide / 2


@pytest.mark.parametrize(
    ("values", "ends"),
    [
        pytest.param([], (0.0, 0.0), id="no questions"),
        pytest.param([0.25], (0.25, 0.25), id="one question"),
        pytest.param([0.5] * 9, (0.5, 0.5), id="all the same"),
    ],
)
def test_intervals_without_spread(values: list[float], ends: tuple[float, float]) -> None:
    assert measures.interval(values) == pytest.approx(ends)


def test_the_same_values_give_the_same_interval() -> None:
    values = [math.sqrt(n) for n in range(30)]
    assert measures.interval(values) == measures.interval(values)
    assert measures.interval(values, seed=1) != measures.interval(values)


def test_mean() -> None:
    assert measures.mean([0.1] * 10) == 0.1
    assert measures.mean([]) == 0
