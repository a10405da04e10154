import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from qmd_py import embedding, indexing, processors, registry, vectors
from qmd_py.config import Settings
from qmd_py.embedded import BuiltIn
from qmd_py.errors import Busy
from qmd_py.meaning import fingerprint
from qmd_py.models import Embedder
from qmd_py.passages import passage
from qmd_py.reports import EmbedReport
from qmd_py.store import embeddings
from qmd_py.store.embeddings import Space
from qmd_py.store.reader import Reader
from qmd_py.store.writer import Writer
from qmd_py.vectors import VectorFile
from tests.fakes import FailingEmbedder, FakeEmbedder

if TYPE_CHECKING:
    from typer.testing import Result

Qmd = Callable[..., "Result"]

ALL = 1_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Writer]:
    with Writer.open(tmp_path / "index.sqlite") as opened:
        yield opened


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeEmbedder:
    """Commands use this embedder in place of the built-in one."""
    made = FakeEmbedder()
    monkeypatch.setattr("qmd_py.embedded.BuiltIn", lambda threads: made)
    return made


def put(store: Writer, folder: Path, notes: dict[str, str]) -> None:
    for name, text in notes.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    index(store, folder)


def index(store: Writer, folder: Path) -> None:
    indexing.update(store, registry.collection_for(store, folder), Settings())


def texts(store: Reader) -> dict[bytes, str]:
    """Every passage of the index, by its key."""
    none = Space(-1, "", 0, "", 0)
    found = embeddings.pending(store, none, 0, ALL)
    return {one.key: passage(one.title, one.aliases, one.toc_path, one.text) for one in found}


def stored(store: Reader, embedder: Embedder) -> dict[bytes, "np.ndarray[tuple[int], np.dtype]"]:
    """Every vector that counts, by its passage's key; as a search would read it."""
    space = embeddings.space_of(store, fingerprint(store, embedder))
    if space is None:
        return {}
    matrix = VectorFile(store.file.with_name(space.file), space.dimensions).rows(space.rows)
    with sqlite3.connect(store.file) as connection:
        rows = connection.execute(
            "SELECT key, row FROM vectors WHERE space = ? AND row IS NOT NULL", [space.id]
        ).fetchall()
    connection.close()
    return {key: matrix[row] for key, row in rows}


def wrong(store: Reader, embedder: Embedder) -> list[str]:
    """The passages whose stored vector is not the one the model gives them."""
    found = stored(store, embedder)
    passages = {key: text for key, text in texts(store).items() if key in found}
    if not passages:
        return []
    fresh = embedder.passages(list(passages.values()))
    pairs = zip(passages.items(), fresh, strict=True)
    return [text for (key, text), row in pairs if not np.allclose(found[key], row, atol=1e-4)]


NOTES = {
    f"{n}.md": f"# Note {n}\n\nAbout number {n}.\n\n# More\n\nAnd so on {n}.\n" for n in range(7)
}


def test_every_passage_gets_its_own_vector(store: Writer, folder: Path) -> None:
    put(store, folder, NOTES)
    report = embedding.embed(store, FakeEmbedder())
    assert report == EmbedReport(embedded=14, failed=0, pending=0)
    assert set(stored(store, FakeEmbedder())) == set(texts(store))
    assert wrong(store, FakeEmbedder()) == []


def test_a_model_reads_breadcrumb_with_aliases_and_text(store: Writer, folder: Path) -> None:
    put(store, folder, {"a.md": "---\naliases: [B, C]\n---\n# One\n\nx\n\n# Two\n\n## Three\n\ny"})
    embedder = FakeEmbedder()
    embedding.embed(store, embedder)
    assert embedder.seen[-1] == "a (B, C) > Two > Three\n\ny"


def test_embedding_again_does_nothing(store: Writer, folder: Path) -> None:
    put(store, folder, NOTES)
    embedding.embed(store, FakeEmbedder())
    again = FakeEmbedder()
    assert embedding.embed(store, again) == EmbedReport()
    assert again.seen == []


TITLED = {name: f"---\ntitle: T\n---\n{text}" for name, text in NOTES.items()}


@pytest.mark.parametrize(
    ("change", "count"),
    [
        pytest.param(lambda file: file.rename(file.with_name("z.md")), 0, id="renamed"),
        pytest.param(lambda file: file.rename(file.parent / "sub" / "0.md"), 0, id="moved"),
        pytest.param(lambda file: shutil.copy(file, file.with_name("c.md")), 0, id="copied"),
        pytest.param(lambda file: file.unlink(), 0, id="deleted"),
        pytest.param(lambda file: os.utime(file, (1, 1)), 0, id="touched"),
        pytest.param(
            lambda file: file.write_text(TITLED["0.md"] + "Edited."), 1, id="edited in one section"
        ),
        pytest.param(
            lambda file: file.write_text(TITLED["0.md"].replace("# Note", "# New\n\nx\n\n# Note")),
            1,
            id="with a section before the others",
        ),
    ],
)
def test_only_new_text_is_embedded(store: Writer, folder: Path, change, count: int) -> None:
    put(store, folder, {**TITLED, "sub/x.md": "x"})
    embedding.embed(store, FakeEmbedder())
    change(folder / "0.md")
    index(store, folder)
    again = FakeEmbedder()
    assert embedding.embed(store, again).embedded == len(again.seen) == count
    assert wrong(store, again) == []


def test_a_note_that_comes_back_is_not_embedded_again(store: Writer, folder: Path) -> None:
    put(store, folder, NOTES)
    embedding.embed(store, FakeEmbedder())
    (folder / "0.md").unlink()
    index(store, folder)
    again = FakeEmbedder()
    put(store, folder, {"0.md": NOTES["0.md"]})
    assert embedding.embed(store, again) == EmbedReport()
    assert again.seen == []


def test_equal_passages_are_embedded_once(store: Writer, folder: Path) -> None:
    same = "---\ntitle: Same\n---\nThe very same words.\n"
    put(store, folder, {f"{n}/note.md": same for n in range(9)})
    embedder = FakeEmbedder()
    assert embedding.embed(store, embedder) == EmbedReport(embedded=1)
    assert len(embedder.seen) == 1


def test_embedding_for_a_while_goes_on_the_next_time(store: Writer, folder: Path) -> None:
    put(store, folder, NOTES)
    assert embedding.embed(store, FakeEmbedder(), seconds=0) == EmbedReport(pending=14)
    rounds = []
    while embedding.waiting(store, FakeEmbedder()):
        clock = iter([0.0, 0.0, 9.0])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("time.monotonic", lambda clock=clock: next(clock))
            rounds.append(embedding.embed(store, FakeEmbedder(), seconds=5))
    assert [report.pending for report in rounds] == [10, 6, 2, 0][: len(rounds)]
    assert wrong(store, FakeEmbedder()) == []


def test_progress_counts_up_to_all(store: Writer, folder: Path) -> None:
    put(store, folder, NOTES)
    seen: list[tuple[int, int]] = []
    embedding.embed(store, FakeEmbedder(), progress=lambda done, all_: seen.append((done, all_)))
    assert seen == [(0, 14), (4, 14), (8, 14), (12, 14), (14, 14)]


def test_notes_that_come_while_embedding_are_counted(store: Writer, folder: Path) -> None:
    put(store, folder, NOTES)

    def more(done: int, _: int) -> None:
        if done == 4:
            put(store, folder, {"z.md": "One more."})

    assert embedding.embed(store, FakeEmbedder(), progress=more) == EmbedReport(embedded=15)


@pytest.mark.parametrize("value", [float("nan"), 0.0, float("inf"), 3.0])
def test_a_bad_vector_is_counted_and_spoils_no_other(
    store: Writer, folder: Path, value: float
) -> None:
    put(store, folder, {**NOTES, "3.md": "# Bad\n\npoison"})
    embedder = FailingEmbedder("poison", value)
    assert embedding.embed(store, embedder) == EmbedReport(embedded=12, failed=1)
    assert len(stored(store, embedder)) == 12
    assert wrong(store, embedder) == []


def test_what_failed_is_tried_again_by_the_next_embedding_only(store: Writer, folder: Path) -> None:
    put(store, folder, {"a.md": "poison", "b.md": "bread"})
    embedder = FailingEmbedder()
    embedding.embed(store, embedder)
    assert embedding.waiting(store, embedder) == 0
    assert embedding.embed(store, embedder) == EmbedReport(failed=1)
    embedder.cure()
    assert embedding.embed(store, embedder) == EmbedReport(embedded=1)
    assert wrong(store, embedder) == []


def test_vectors_of_two_models_are_kept_apart(store: Writer, folder: Path) -> None:
    put(store, folder, NOTES)
    one, two = FakeEmbedder("one"), FakeEmbedder("two")
    embedding.embed(store, one)
    assert embedding.waiting(store, two) == 14
    embedding.embed(store, two)
    assert len(stored(store, one)) == len(stored(store, two)) == 14
    assert embedding.drop_others(store, two) == 1
    assert (len(stored(store, one)), len(stored(store, two))) == (0, 14)
    assert len(list(store.file.parent.glob("*.vectors-*"))) == 1


def test_starting_anew_embeds_everything_again(store: Writer, folder: Path) -> None:
    put(store, folder, NOTES)
    embedding.embed(store, FakeEmbedder())
    (space,) = embeddings.spaces(store)
    store.file.with_name(space.file).write_bytes(b"damaged")
    embedding.start_anew(store, FakeEmbedder())
    assert embedding.embed(store, FakeEmbedder()) == EmbedReport(embedded=14)
    assert wrong(store, FakeEmbedder()) == []


@pytest.mark.parametrize("act", [embedding.embed, embedding.start_anew, embedding.drop_others])
def test_only_one_may_change_the_vectors(store: Writer, folder: Path, act) -> None:
    put(store, folder, NOTES)
    embedding.embed(store, FakeEmbedder("one"))
    lock = store.file.with_name("index.sqlite.embedding")
    with vectors.locked(lock), pytest.raises(Busy):
        act(store, FakeEmbedder("two" if act is embedding.drop_others else "one"))
    assert len(stored(store, FakeEmbedder("one"))) == 14


def test_an_end_between_file_and_index_loses_one_batch(
    store: Writer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, folder, NOTES)
    real, calls = embeddings.add_vectors, iter([False, True])

    def stops(store: Writer, space: Space, rows: Sequence[tuple[bytes, int | None]]) -> None:
        if next(calls):
            raise KeyboardInterrupt
        real(store, space, rows)

    with monkeypatch.context() as patch:
        patch.setattr(embeddings, "add_vectors", stops)
        with pytest.raises(KeyboardInterrupt):
            embedding.embed(store, FakeEmbedder())
    (space,) = embeddings.spaces(store)
    assert store.file.with_name(space.file).stat().st_size == 8 * 64 * 4
    assert len(stored(store, FakeEmbedder())) == 4
    assert wrong(store, FakeEmbedder()) == []
    assert embedding.embed(store, FakeEmbedder()) == EmbedReport(embedded=10)
    assert wrong(store, FakeEmbedder()) == []


SLOW = """
import time
from qmd_py import embedded
from qmd_py.cli import main
from tests.fakes import FakeEmbedder

class Slow(FakeEmbedder):
    def passages(self, texts):
        time.sleep(0.004)
        return super().passages(texts)

embedded.BuiltIn = lambda threads: Slow()
main()
"""


def kill_embedding(file: Path, after: float) -> bool:
    """Run `qmd embed` and kill it some seconds after it began; whether it was still at it."""
    lock = file.with_name(f"{file.name}.embedding")
    lock.unlink(missing_ok=True)
    command = [sys.executable, "-c", SLOW, "embed", "--index", str(file)]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=env) as process:
        while not lock.exists() and process.poll() is None:
            time.sleep(0.001)
        time.sleep(after)
        process.kill()
    return process.returncode != 0


def test_a_killed_process_never_leaves_a_wrong_vector(store: Writer, folder: Path) -> None:
    put(store, folder, {f"{n}.md": f"# A\n\nOf {n}.\n\n# B\n\nOn {n}.\n" for n in range(20)})
    moments = random.Random(3)
    cut = halfway = 0
    for _ in range(30):
        cut += kill_embedding(store.file, moments.uniform(0, 0.1))
        assert wrong(store, FakeEmbedder()) == []
        left = embedding.waiting(store, FakeEmbedder())
        halfway += 0 < left < 40
        if not left:
            embedding.start_anew(store, FakeEmbedder())
    assert min(cut, halfway) >= 5  # else it was not tried
    embedding.embed(store, FakeEmbedder())
    assert set(stored(store, FakeEmbedder())) == set(texts(store))
    assert wrong(store, FakeEmbedder()) == []


PASSAGES = (
    "Backups\n\nCopy the folder to another disk every week.",
    "Bread\n\nKnead the dough and let it rise overnight.",
    "Ссылки\n\nДве квадратные скобки ведут к другой заметке.",
    "Keyboard\n\nPress Ctrl and K to open the command palette.",
    "Garden\n\nPrune the roses late in winter, before they bud.",
)


@pytest.fixture(scope="module")
def built_in() -> BuiltIn:
    return BuiltIn(processors.threads())


def test_the_built_in_model_gives_unit_vectors(built_in: BuiltIn) -> None:
    rows = built_in.passages(PASSAGES)
    assert rows.shape == (5, built_in.dimensions) == (5, 384)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-3)
    assert np.allclose(np.linalg.norm(built_in.queries(["?"]), axis=1), 1, atol=1e-3)


def test_a_batch_gives_what_one_by_one_gives(built_in: BuiltIn) -> None:
    single = np.concatenate([built_in.passages([text]) for text in PASSAGES])
    assert np.allclose(built_in.passages(PASSAGES), single, atol=1e-4)


@pytest.mark.parametrize(
    ("question", "nearest"),
    [
        pytest.param("когда обрезать розы", 4, id="Russian to English"),
        pytest.param("как замесить тесто для хлеба", 1, id="Russian to English again"),
        pytest.param("how do I link to another note", 2, id="English to Russian"),
        pytest.param("what keys open the palette", 3, id="English to English"),
    ],
)
def test_a_question_is_nearest_to_what_answers_it(
    built_in: BuiltIn, question: str, nearest: int
) -> None:
    scores = built_in.passages(PASSAGES) @ built_in.queries([question])[0]
    assert int(scores.argmax()) == nearest


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a\0b", id="a NUL"),
        pytest.param("caf\udce9", id="a lone surrogate"),
        pytest.param("word " * 600, id="above 512 tokens"),
        pytest.param("的" * 600, id="a long run without spaces"),
        pytest.param("x" * 1400, id="one long word"),
        pytest.param("", id="nothing"),
    ],
)
def test_odd_texts_have_vectors_too(built_in: BuiltIn, text: str) -> None:
    assert vectors.usable(built_in.passages([text])).all()


def test_embed_tells_what_it_did(qmd: Qmd, folder: Path, fake: FakeEmbedder) -> None:
    for name, text in NOTES.items():
        (folder / name).write_text(text)
    qmd("index", "--no-embed", folder)
    first = qmd("embed")
    assert (first.exit_code, first.stderr) == (0, "")
    assert "14" in first.stdout
    again = qmd("embed")
    assert (again.exit_code, again.stderr) == (0, "")
    assert len(fake.seen) == 14
    assert qmd("embed", "--force").exit_code == 0
    assert len(fake.seen) == 28


def test_index_embeds_after_the_words_and_only_what_is_new(
    qmd: Qmd, folder: Path, fake: FakeEmbedder
) -> None:
    (folder / "a.md").write_text("apples")
    shown = qmd("index", folder)
    assert shown.exit_code == 0
    assert shown.stdout.splitlines()[0] == "notes: 1 new"
    (folder / "b.md").write_text("bread")
    qmd("index")
    assert fake.seen == ["a\n\napples", "b\n\nbread"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(["--for", "soon"], "'soon' is not a time: write 30s, 5m or 1h", id="no time"),
        pytest.param(["--for", "-1"], "'-1' is not a time", id="a negative time"),
        pytest.param([], "no index at", id="no index"),
    ],
)
def test_embed_refuses(qmd: Qmd, isolated: Path, args: list[str], message: str) -> None:
    shown = qmd("embed", *args)
    assert shown.exit_code == 2
    assert shown.stdout == ""
    assert shown.stderr.startswith(f"qmd: {message}")
    assert list(isolated.iterdir()) == []


@pytest.mark.parametrize("time", ["30s", "5m", "1h", "20", "0.5h"])
def test_embed_for_a_time(qmd: Qmd, folder: Path, fake: FakeEmbedder, time: str) -> None:
    (folder / "a.md").write_text("apples")
    qmd("index", "--no-embed", folder)
    assert qmd("embed", "--for", time).exit_code == 0
    assert len(fake.seen) == 1


def test_embed_names_what_failed(qmd: Qmd, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qmd_py.embedded.BuiltIn", lambda threads: FailingEmbedder())
    (folder / "a.md").write_text("poison")
    (folder / "b.md").write_text("bread")
    qmd("index", "--no-embed", folder)
    shown = qmd("embed")
    assert shown.exit_code == 2
    assert "1 passages gave no usable vector" in shown.stderr
    assert qmd("search", "poison").exit_code == 0


def test_without_the_embedder_words_are_indexed_and_it_is_told(
    qmd: Qmd, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "qmd_py.embedded", None)
    (folder / "a.md").write_text("apples")
    shown = qmd("index", folder)
    assert shown.exit_code == 0
    assert shown.stderr.startswith("qmd: skipped dense: no built-in embedder on this machine")
    assert qmd("query", "apples").exit_code == 0
    for command in ("embed", "vsearch apples"):
        shown = qmd(*command.split())
        assert (shown.exit_code, shown.stdout) == (2, "")
        assert "embedder on this machine" in shown.stderr


def test_what_waits_is_known_without_counting_only_while_nothing_was_put(
    store: Writer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, folder, NOTES)
    embedding.embed(store, FakeEmbedder())
    with monkeypatch.context() as patch:
        patch.setattr(embeddings, "count_pending", lambda *_: pytest.fail("counted"))
        assert embedding.waiting(store, FakeEmbedder()) == 0
    put(store, folder, {"0.md": "# Note 0\n\nSomething else.\n"})
    assert embedding.waiting(store, FakeEmbedder()) == 1
    embedding.embed(store, FakeEmbedder())
    assert embedding.waiting(store, FakeEmbedder()) == 0
    space = embeddings.space_of(store, fingerprint(store, FakeEmbedder()))
    assert space is not None
    with store.batch():
        store.execute("UPDATE vectors SET row = NULL WHERE row = 3")
        embeddings.drop_failed(store, space)
    assert embedding.waiting(store, FakeEmbedder()) == 1
