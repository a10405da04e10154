"""`qmd watch` in a process of its own, as it runs all day."""

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pytest

from qmd_py import config
from qmd_py.cli.watching import _Watch

if TYPE_CHECKING:
    from typer.testing import Result

Qmd = Callable[..., "Result"]

PATIENCE = 60.0  # seconds until a test gives up; how long it takes is no matter


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.05)


class Watched:
    """A running `qmd watch` over a folder."""

    def __init__(self, qmd: Qmd, folder: Path, log: Path) -> None:
        self.qmd, self.folder, self.log = qmd, folder, log
        command = [sys.executable, "-m", "qmd_py", "watch", "--no-embed"]
        with log.open("wb") as stream:
            self.process = subprocess.Popen(command, stdout=stream, stderr=stream)

    @property
    def said(self) -> list[str]:
        return self.log.read_text().splitlines()

    def finds(self, word: str) -> bool:
        return bool(self.qmd("search", word, "-l").stdout)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@pytest.fixture
def watched(qmd: Qmd, folder: Path, tmp_path: Path) -> Iterator[Watched]:
    (folder / "a.md").write_text("apples\n")
    assert qmd("index", "--no-embed", folder).exit_code == 0
    (folder / "b.md").write_text("bread\n")  # changed while nobody looked
    with Watched(qmd, folder, tmp_path / "log") as running:
        until(lambda: running.finds("bread"))
        yield running


def test_who_looks_on_is_told_that_it_watches(qmd: Qmd, folder: Path) -> None:
    assert qmd("index", "--no-embed", folder).exit_code == 0
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "qmd_py", "watch", "--no-embed"]
    with subprocess.Popen(command, stderr=theirs, stdout=subprocess.DEVNULL) as process:
        try:
            assert os.read(ours, 1000).startswith(b"qmd: watching until Ctrl-C")
        finally:
            process.kill()
            os.close(theirs)
            os.close(ours)


def test_changes_are_found_without_a_word_too_many(watched: Watched) -> None:
    folder = watched.folder
    (folder / "sub").mkdir()
    (folder / "sub/c.md").write_text("carrots\n")
    until(lambda: watched.finds("carrots"))
    (folder / "a.md").write_text("apricots\n")
    until(lambda: watched.finds("apricots") and not watched.finds("apples"))
    before = len(watched.said)
    shutil.rmtree(folder / "sub")
    until(lambda: len(watched.said) > before and not watched.finds("carrots"))
    (folder / "no note.png").write_text("x")
    (folder / ".hidden").mkdir()
    (folder / ".hidden/d.md").write_text("x")
    (folder / "e.md").write_text("eggs\n")
    until(lambda: watched.finds("eggs"))
    assert watched.stop() == 130
    assert len(watched.said) == 5  # one line for each that changed anything
    assert watched.said[0] == "notes: 1 new, 1 unchanged"


def test_what_a_busy_index_did_not_take_waits(
    qmd: Qmd, folder: Path, isolated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.md").write_text("apples\n")
    assert qmd("index", "--no-embed", folder).exit_code == 0
    monkeypatch.setattr("qmd_py.store.connection._PATIENCE", 0.05)
    said: list[str] = []
    monkeypatch.setattr("qmd_py.cli.watching.notice", said.append)
    watch = _Watch(config.load(os.environ), frozenset(), embed=False)
    with contextlib.closing(sqlite3.connect(isolated / "index.sqlite")) as other:
        other.execute("BEGIN IMMEDIATE")
        (folder / "a.md").write_text("bread\n")
        assert watch._update({"notes"}) == {"notes"}
        assert watch._update({"notes"}) == {"notes"}
        other.rollback()
    assert watch._update({"notes"}) == set()
    assert len(said) == 1
    assert qmd("search", "bread").exit_code == 0


@pytest.mark.bench
def test_a_busy_index_is_told_once_and_tried_again(watched: Watched, isolated: Path) -> None:
    other = sqlite3.connect(isolated / "index.sqlite")
    other.execute("BEGIN IMMEDIATE")
    (watched.folder / "c.md").write_text("carrots\n")
    until(lambda: any("another qmd is writing" in line for line in watched.said))
    other.rollback()
    other.close()
    until(lambda: watched.finds("carrots"))
    assert watched.process.poll() is None
    assert sum("another qmd is writing" in line for line in watched.said) == 1


def test_a_folder_may_vanish_and_come_back(watched: Watched) -> None:
    away = watched.folder.with_name("away")
    watched.folder.rename(away)
    until(lambda: any("is gone; its 2 notes stay" in line for line in watched.said))
    (away / "c.md").write_text("carrots\n")
    away.rename(watched.folder)
    until(lambda: watched.finds("carrots"))
    (watched.folder / "d.md").write_text("dates\n")
    until(lambda: watched.finds("dates"))


def test_a_name_that_is_not_utf8_is_told_once_and_the_rest_goes_on(watched: Watched) -> None:
    odd = watched.folder / os.fsdecode(b"caf\xe9.md")
    odd.write_text("zebras\n")
    (watched.folder / "c.md").write_text("carrots\n")
    until(lambda: watched.finds("carrots"))
    odd.write_text("more zebras\n")
    (watched.folder / "d.md").write_text("dates\n")
    until(lambda: watched.finds("dates"))
    assert watched.stop() == 130
    told = [line for line in watched.said if line.startswith("qmd: ")]
    assert len(watched.said) == len(told) + 3
    assert len(told) == 2
    assert any("caf\\xe9.md' is not UTF-8" in line for line in told)
    assert any("cannot tell what changed" in line for line in told)


@pytest.mark.bench
def test_a_new_collection_is_watched_too(watched: Watched, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    assert watched.qmd("index", "--no-embed", other).exit_code == 0
    time.sleep(1.5)  # it is seen every second
    (other / "x.md").write_text("figs\n")
    until(lambda: watched.finds("figs"))


def test_an_index_that_is_gone_ends_it(watched: Watched, isolated: Path) -> None:
    for file in isolated.glob("index.sqlite*"):
        file.unlink()
    assert watched.process.wait(PATIENCE) == 2
    assert "no index at" in watched.said[-1]
    assert not (isolated / "index.sqlite").exists()


@pytest.mark.bench
def test_an_index_among_the_notes_does_not_wake_it(
    qmd: Qmd, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.md").write_text("apples\n")
    monkeypatch.setenv("QMD_INDEX", str(folder / "index.sqlite"))
    assert qmd("index", "--no-embed", folder).exit_code == 0
    with Watched(qmd, folder, tmp_path / "log") as running:
        (folder / "b.md").write_text("bread\n")
        until(lambda: running.finds("bread"))
        time.sleep(1.0)
        before = (folder / "index.sqlite").stat().st_mtime_ns
        time.sleep(2.5)
        assert running.stop() == 130
    assert (folder / "index.sqlite").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(["-c", "nope"], "no collection 'nope'", id="an unknown collection"),
        pytest.param(["--index", "nope"], "no index at", id="an unknown index"),
    ],
)
def test_wrong_input(qmd: Qmd, folder: Path, args: list[str], message: str) -> None:
    assert qmd("index", "--no-embed", folder).exit_code == 0
    result = qmd("watch", *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_the_missing_extra_is_told(qmd: Qmd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    result = qmd("watch")
    assert result.exit_code == 2
    assert result.stderr == "qmd: watchfiles is not installed: pip install 'qmd-py[watch]'\n"
