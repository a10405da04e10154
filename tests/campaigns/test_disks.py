"""Full disks, folders that may not be written, folders that vanish, and many processes at once."""

import gc
import os
import random
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qmd_py.errors import QmdError
from qmd_py.store.reader import Reader
from qmd_py.store.writer import Writer
from tests.campaigns.children import Child, Ended, command, contents, sound
from tests.campaigns.conftest import Tally
from tests.campaigns.nobody import as_nobody, open_to_all
from tests.campaigns.test_kills import Notes, passages, update, vector_of, vectors
from tests.fakes import FakeEmbedder

if TYPE_CHECKING:
    from typer.testing import Result

Qmd = Callable[..., "Result"]
ROUNDS = pytest.mark.parametrize("rounds", [2, pytest.param(25, marks=pytest.mark.campaign)])
ROOT = pytest.mark.skipif(os.getuid() != 0, reason="needs root's rights, and drops them")


def within(size: int, work: Callable[[], None]) -> Callable[[], None]:
    """Some work that can make no file longer than that, as on a disk that is full."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        work()

    return limited


@ROUNDS
def test_no_room_to_write(
    folder: Path, tmp_path: Path, tally: Tally, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qmd_py.embedded.BuiltIn", lambda threads: FakeEmbedder())
    notes, log, dice = Notes(folder), tmp_path / "log", random.Random(3)
    file, undisturbed = tmp_path / "index.sqlite", tmp_path / "undisturbed.sqlite"
    for one in (file, undisturbed):
        update(one, folder)
    work, refused = command("index", folder, "--index", file), 0
    for _ in range(rounds):
        before, touched = contents(file), notes.change()
        ended = Child(within(dice.randrange(0, 2 * file.stat().st_size), work), log).end()
        assert ended.status in {0, 2}, ended
        assert "Traceback" not in ended.said
        refused += ended.status == 2
        assert ended.status == 0 or ended.said.startswith("qmd: ")
        assert sound(file)
        held = contents(file)
        assert [p for p, note in before.items() if p not in touched and held.get(p) != note] == []
        assert Child(work, log).end().status == 0
        update(undisturbed, folder)
        assert contents(file) == contents(undisturbed)
        wanted = {one.key: vector_of(one) for one in passages(file)}
        assert {key: row for key, row in vectors(file).items() if key in wanted} == wanted
    assert refused
    tally("no room to write", runs=rounds, refused=refused, rows_lost=0)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, of two megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no file system can be mounted here")
    yield place
    gc.collect()  # of failed commands, which hold files open
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_a_full_disk(qmd: Qmd, folder: Path, small_disk: Path) -> None:
    file = small_disk / "index.sqlite"
    (folder / "a.md").write_text("apples")
    assert qmd("index", "--no-embed", folder, "--index", file).exit_code == 0
    (folder / "b.md").write_text("".join(f"word{number} " for number in range(200_000)))
    full = qmd("index", "--no-embed", folder, "--index", file)
    assert full.exit_code == 2
    assert full.stderr.endswith("free some space and run the command again\n")
    (small_disk / "rest").write_bytes(b"x" * 1000)
    assert qmd("search", "apples", "--index", file).exit_code == 0
    assert qmd("section", "a.md", "--index", file).stdout == "apples\n"
    (folder / "b.md").write_text("bread")
    assert qmd("index", "--no-embed", folder, "--index", file).exit_code == 0
    assert sound(file)
    assert qmd("search", "bread", "--index", file).exit_code == 0


def test_a_disk_too_full_for_a_lock(qmd: Qmd, folder: Path, small_disk: Path) -> None:
    file = small_disk / "index.sqlite"
    (folder / "a.md").write_text("apples")
    qmd("index", "--no-embed", folder, "--index", file)
    try:
        for number in range(10_000):
            (small_disk / f"{number}").write_bytes(b"x" * 4096)
    except OSError:
        pass
    shown = qmd("embed", "--index", file)
    assert shown.exit_code == 2
    assert shown.stderr.count("\n") == 1, shown.stderr
    assert "Traceback" not in shown.stderr


@ROOT
def test_a_folder_that_may_only_be_read(qmd: Qmd, folder: Path, isolated: Path) -> None:
    (folder / "a.md").write_text("# Apples\n\napples\n")
    reads = ["search apples", "section a.md Apples", "toc a.md", "get a.md", "ls", "status",
             "collection list", "collection show notes"]  # fmt: skip
    writes = ["index --no-embed", "collection remove notes --force", "collection rename notes x"]
    qmd("index", "--no-embed", folder)
    for words in reads:
        assert qmd(*words.split()).exit_code == 0
    qmd("collection", "rename", "notes", "notes2")
    qmd("collection", "rename", "notes2", "notes")  # all that nobody may not read is imported
    open_to_all(isolated / "x")
    open_to_all(folder / "x")
    isolated.chmod(0o555)
    for file in isolated.iterdir():
        file.chmod(0o444)

    def each(words: str) -> str:
        shown = qmd(*words.split())
        return f"{shown.exit_code} {shown.stderr.count(chr(10))} {'Traceback' in shown.output}"

    found = [as_nobody(lambda words=words: each(words)) for words in reads + writes]  # type: ignore[misc]
    isolated.chmod(0o755)
    assert found == ["0 0 False"] * len(reads) + ["2 1 False"] * len(writes)


@ROOT
def test_notes_that_may_not_be_read(qmd: Qmd, folder: Path, isolated: Path) -> None:
    for name in ("a.md", "sub/b.md", "c.md"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("apples")
    qmd("index", "--no-embed", folder)
    (folder / "c.md").write_text("more apples")
    open_to_all(isolated / "x")
    open_to_all(folder / "x")
    isolated.chmod(0o777)
    for file in isolated.iterdir():
        file.chmod(0o666)
    (folder / "a.md").chmod(0)
    (folder / "a.md").touch()
    (folder / "sub").chmod(0)
    said = as_nobody(lambda: qmd("index", "--no-embed").stderr)
    (folder / "sub").chmod(0o755)
    assert f"qmd: cannot read {folder}/sub: Permission denied" in said
    assert f"qmd: cannot read {folder}/a.md: Permission denied" in said
    assert len(qmd("search", "apples", "--files").stdout.split()) == 3


@ROUNDS
def test_a_folder_that_vanishes_at_work(
    folder: Path, tmp_path: Path, tally: Tally, rounds: int
) -> None:
    notes, log, file = Notes(folder), tmp_path / "log", tmp_path / "index.sqlite"
    update(file, folder)
    work, dice = command("index", "--no-embed", "--index", file), random.Random(2)
    for _ in range(rounds):
        notes.change()
        assert Child(work, log).end().status == 0
        before = contents(file)
        for note in folder.iterdir():
            note.touch()
        child = Child(work, log)
        time.sleep(dice.uniform(0, 0.1))
        folder.rename(tmp_path / "away")
        ended = child.end()
        (tmp_path / "away").rename(folder)
        assert ended.status in {0, 2}
        assert "Traceback" not in ended.said
        assert contents(file) == before
    tally("folder vanishes", runs=rounds, rows_lost=0)


@ROUNDS
def test_files_replaced_while_they_are_read(
    folder: Path, tmp_path: Path, tally: Tally, rounds: int
) -> None:
    log, file = tmp_path / "log", tmp_path / "index.sqlite"
    texts = ["old apples " * 2000, "new bread\n" * 1500]

    def replace() -> None:
        while True:
            for number in range(30):
                for text in texts:
                    (tmp_path / "draft").write_text(text)
                    (tmp_path / "draft").replace(folder / f"{number}.md")

    writer = Child(replace, tmp_path / "other")
    try:
        while len(list(folder.iterdir())) < 30:
            time.sleep(0.01)
        for _ in range(rounds):
            ended = Child(command("index", "--no-embed", folder, "--index", file), log).end()
            assert (ended.status, ended.said) == (0, "")
            assert sound(file)
            for note, _ in contents(file).values():
                assert ("old" in str(note)) != ("new" in str(note))
    finally:
        os.kill(writer.pid, signal.SIGKILL)
        writer.end()
    assert Child(command("index", "--no-embed", folder, "--index", file), log).end().status == 0
    update(tmp_path / "fresh.sqlite", folder)
    assert {p: n for p, (n, _) in contents(file).items()}.keys() == {f"{n}.md" for n in range(30)}
    tally("files replaced while read", runs=rounds, half_read=0)


@pytest.mark.parametrize("moment", [0, 1, 4_000_000_000, -86_400])
def test_clocks_that_jump(
    qmd: Qmd, folder: Path, moment: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.md").write_text("apples")
    qmd("index", "--no-embed", folder)
    monkeypatch.setattr(time, "time", lambda: float(moment))
    (folder / "a.md").write_text("bread!")  # of the same size
    os.utime(folder / "a.md", (moment, moment))
    assert qmd("index", "--no-embed").stdout == "notes: 1 changed\n"
    assert qmd("index", "--no-embed").stdout == "notes: nothing changed, 1 note\n"
    shown = qmd("search", "bread", "--json")
    assert (shown.exit_code, '"stale": null' in shown.stdout) == (0, True)
    assert qmd("cache", "show").exit_code == 0


@ROUNDS
def test_eight_processes_make_one_new_index(
    folder: Path, tmp_path: Path, tally: Tally, rounds: int
) -> None:
    Notes(folder)
    update(tmp_path / "alone.sqlite", folder)
    for turn in range(rounds):
        file = tmp_path / f"{turn}/index.sqlite"
        work = command("index", "--no-embed", folder, "--index", file)
        children = [Child(work, tmp_path / f"log{number}") for number in range(8)]
        assert [(c.status, c.said) for c in (child.end() for child in children)] == [(0, "")] * 8
        assert sound(file)
        assert contents(file) == contents(tmp_path / "alone.sqlite")
    tally("eight make one index", runs=8 * rounds, failed=0)


@ROUNDS
def test_searching_while_others_index_embed_and_prune(
    folder: Path,
    tmp_path: Path,
    tally: Tally,
    rounds: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("qmd_py.embedded.BuiltIn", lambda threads: FakeEmbedder())
    notes, file = Notes(folder), tmp_path / "index.sqlite"
    (folder / "steady.md").write_text("# Steady\n\nzebras and yaks\n")
    update(file, folder)
    assert Child(command("embed", "--index", file), tmp_path / "log").end().status == 0

    def search() -> None:
        for _ in range(5):
            for mode in ("search", "vsearch"):
                _finds_the_steady_note(mode, file)

    for _ in range(rounds):
        notes.change()
        work = [
            command("index", folder, "--index", file),
            command("embed", "--prune", "--index", file),
        ]
        writer = Child(work[0], tmp_path / "log")
        children = [Child(search, tmp_path / f"log{number}") for number in range(2)]
        pruning = Child(work[1], tmp_path / "pruned")
        for child in children:
            assert child.end() == Ended(0, "")
        assert writer.end().status == 0
        ended = pruning.end()
        assert ended.status == 0 or "another qmd is embedding" in ended.said
    tally("searching meanwhile", runs=rounds, searches=20 * rounds, wrong=0)


def _finds_the_steady_note(mode: str, file: Path) -> None:
    import datetime

    from qmd_py.cli.searching import pipeline
    from qmd_py.models import Models
    from qmd_py.search.asking import Ask

    now = datetime.datetime.now(datetime.UTC)
    with Reader.open(file) as store, store.snapshot():
        found = pipeline(mode)(store, "zebras yaks", Ask(limit=1), Models(FakeEmbedder()), now)
    assert found.hits[0].path == "steady.md", (mode, found)


def test_a_reader_never_waits_for_long(folder: Path, tmp_path: Path) -> None:
    """A writer in the middle of a batch keeps no reader out."""
    Notes(folder)
    file = tmp_path / "index.sqlite"
    update(file, folder)
    with Writer.open(file) as store, store.batch():
        store.delete_note(1)
        with Reader.open(file) as reader:
            assert len(reader.notes([1])) == 1
        with pytest.raises(QmdError, match="another qmd is writing"):
            _impatient(file)


def _impatient(file: Path) -> None:
    from qmd_py.store import connection

    before, connection._PATIENCE = connection._PATIENCE, 0.1
    try:
        with Writer.open(file) as second, second.batch():
            pass
    finally:
        connection._PATIENCE = before
