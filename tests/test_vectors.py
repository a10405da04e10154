import os
from pathlib import Path

import numpy as np
import pytest

from qmd_py import vectors
from qmd_py.errors import Busy, IndexUnusable
from qmd_py.vectors import VectorFile


def nearest_rows(matrix, query, depth: int) -> list[tuple[int, float]]:
    return vectors.best(vectors.cosines(matrix, query[None])[0], depth)


def units(*angles: float):
    """Unit vectors in the plane at these angles, in degrees."""
    radians = np.radians(angles)
    return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)


@pytest.fixture
def file(tmp_path: Path) -> VectorFile:
    return VectorFile(tmp_path / "vectors", 2)


def test_what_was_appended_is_read_back(file: VectorFile) -> None:
    rows = units(0, 30, 60)
    file.append(rows[:1], 0)
    file.append(rows[1:], 1)
    assert np.array_equal(file.rows(3), rows)
    assert file.rows(3).dtype == np.float32
    assert file.file.stat().st_size == 3 * 2 * 4


def test_only_the_rows_that_count_are_read(file: VectorFile) -> None:
    file.append(units(0, 30, 60), 0)
    assert np.array_equal(file.rows(2), units(0, 30))


def test_rows_of_an_interrupted_run_are_overwritten(file: VectorFile) -> None:
    file.append(units(0, 30, 60), 0)
    file.append(units(90), 1)
    assert np.array_equal(file.rows(2), units(0, 90))
    assert file.file.stat().st_size == 2 * 2 * 4


def test_a_first_row_replaces_what_was_there(file: VectorFile) -> None:
    file.file.write_bytes(b"left over")
    file.append(units(45), 0)
    assert np.array_equal(file.rows(1), units(45))


def test_a_torn_row_behind_those_that_count_does_no_harm(file: VectorFile) -> None:
    file.append(units(0), 0)
    with file.file.open("ab") as stream:
        stream.write(b"\x01\x02\x03")
    assert np.array_equal(file.rows(1), units(0))
    file.append(units(90), 1)
    assert np.array_equal(file.rows(2), units(0, 90))


def test_rows_read_earlier_stay_as_they_were_while_others_come(file: VectorFile) -> None:
    file.append(units(0), 0)
    before = file.rows(1)
    file.append(units(90, 45), 1)
    assert np.array_equal(before, units(0))


def test_no_rows_need_no_file(file: VectorFile) -> None:
    assert file.rows(0).shape == (0, 2)


def test_rows_cannot_be_written_to(file: VectorFile) -> None:
    file.append(units(0), 0)
    with pytest.raises(ValueError, match="read-only"):
        file.rows(1)[0] = 5


@pytest.mark.parametrize(
    "size",
    [
        pytest.param(None, id="no file"),
        pytest.param(0, id="an empty file"),
        pytest.param(15, id="a byte short"),
    ],
)
def test_a_damaged_file_is_told_with_the_remedy(file: VectorFile, size: int | None) -> None:
    if size is not None:
        file.append(units(0, 30), 0)
        os.truncate(file.file, size)
    with pytest.raises(IndexUnusable, match="damaged: run 'qmd embed --force'"):
        file.rows(2)


def test_nothing_is_appended_to_a_damaged_file(file: VectorFile) -> None:
    file.append(units(0), 0)
    with pytest.raises(IndexUnusable, match="damaged: run 'qmd embed --force'"):
        file.append(units(30), 2)
    assert np.array_equal(file.rows(1), units(0))


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(IndexUnusable, match=r"cannot write .*: No such file or directory"):
        VectorFile(tmp_path / "none" / "vectors", 2).append(units(0), 0)


@pytest.mark.parametrize(
    ("depth", "found"),
    [
        pytest.param(1, [1], id="the nearest alone"),
        pytest.param(2, [1, 2], id="two"),
        pytest.param(4, [1, 2, 0, 3], id="all of them"),
        pytest.param(99, [1, 2, 0, 3], id="more than there are"),
    ],
)
def test_nearest_come_first(depth: int, found: list[int]) -> None:
    matrix = units(90, 10, 20, 180)
    nearest = nearest_rows(matrix, units(0)[0], depth)
    assert [row for row, _ in nearest] == found
    cosines = [float(np.cos(np.radians((90, 10, 20, 180)[row]))) for row in found]
    assert [score for _, score in nearest] == pytest.approx(cosines, abs=1e-6)


def test_ties_go_by_row_number_at_the_cut_too() -> None:
    matrix = units(*[30, 0] * 50)
    nearest = nearest_rows(matrix, units(0)[0], 53)
    assert [row for row, _ in nearest] == [*range(1, 100, 2), 0, 2, 4]


def test_a_shorter_list_is_the_beginning_of_a_longer_one() -> None:
    random = np.random.default_rng(7)
    matrix = random.standard_normal((500, 8)).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    whole = nearest_rows(matrix, matrix[0], 500)
    assert whole[0][0] == 0
    assert whole[0][1] == pytest.approx(1, abs=1e-6)
    for depth in (1, 10, 499):
        assert nearest_rows(matrix, matrix[0], depth) == whole[:depth]


def test_nothing_is_near_in_an_empty_matrix() -> None:
    assert nearest_rows(np.zeros((0, 2), dtype=np.float32), units(0)[0], 5) == []


@pytest.mark.parametrize(
    ("row", "usable"),
    [
        pytest.param([0.6, 0.8], True, id="of unit length"),
        pytest.param([0, 0], False, id="zeros"),
        pytest.param([np.nan, 1], False, id="not a number"),
        pytest.param([np.inf, 0], False, id="infinite"),
        pytest.param([3, 4], False, id="not of unit length"),
    ],
)
def test_only_unit_vectors_are_usable(row: list[float], usable: bool) -> None:
    rows = np.array([row, [1, 0]], dtype=np.float32)
    assert vectors.usable(rows).tolist() == [usable, True]


def test_a_lock_is_held_by_one_and_freed_after(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    with vectors.locked(file), pytest.raises(Busy, match="another qmd"), vectors.locked(file):
        pass
    with vectors.locked(file):
        assert file.exists()


def test_several_queries_score_as_each_alone() -> None:
    random = np.random.default_rng(3)
    matrix = random.standard_normal((300, 16)).astype(np.float32)
    together = vectors.cosines(matrix, matrix[:4])
    assert together.shape == (4, 300)
    for row, query in zip(together, matrix, strict=False):
        assert row == pytest.approx(vectors.cosines(matrix, query[None])[0], abs=1e-5)


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> VectorFile:
    """3,000 rows, which count as many, in blocks of 1,024."""
    monkeypatch.setattr(vectors, "_LARGE", 2000)
    monkeypatch.setattr(vectors, "_BLOCK", 1024)
    file = VectorFile(tmp_path / "vectors", 24)
    file.append(np.random.default_rng(4).standard_normal((3000, 24)).astype(np.float32), 0)
    return file


@pytest.mark.parametrize("count", [1999, 2000, 2048, 2999, 3000])
def test_a_large_file_scores_like_a_small_one(large: VectorFile, count: int) -> None:
    asked = large.rows(3000)[[7, 2500]]
    expected = vectors.cosines(large.rows(count), asked)
    assert large.cosines(count, asked) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("size", [None, 0, 3000 * 24 * 4 - 1])
def test_a_large_damaged_file_is_told_with_the_remedy(large: VectorFile, size: int | None) -> None:
    asked = np.array(large.rows(1))
    os.truncate(large.file, size) if size is not None else large.file.unlink()
    with pytest.raises(IndexUnusable, match="damaged: run 'qmd embed --force'"):
        large.cosines(3000, asked)
