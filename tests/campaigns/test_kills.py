"""SIGKILL and SIGINT at random moments: nothing is lost, and the next run completes.

A few each in the default run; `pytest -m campaign tests/campaigns` does a hundred and more.
"""

import contextlib
import random
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from signal import Signals

import numpy as np
import pytest

from qmd_py import catalogue, download, embedding, indexing, registry
from qmd_py.cache import Cache
from qmd_py.catalogue import Hub, ModelSpec
from qmd_py.config import Settings
from qmd_py.store import embeddings
from qmd_py.store.reader import Reader
from qmd_py.store.writer import Writer
from tests.campaigns.children import Child, Ended, command, contents, sound
from tests.campaigns.conftest import Tally
from tests.fakes import FakeEmbedder
from tests.tiny import TinyHub, write_gguf

ROUNDS = pytest.mark.parametrize("rounds", [3, pytest.param(100, marks=pytest.mark.campaign)])
SIGNALS = pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=lambda n: n.name)
WORDS = [
    "apples",
    "bread",
    "cats",
    "dough",
    "eels",
    "figs",
    "grapes",
    "herbs",
    "ink",
    "jam",
    "keys",
    "limes",
]


class Notes:
    """A folder that changes from round to round, always in the same way."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._dice = random.Random(7)
        for number in range(60):
            self._write(number)

    def change(self) -> set[str]:
        """Edit, delete and add some notes; their names."""
        touched = self._dice.sample(range(80), 30)
        for number in touched:
            file = self.folder / f"{number}.md"
            if file.exists() and self._dice.random() < 0.2:
                file.unlink()
            else:
                self._write(number)
        return {f"{number}.md" for number in touched}

    def _write(self, number: int) -> None:
        sections = (
            f"# {self._dice.choice(WORDS)} {self._dice.random()}\n\n" + self._sentence()
            for _ in range(self._dice.randint(1, 6))
        )
        (self.folder / f"{number}.md").write_text("\n".join(sections))

    def _sentence(self) -> str:
        return " ".join(self._dice.choices(WORDS, k=40)) + ".\n"


def checked(ended: Ended) -> Ended:
    """No child may end in any way but the three."""
    assert ended.status in {0, 130, -signal.SIGKILL}, ended
    assert "Traceback" not in ended.said
    return ended


def tried(cut: int, rounds: int) -> bool:
    """Whether signals came in time; of a few rounds, chance may let all come too late."""
    return rounds < 100 or cut >= rounds / 3


def update(file: Path, folder: Path) -> None:
    with Writer.open(file) as store:
        indexing.update(store, registry.collection_for(store, folder), Settings())


def moments(work: Callable[[], object], log: Path, times: int = 3) -> Callable[[], float]:
    """Random moments of some work that does the same each time: how long it took, undisturbed."""
    dice = random.Random(11)
    begun = time.monotonic()
    for _ in range(times):
        assert Child(work, log).end().status == 0
    longest = (time.monotonic() - begun) / times
    return lambda: dice.uniform(0, 1.1 * longest)


@ROUNDS
@SIGNALS
def test_index(folder: Path, tmp_path: Path, tally: Tally, number: Signals, rounds: int) -> None:
    notes, log = Notes(folder), tmp_path / "log"
    file, undisturbed = tmp_path / "index.sqlite", tmp_path / "undisturbed.sqlite"
    for one in (file, undisturbed):
        update(one, folder)
    work = command("index", "--no-embed", folder, "--index", file)
    notes.change()
    moment = _usual_time(work, log)
    update(undisturbed, folder)
    cut = 0
    for _ in range(rounds):
        before = contents(file)
        touched = notes.change()
        ended = checked(Child(work, log).after(moment(), number))
        cut += ended.cut
        assert sound(file)
        held = contents(file)
        lost = [p for p, note in before.items() if p not in touched and held.get(p) != note]
        assert lost == []
        assert checked(Child(work, log).end()).status == 0
        update(undisturbed, folder)
        assert contents(file) == contents(undisturbed)
    assert tried(cut, rounds)
    tally(f"index, {number.name}", runs=rounds, cut_short=cut, rows_lost=0)


def _usual_time(work: Callable[[], object], log: Path) -> Callable[[], float]:
    return moments(work, log, times=1)


@ROUNDS
@SIGNALS
def test_embed(
    folder: Path,
    tmp_path: Path,
    tally: Tally,
    number: Signals,
    rounds: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("qmd_py.embedded.BuiltIn", lambda threads: FakeEmbedder())
    notes, log, file = Notes(folder), tmp_path / "log", tmp_path / "index.sqlite"
    update(file, folder)
    prune = command("embed", "--prune", "--index", file)
    assert Child(prune, log).end().status == 0
    notes.change()
    update(file, folder)
    moment = _usual_time(prune, log)
    cut = 0
    for _ in range(rounds):
        before = vectors(file)
        notes.change()
        update(file, folder)
        ended = checked(Child(prune, log).after(moment(), number))
        cut += ended.cut
        assert sound(file)
        wanted = {one.key for one in passages(file)}
        held = vectors(file)
        assert [key for key in before if key in wanted and held.get(key) != before[key]] == []
        assert checked(Child(prune, log).end()).status == 0
        assert vectors(file) == {one.key: vector_of(one) for one in passages(file)}
        assert len(list(tmp_path.glob("*.vectors-*"))) <= 2
    assert tried(cut, rounds)
    tally(f"embed --prune, {number.name}", runs=rounds, cut_short=cut, rows_lost=0)


def passages(file: Path) -> list[embeddings.Pending]:
    """Every passage of the index, whether it has a vector or not."""
    nothing = embeddings.Space(-1, "", 64, "", 0)
    with Reader.open(file) as store:
        return embeddings.pending(store, nothing, 0, 1_000_000)


def vectors(file: Path) -> dict[bytes, bytes]:
    """Key of each passage with a vector → the vector."""
    with Reader.open(file) as store:
        for space in embeddings.spaces(store):
            rows = store.rows("SELECT key, row FROM vectors WHERE row IS NOT NULL")
            if not rows:
                return {}
            matrix = np.fromfile(file.with_name(space.file), dtype="<f4").reshape(-1, 64)
            return {key: matrix[row].tobytes() for key, row in rows}
    return {}


def vector_of(one: embeddings.Pending) -> bytes:
    found: bytes = FakeEmbedder().passages([embedding._passage(one)])[0].tobytes()
    return found


SPEC = ModelSpec("expand", "tiny", Hub("o/r", "x.gguf", "main"))


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[TinyHub]:
    tiny = TinyHub()
    tiny.files["x.gguf"] = write_gguf(tmp_path / "source.gguf", weights=400_000).read_bytes()
    yield tiny
    tiny.close()


@ROUNDS
@SIGNALS
def test_pull(tmp_path: Path, hub: TinyHub, tally: Tally, number: Signals, rounds: int) -> None:
    folder, log = tmp_path / "models", tmp_path / "log"

    def pull() -> Path:
        return download.pull(SPEC, folder, hub=hub.url)

    def pull_and_remove() -> None:
        pull()
        download.remove(SPEC, folder)

    content = pull().read_bytes()  # what it imports is imported
    download.remove(SPEC, folder)
    moment = moments(pull_and_remove, log)
    cut = 0
    for _ in range(rounds):
        ended = Child(pull, log).after(moment(), number)
        cut += ended.cut
        checked(ended)
        assert _model(folder) in {None, content}
        assert pull().read_bytes() == content
        left = sorted(path.name for path in folder.rglob("*") if path.is_file())
        assert left == ["x.gguf", "x.gguf.sha256"]
        download.verify(SPEC, next(folder.rglob("*.gguf")))
        download.remove(SPEC, folder)
    assert tried(cut, rounds)
    tally(f"models pull, {number.name}", runs=rounds, cut_short=cut, files_spoilt=0)


def _model(folder: Path) -> bytes | None:
    file = catalogue.file_of(SPEC, folder)
    return file.read_bytes() if file and file.exists() else None


@ROUNDS
@SIGNALS
def test_cache(tmp_path: Path, tally: Tally, number: Signals, rounds: int) -> None:
    file, log, done = tmp_path / "answers.sqlite", tmp_path / "log", tmp_path / "done"
    dice, written, cut = random.Random(5), 0, 0
    for turn in range(rounds):

        def write(turn: int = turn) -> None:
            with Cache(file) as cache, done.open("w") as told:
                for at in range(100_000):
                    cache.put_scores("f", f"{turn} {at}", {b"a": 0.25, b"b": 0.5})
                    assert cache.problem is None, cache.problem
                    print(at, file=told, flush=True)

        done.write_text("")
        ended = checked(Child(write, log).after(dice.uniform(0, 0.15), number))
        cut += ended.cut
        if file.exists():
            assert sound(file)
        kept = done.read_text().split("\n")[:-1]
        with Cache(file) as cache:
            for at in kept:
                assert cache.scores("f", f"{turn} {at}", [b"a", b"b"]) == {b"a": 0.25, b"b": 0.5}
            assert cache.problem is None
        written += len(kept)
    assert cut == rounds
    assert written
    tally(
        f"cache writes, {number.name}",
        runs=rounds,
        cut_short=cut,
        answers_kept=written,
        rows_lost=0,
    )
    with contextlib.closing(sqlite3.connect(file)) as db:
        assert db.execute("SELECT count(*) FROM scores").fetchone()[0] >= 2 * written
