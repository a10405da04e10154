"""Several processes, and one that ended badly, leave an index that answers."""

import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qmd_py.models import Models
from qmd_py.search.asking import Ask
from qmd_py.search.hybrid import hybrid
from qmd_py.store import connection
from qmd_py.store.reader import Reader
from tests.fakes import FakeEmbedder
from tests.faults.shelf import Shelf, said, write
from tests.faults.test_expansion import NOW

if TYPE_CHECKING:
    from typer.testing import Result

Qmd = Callable[..., "Result"]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeEmbedder:
    made = FakeEmbedder()
    monkeypatch.setattr("qmd_py.embedded.BuiltIn", lambda threads: made)
    return made


def paths(shown: "Result") -> list[str]:
    return sorted(hit["path"] for hit in json.loads(shown.stdout)["results"])


def whole(index: Path) -> bool:
    with Reader.open(index) as store:
        return store.rows("PRAGMA integrity_check") == [("ok",)]


def test_an_index_of_several_batches_is_made_anew(
    qmd: Qmd, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, {f"{at}.md": f"apples {at}" for at in range(250)})
    assert qmd("index", "--no-embed", folder).stdout == "notes: 250 new\n"
    (tmp_path / "config.toml").write_text('languages = ["de"]')
    monkeypatch.setenv("QMD_CONFIG", str(tmp_path / "config.toml"))
    assert qmd("index", "--no-embed").stdout == "notes: 250 changed\n"
    assert len(paths(qmd("search", "apples", "-n", "999", "--json", "--no-toc"))) == 250


def test_what_a_dead_process_left_locks_nobody_out(
    qmd: Qmd, folder: Path, isolated: Path, fake: FakeEmbedder
) -> None:
    write(folder, {"a.md": "apples"})
    for name in ("index.sqlite.embedding", "index.sqlite.lock", "index.lock", "index.sqlite.pid"):
        (isolated / name).write_text(f"{os.getppid()}\n")
    assert qmd("index", folder).exit_code == 0
    assert qmd("embed").exit_code == 0
    assert paths(qmd("vsearch", "apples", "--json")) == ["a.md"]


def test_a_locked_index_says_that_it_is_locked(
    qmd: Qmd, folder: Path, isolated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, {"a.md": "apples"})
    qmd("index", "--no-embed", folder)
    monkeypatch.setattr(connection, "_PATIENCE", 0.01)
    other = sqlite3.connect(isolated / "index.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert qmd("search", "apples").exit_code == 0  # a reader need not wait
    write(folder, {"b.md": "bread"})
    assert "locked: another qmd is writing" in said(qmd("index", "--no-embed"))
    other.rollback()
    other.execute("PRAGMA journal_mode = DELETE")
    other.execute("BEGIN EXCLUSIVE")
    assert "locked: another qmd is writing" in said(qmd("search", "apples"))
    other.close()
    assert qmd("search", "apples").exit_code == 0


def limited(size: int) -> Callable[[], None]:
    """Run in a new process before it begins: no file may grow above this."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


def test_a_full_disk_is_told_and_what_was_there_answers(tmp_path: Path) -> None:
    shelf = Shelf.of(tmp_path, {"a.md": "apples"})
    write(shelf.folder, {f"{at}.md": f"bread {at} " * 500 for at in range(30)})
    command = [sys.executable, "-m", "qmd_py", "index", "--no-embed", "--index", str(shelf.index)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, preexec_fn=limited(100_000)
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"qmd: index {shelf.index}: ")
    assert done.stderr.count("\n") == 1
    assert whole(shelf.index)
    assert shelf.hits("apples") == ["a.md"]
    assert shelf("index", "--no-embed").exit_code == 0
    assert len(shelf.hits("bread", "-n", "99")) == 30


def test_a_temporary_folder_that_is_not_there_stops_nothing(tmp_path: Path) -> None:
    shelf = Shelf.of(tmp_path, {"a.md": "apples"})
    write(shelf.folder, {f"{at}.md": f"bread {at}" for at in range(30)})
    env = {**os.environ, "SQLITE_TMPDIR": "/nowhere", "TMPDIR": "/nowhere"}
    for words in (["index", "--no-embed"], ["search", "bread"]):
        command = [sys.executable, "-m", "qmd_py", *words, "--index", str(shelf.index)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_log_beside_the_index_does_not_outlive_a_run(tmp_path: Path) -> None:
    shelf = Shelf.of(tmp_path, {})
    write(shelf.folder, {f"{at}.md": f"bread {at} " * 50 for at in range(250)})
    log = Path(f"{shelf.index}-wal")
    with Reader.open(shelf.index) as store:
        store.rows("SELECT * FROM notes")  # a reader that stays keeps SQLite from clearing the log
        assert shelf("index", "--no-embed").exit_code == 0
        assert shelf("index", "--no-embed").exit_code == 0
    assert shelf("search", "bread").exit_code == 0
    write(shelf.folder, {"new.md": "apples"})
    shelf("index", "--no-embed")
    assert not log.exists() or log.stat().st_size < 100_000


def test_a_process_that_goes_on_sees_what_others_index(
    qmd: Qmd, folder: Path, isolated: Path, fake: FakeEmbedder
) -> None:
    write(folder, {"a.md": "apples", "b.md": "bread"})
    qmd("index", folder)
    with Reader.open(isolated / "index.sqlite") as store:

        def ask(question: str) -> str:
            found = hybrid(store, question, Ask(), Models(fake), NOW)
            assert not [text for text in found.skipped if text.startswith("dense")]
            return found.hits[0].path

        assert ask("apples") == "a.md"
        write(folder, {"c.md": "apples and pears"})
        (folder / "a.md").unlink()
        qmd("index")
        assert ask("apples") == "c.md"


def test_an_index_deleted_by_hand_is_made_again(
    qmd: Qmd, folder: Path, isolated: Path, fake: FakeEmbedder
) -> None:
    write(folder, {"a.md": "apples", "b.md": "bread"})
    qmd("index", folder)
    holding = sqlite3.connect(isolated / "index.sqlite")  # so that its side files are there
    holding.execute("SELECT * FROM notes").fetchone()
    beside = [file for file in isolated.iterdir() if file.name.startswith("index.sqlite")]
    assert len(beside) >= 4
    (isolated / "index.sqlite").unlink()
    said(qmd("search", "apples"))
    (folder / "a.md").unlink()
    assert qmd("index", folder).exit_code == 0
    assert paths(qmd("vsearch", "bread", "--json")) == ["b.md"]
    assert paths(qmd("search", "apples bread", "--json")) == ["b.md"]
    assert whole(isolated / "index.sqlite")
    holding.close()


INTERRUPTED = """
    import os, signal, sys
    from qmd_py.store.writer import Writer
    # a job in the background is started with interrupts ignored
    signal.signal(signal.SIGINT, signal.default_int_handler)
    plain, done, moment = Writer.put_note, 0, int(sys.argv.pop(1))
    def interrupted(*args, **more):
        global done
        done += 1
        if done == moment:
            os.kill(os.getpid(), signal.SIGINT)
        return plain(*args, **more)
    Writer.put_note = interrupted
    from qmd_py.cli import main
    main()
"""


@pytest.mark.parametrize("moment", [1, 249])
def test_an_interrupt_leaves_what_was_done_and_the_next_run_ends_it(
    tmp_path: Path, moment: int
) -> None:
    shelf = Shelf.of(tmp_path, {})
    write(shelf.folder, {f"{at:03}.md": f"bread {at}" for at in range(250)})
    command = [sys.executable, "-c", textwrap.dedent(INTERRUPTED), str(moment)]
    done = subprocess.run(
        [*command, "index", "--no-embed", "--index", str(shelf.index)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
    assert whole(shelf.index)
    assert shelf("index", "--no-embed").exit_code == 0
    assert len(shelf.answer("ls")) == 250
