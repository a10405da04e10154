import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmd_py import fusion

ids = st.lists(st.integers(0, 30), unique=True, max_size=12)
some_runs = st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), ids, min_size=1)
some_weights = st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), st.floats(0.01, 4))


@pytest.mark.parametrize(
    ("runs", "fused"),
    [
        pytest.param({"a": [1, 2], "b": [2, 3]}, [2, 1, 3], id="agreement wins"),
        pytest.param({"a": [3, 1, 2]}, [3, 1, 2], id="one run stays as it is"),
        pytest.param({"a": [1], "b": [2]}, [1, 2], id="ties keep the order of the runs"),
        pytest.param({"a": [], "b": [2]}, [2], id="an empty run brings nothing"),
        pytest.param({}, [], id="no runs, nothing"),
        pytest.param(
            {"a": [1, 2, 3, 4], "b": [9, 4, 3, 2]},
            [2, 4, 3, 1, 9],
            id="twice found comes before once found",
        ),
    ],
)
def test_rrf_orders(runs: dict[str, list[int]], fused: list[int]) -> None:
    assert list(fusion.rrf(runs, {})) == fused


def test_rrf_scores_are_those_of_the_formula() -> None:
    found = fusion.rrf({"a": [1, 2], "b": [2]}, {"a": 1.0, "b": 0.5}, rrf_k=10)
    best = (1 + 0.5) / 11
    assert found == {
        2: pytest.approx((1 / 12 + 0.5 / 11) / best),
        1: pytest.approx((1 / 11) / best),
    }


def test_first_everywhere_scores_one() -> None:
    assert fusion.rrf({"a": [7, 1], "b": [7], "c": [7, 2]}, {"a": 3})[7] == pytest.approx(1)


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param({"a": [7]}, id="none"),
        pytest.param({"a": [7], "b": []}, id="one that found nothing"),
    ],
)
def test_a_missing_run_does_not_lower_the_scale(runs: dict[str, list[int]]) -> None:
    assert fusion.rrf(runs, {"a": 1, "b": 5})[7] == pytest.approx(1)
    assert fusion.contributions(runs, {"a": 1, "b": 5}, 7) == {"a": pytest.approx(1)}


def test_runs_without_weight_say_nothing() -> None:
    assert fusion.rrf({"a": [1, 2]}, {"a": 0.0}) == {1: 0.0, 2: 0.0}
    assert list(fusion.rrf({"a": [1, 2], "b": [2, 1]}, {"a": 0.0})) == [2, 1]


def test_rounding_leads_no_score_above_one() -> None:
    assert fusion.rrf({"title": [1], "dense": [1]}, {"title": 0.25, "dense": 1.0})[1] == 1


def test_a_small_constant_lets_a_clear_winner_win() -> None:
    # first in one run against third and fourth in two
    runs = {"a": [1, 2, 3, 4], "b": [5, 6, 4, 3]}
    assert next(iter(fusion.rrf(runs, {}, rrf_k=1))) == 1
    assert next(iter(fusion.rrf(runs, {}, rrf_k=60))) == 3


@given(ids, st.floats(0.01, 4))
def test_one_run_keeps_its_order(run: list[int], weight: float) -> None:
    assert list(fusion.rrf({"a": run}, {"a": weight})) == run


@given(some_runs, some_weights)
def test_contributions_add_up_to_the_score(
    runs: dict[str, list[int]], weights: dict[str, float]
) -> None:
    for id_, score in fusion.rrf(runs, weights).items():
        assert sum(fusion.contributions(runs, weights, id_).values()) == pytest.approx(score)
        assert 0 < score <= 1


@given(some_runs, some_weights)
def test_only_runs_that_hold_an_id_contribute(
    runs: dict[str, list[int]], weights: dict[str, float]
) -> None:
    for id_ in range(31):
        found = fusion.contributions(runs, weights, id_)
        assert set(found) == {name for name, run in runs.items() if id_ in run}


@pytest.mark.parametrize(
    ("runs", "total"),
    [
        pytest.param([{1: 2.0, 2: 1.0}, {2: 3.0}], {2: 4.0, 1: 2.0}, id="scores add up"),
        pytest.param([{3: 1.0}, {1: 1.0}], {3: 1.0, 1: 1.0}, id="ties keep the runs' order"),
        pytest.param([], {}, id="nothing of nothing"),
    ],
)
def test_summed(runs: list[dict[int, float]], total: dict[int, float]) -> None:
    assert list(fusion.summed(runs).items()) == list(total.items())
