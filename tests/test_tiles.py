"""The processor's matrix tiles: a known product, and what is made of a build that gets it wrong."""

import importlib.util
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from qmd_py.llama import tiles
from qmd_py.llama.tiles import Tiles


@pytest.fixture
def libraries() -> Path:
    """Where llama.cpp's are; only on Linux does it make use of tiles."""
    if sys.platform != "linux":
        pytest.skip("no tiles on other systems")
    package = importlib.util.find_spec("llama_cpp")
    assert package
    assert package.origin
    return Path(package.origin).parent / "lib"


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    tiles.found.cache_clear()
    yield
    tiles.found.cache_clear()


def test_the_weights_are_the_blocks_that_ggml_knows() -> None:
    from gguf import GGMLQuantizationType, quants

    blocks = np.frombuffer(tiles._blocks(), dtype=np.uint8).reshape(tiles._OUTPUTS, -1)
    weights = quants.dequantize(blocks, GGMLQuantizationType.Q8_0)
    values = [
        [tiles._value(text, at) for at in range(tiles._WIDTH)] for text in range(tiles._TEXTS)
    ]
    np.testing.assert_array_equal(np.ravel(np.array(values) @ weights.T), tiles._expected())


def test_other_kernels_give_the_expected_product(libraries: Path) -> None:
    """So the expected numbers are what any right kernel gives, to the bit."""
    ggml = tiles._Ggml(libraries)
    assert tiles._product(ggml, ggml.call("ggml_backend_cpu_buffer_type")) == tiles._expected()


def test_a_wrong_product_is_found(libraries: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        tiles._Ggml, "tiles", lambda self: self.call("ggml_backend_cpu_buffer_type")
    )
    assert tiles._made(libraries) is Tiles.RIGHT
    wrong = [*tiles._expected()[:-1], 0.0]
    monkeypatch.setattr(tiles, "_expected", lambda: wrong)
    assert tiles._made(libraries) is Tiles.BROKEN


def test_a_build_without_kernels_for_them(libraries: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles._Ggml, "tiles", lambda _self: None)
    assert tiles._made(libraries) is Tiles.UNUSED


def test_a_processor_without_them_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "_on_processor", lambda: False)
    monkeypatch.setattr(tiles, "_tried", lambda _folder: pytest.fail("tried"))
    assert tiles.found() is Tiles.ABSENT


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("import os; os.kill(os.getpid(), 11)", Tiles.BROKEN),
        ("import os; os.kill(os.getpid(), 4)", Tiles.BROKEN),
        ("raise OSError", Tiles.BROKEN),
        ("raise SystemExit(0)", Tiles.RIGHT),
        ("raise SystemExit(3)", Tiles.UNUSED),
        ("import time; time.sleep(60)", Tiles.BROKEN),
    ],
)
def test_how_the_other_process_ends_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, expected: Tiles
) -> None:
    other = tmp_path / "other.py"
    other.write_text(script)
    monkeypatch.setattr(tiles, "__file__", str(other))
    monkeypatch.setattr(tiles, "_MOST_SECONDS", 2)
    assert tiles._tried(tmp_path) is expected


def test_a_folder_without_libraries(tmp_path: Path) -> None:
    assert tiles._tried(tmp_path) is Tiles.BROKEN


def test_a_python_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "none"))
    assert tiles._tried(tmp_path) is Tiles.BROKEN


def test_the_process_reads_nothing_of_the_folder_it_is_started_in(
    libraries: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = tiles._tried(libraries)
    (tmp_path / "ctypes.py").write_text("raise SystemExit(0)")
    shutil.copy(tmp_path / "ctypes.py", tmp_path / "enum.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert tiles._tried(libraries) is before
