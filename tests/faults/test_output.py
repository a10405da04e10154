"""What is printed can be read by the program behind the pipe, and by people in any window."""

import json
import os
import pty
import subprocess
import sys

import pytest

from tests.faults.shelf import Shelf
from tests.test_llama import SHAPE, VOCABULARY
from tests.tiny import reranker_weights, write_qwen3, writer_weights

ODD = 'A, "quoted"; title\twith 日本語 and 👩‍👩‍👧'
NOTES = {
    "apples.md": "# Kinds\n\nMany apples.\n\n# Storing\n\nKeep the apples cool.\n\nAnd dry.\n",
    "odd, name's.md": f"---\ntitle: '{ODD}'\n---\nOne apple, two \"apples\",\r\nthree;apples\r\n",
    "wide.md": "# 蘋果的保存方法與各種品種的詳細介紹\n\n蘋果 apples 👨‍👩‍👧 保存在陰涼處。\n",
    "callout.md": "> [!quote] Apples say\n> ![[apple.png|300]] of [[Apples|the kinds]] ^id1\n",
    "long.md": "Apples " + "and pears " * 200,
    "meta.md": "---\ntags: [fruit]\n---\n",
    "empty.md": "",
}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return Shelf.of(tmp_path_factory.mktemp("output"), NOTES)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    folder = tmp_path_factory.mktemp("models")
    judge, writer = reranker_weights(SHAPE, VOCABULARY), writer_weights(SHAPE, VOCABULARY, seed=18)
    write_qwen3(folder / "judge.gguf", judge, SHAPE, VOCABULARY, head=True)
    write_qwen3(folder / "writer.gguf", writer, SHAPE, VOCABULARY)
    return "--expander", str(folder / "writer.gguf"), "--reranker", str(folder / "judge.gguf")


def process(
    shelf: Shelf, command: str, *args: str, **env: str
) -> "subprocess.CompletedProcess[bytes]":
    words = [sys.executable, "-m", "qmd_py", command, "--index", str(shelf.index), *args]
    return subprocess.run(words, capture_output=True, check=False, env={**os.environ, **env})


def on_a_terminal(shelf: Shelf, command: str, *args: str, **env: str) -> tuple[bytes, bytes]:
    """What comes out of a terminal and of a pipe for stderr."""
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "qmd_py", command, "--index", str(shelf.index), *args]
    with subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env={**os.environ, "NO_COLOR": "", "TERM": "xterm-256color", **env},
    ) as running:
        os.close(theirs)
        shown = b""
        try:
            while more := os.read(ours, 65536):
                shown += more
        except OSError:  # Linux's end of a terminal
            pass
        os.close(ours)
        said = running.communicate()[1]
    assert running.returncode == 0, said
    return shown, said


def test_models_at_work_leave_stdout_and_stderr_alone(
    shelf: Shelf, models: tuple[str, ...]
) -> None:
    for _ in ("cold", "warm"):
        shown = process(shelf, "query", "how to keep apples cool", "--json", *models)
        assert shown.stderr == b""
        assert json.loads(shown.stdout)["results"]
