"""What is printed can be read by the program behind the pipe, and by people in any window."""

import contextlib
import csv
import io
import json
import os
import pty
import re
import shlex
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from rich.cells import cell_len

import qmd_py
from qmd_py.cli import app
from qmd_py.evaluation.judging import Row
from qmd_py.llama.reranker import LlamaReranker
from qmd_py.render import styled, tables
from qmd_py.render.machine import CSV_COLUMNS
from tests.fakes import FakeEmbedder
from tests.faults.shelf import Shelf, said
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
        shown = everything(ours)
        heard = running.communicate()[1]
    assert running.returncode == 0, heard
    return shown, heard


def everything(terminal: int) -> bytes:
    """What comes out of a terminal until its last writer leaves."""
    shown = b""
    with contextlib.suppress(OSError):  # so Linux tells the end
        while more := os.read(terminal, 65536):
            shown += more
    os.close(terminal)
    return shown


def test_models_at_work_leave_stdout_and_stderr_alone(
    shelf: Shelf, models: tuple[str, ...]
) -> None:
    for _ in ("cold", "warm"):
        shown = process(shelf, "query", "how to keep apples cool", "--json", *models)
        assert shown.stderr == b""
        assert json.loads(shown.stdout)["results"]


def test_what_other_threads_print_is_not_lost(
    models: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    done = threading.Event()
    count = 0

    def talk() -> None:
        nonlocal count
        while not done.is_set():
            os.write(2, b"x")
            count += 1
            done.wait(0.001)

    talking = threading.Thread(target=talk)
    talking.start()
    with LlamaReranker(Path(models[3]), fingerprint="x", threads=1, passage_tokens=64) as judge:
        assert list(judge.scores("bread", ["bread"]))
    done.set()
    talking.join()
    os.write(1, b"after")
    assert capfd.readouterr() == ("after", "x" * count)


PLAIN = [
    pytest.param({"NO_COLOR": "1"}, id="NO_COLOR"),
    pytest.param({"TERM": "dumb"}, id="a dumb terminal"),
]


@pytest.mark.parametrize("env", PLAIN)
def test_no_colour_where_none_is_wanted(shelf: Shelf, env: dict[str, str]) -> None:
    shown, _ = on_a_terminal(shelf, "search", "apples", **env)
    assert b"apples" in shown
    colours = re.findall(rb"\x1b\[[0-9;]*m", shown)
    assert all(code in {b"\x1b[0m", b"\x1b[1m", b"\x1b[2m"} for code in colours)
    assert env.get("TERM") != "dumb" or b"\x1b" not in shown


def test_colour_on_a_terminal_in_every_script(shelf: Shelf) -> None:
    shown, _ = on_a_terminal(shelf, "search", "蘋果")
    assert b"\x1b[" in shown
    assert "\x1b[1;31m蘋果\x1b[0m" in shown.decode()


@pytest.mark.parametrize("what", ["screen", "bar"])
def test_the_cursor_is_back_after_an_interrupt(what: str) -> None:
    code = {
        "bar": "with app.bar('x') as tick:\n    tick(1, 2); time.sleep(.15); raise KeyboardInterrupt",
        "screen": "with app.screen() as show:\n    show([[('x', '')]]); raise KeyboardInterrupt",
    }[what]
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", f"import time\nfrom qmd_py.cli import app\n{code}"]
    env = {**os.environ, "NO_COLOR": "", "TERM": "xterm-256color"}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env) as running:
        os.close(theirs)
        shown = everything(ours)
    assert running.returncode in {1, -2}
    assert shown.count(b"\x1b[?25l") == shown.count(b"\x1b[?25h") == 1


@pytest.mark.parametrize(("columns", "drawn"), [("40", False), ("80", True)])
def test_a_narrow_window_keeps_counts_and_time_before_the_bar(columns: str, drawn: bool) -> None:
    code = (
        "from qmd_py.cli import app\nwith app.bar('n' * 30, of_bytes=True) as tick:\n    tick(3, 6)"
    )
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "NO_COLOR": "1", "COLUMNS": columns}
    with subprocess.Popen([sys.executable, "-c", code], stderr=theirs, env=env):
        os.close(theirs)
        shown = everything(ours).decode()
    assert "3/6 bytes" in shown
    assert "-:--:--" in shown
    assert ("━" in shown) == drawn


@pytest.mark.parametrize("columns", ["40", "1", "0", "x"])
def test_a_window_of_any_width(shelf: Shelf, columns: str) -> None:
    shown, heard = on_a_terminal(shelf, "search", "apples 蘋果", COLUMNS=columns)
    assert heard == b""
    assert b"apples.md" in shown.replace(b"\r\n", b"")
    if columns == "0":
        helped, _ = on_a_terminal(shelf, "search", "--help", COLUMNS=columns)
        assert b"limit" in helped


def test_a_category_in_wide_letters_keeps_the_columns() -> None:
    rows = [Row(set_, category, 3, "RR", 0.5, 0.4, 0.6)
            for set_, category in (("蘋果", ""), ("蘋果", "保存"), ("en", "apples"))]  # fmt: skip
    lines = styled.plain(tables.measures(rows, signed=False)).splitlines()
    assert len({cell_len(line) for line in lines}) == 1


def test_a_download_that_nobody_watches_draws_no_bar(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with app.bar("x", of_bytes=True) as tick:
        for at in range(1000):
            tick(at, 1000)
    assert capfd.readouterr() == ("", "")


def test_a_reader_that_has_seen_enough_is_no_error(shelf: Shelf) -> None:
    python, index = shlex.quote(sys.executable), shlex.quote(str(shelf.index))
    for command in (
        f"search --index {index} apples -n 1000 --full",
        f"ls --index {index}",
        f"get --index {index} long.md",
    ):
        line = f"PYTHONUNBUFFERED=1 {python} -m qmd_py {command} | true; exit ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", line], capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")


FORMS = ("--json", "--csv", "--md", "-l", "-0")


@pytest.mark.parametrize("form", [*FORMS, ""])
def test_a_vanished_note_is_told_in_every_form(tmp_path: Path, form: str) -> None:
    shelf = Shelf.of(tmp_path, {"a.md": "apples", "b.md": "bread"})
    (shelf.folder / "a.md").unlink()
    shown = shelf("search", "apples", *([form] if form else []))
    assert shown.exit_code == 1  # nothing else was found
    assert re.fullmatch(r"qmd: notes/a\.md: .*: run 'qmd index'\n", shown.stderr)


def test_csv_has_the_same_columns_whatever_is_asked(shelf: Shelf) -> None:
    for args in (
        ["apples"],
        ["apples", "--full"],
        ["apples", "--explain"],
        ["zzz"],
        ["-n1", "apples"],
    ):
        for mode in ("search", "query"):
            shown = shelf(mode, "--csv", *args).stdout
            header, *rows = csv.reader(io.StringIO(shown, newline=""))
            assert ",".join(header) == ",".join(CSV_COLUMNS)
            assert all(len(row) == len(header) for row in rows)
    (row,) = (row for row in csv.DictReader(io.StringIO(shelf("search", "apples", "--csv").stdout))
              if row["path"] == "odd, name's.md")  # fmt: skip
    assert row["title"] == ODD.replace("\t", " ")
    assert row["file"] == str(shelf.folder / "odd, name's.md")


def test_full_is_the_whole_note_in_every_mode(shelf: Shelf) -> None:
    for mode in ("search", "query"):
        for hit in shelf.answer(mode, "apples", "--full")["results"]:
            assert hit["body"] == NOTES[hit["path"]]
        assert "And dry." in shelf(mode, "apples", "--full").stdout
        assert 'two "apples",\nthree;apples\n' in shelf(mode, "apples", "--full").stdout
        assert "And dry." in shelf(mode, "apples", "--full", "--md").stdout


@pytest.mark.parametrize("mode", ["search", "query"])
@pytest.mark.parametrize("length", [20, 50, 100])
def test_a_snippet_is_as_long_as_asked(shelf: Shelf, mode: str, length: int) -> None:
    for hit in shelf.answer(mode, "apples", "--snippet", length)["results"]:
        for match in hit["matches"]:
            assert len(match["snippet"]) <= length + 2  # the signs that it goes on
    shown = shelf(mode, "apples", "--snippet", length, "--csv").stdout
    assert all(len(row["snippet"]) <= length + 2 for row in csv.DictReader(io.StringIO(shown)))
    lines = shelf(mode, "pears", "--snippet", length, "-n", 1).stdout.splitlines()
    assert len(lines[2]) <= length + 2


def test_measuring_nothing_is_told(shelf: Shelf, tmp_path: Path) -> None:
    golden = tmp_path / "golden.json"
    golden.write_text('[{"id": "1", "query": "x", "relevant_paths": ["a.md"]}]')
    empty = Shelf(tmp_path, tmp_path / "none.sqlite")
    assert "no index at" in said(empty("eval", golden))
    bare = Shelf.of(tmp_path, {})
    assert "index them first" in said(bare("eval", golden))


def test_a_version_is_our_own_wherever_we_are(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    command = [sys.executable, "-m", "qmd_py", "--version"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == f"qmd {qmd_py.__version__}\n"


def test_notes_without_text_wait_for_nothing(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qmd_py.embedded.BuiltIn", lambda threads: FakeEmbedder())
    assert shelf("embed").exit_code == 0
    (vectors,) = shelf.answer("status")["vectors"]
    assert (vectors["pending"], vectors["failed"]) == (0, 0)
