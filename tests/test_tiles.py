"""The processor's matrix tiles: a known product, and what is made of a build that gets it wrong."""

import importlib.util
import shutil
import signal
import subprocess
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
        ("print('RIGHT', end='')", Tiles.RIGHT),
        ("print('UNUSED', end='')", Tiles.UNUSED),
        ("print('RIGHT', end='', flush=True); import os; os.kill(os.getpid(), 11)", Tiles.BROKEN),
        ("raise SystemExit(0)", Tiles.BROKEN),
        ("print('all is well')", Tiles.BROKEN),
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


def test_a_crash_shows_where_nobody_is_told_how_processes_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who starts qmd may have chosen so; each process then seems to have ended well."""
    crashing = tmp_path / "crashing.py"
    crashing.write_text("import os; os.kill(os.getpid(), 11)")
    monkeypatch.setattr(tiles, "__file__", str(crashing))
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert tiles._tried(tmp_path) is Tiles.BROKEN
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_a_folder_without_libraries(tmp_path: Path) -> None:
    assert tiles._tried(tmp_path) is Tiles.BROKEN


@pytest.mark.parametrize("python", [None, "", "/nowhere/python", shutil.which("true")])
def test_a_python_that_cannot_be_started(
    libraries: Path, monkeypatch: pytest.MonkeyPatch, python: str | None
) -> None:
    """Within another program Python has no name, or that program's."""
    monkeypatch.setattr("sys.executable", python)
    assert tiles._tried(libraries) is Tiles.BROKEN


def test_no_process_left_to_start(libraries: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise BlockingIOError

    monkeypatch.setattr("subprocess.Popen.__init__", full)
    assert tiles._tried(libraries) is Tiles.BROKEN


def test_where_the_system_hides_the_processor_the_product_tells(
    libraries: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without /proc a build that crashes on tiles was let use them."""
    found = {libraries: Tiles.BROKEN}
    monkeypatch.setattr(tiles, "_CPUINFO", tmp_path / "none")
    monkeypatch.setattr(tiles, "_tried", found.get)
    assert tiles.found() is Tiles.BROKEN


def test_the_libraries_tried_are_those_that_will_be_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """llama-cpp-python takes them from a folder that this variable names."""
    found = {tmp_path: Tiles.RIGHT}
    monkeypatch.setattr(tiles, "_on_processor", lambda: True)
    monkeypatch.setattr(tiles, "_tried", found.get)
    monkeypatch.setenv("LLAMA_CPP_LIB_PATH", str(tmp_path))
    assert tiles.found() is Tiles.RIGHT


def test_the_process_ends_when_nobody_waits_for_it(libraries: Path, tmp_path: Path) -> None:
    """The one that started it may have been killed, while it hangs for good."""
    stuck = tmp_path / "stuck.py"
    source = Path(tiles.__file__).read_text()
    stuck.write_text(
        source.replace("_MOST_SECONDS = 20", "_MOST_SECONDS = 1").replace(
            "def _product(", "def _product(*_):\n    while True:\n        pass\n\n\ndef _left_out("
        )
    )
    done = subprocess.run([sys.executable, "-I", "-S", stuck, libraries], timeout=20, check=False)
    assert done.returncode == -signal.SIGALRM


def test_the_process_reads_nothing_of_the_folder_it_is_started_in(
    libraries: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = tiles._tried(libraries)
    (tmp_path / "ctypes.py").write_text("print('ABSENT', end='')\nraise SystemExit(0)")
    shutil.copy(tmp_path / "ctypes.py", tmp_path / "enum.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert tiles._tried(libraries) is before
