"""`qmd doctor`: what is well, and every way in which it may not be; and giving back vectors' room."""

import contextlib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from qmd_py import checking, config, embedding, indexing, meaning, registry
from qmd_py.config import Settings
from qmd_py.llama import tiles
from qmd_py.llama.tiles import Tiles
from qmd_py.passages import passage
from qmd_py.query import Query
from qmd_py.records.answers import Scope
from qmd_py.store import embeddings
from qmd_py.store.reader import Reader
from qmd_py.store.writer import Writer
from tests.campaigns.nobody import as_nobody, open_to_all
from tests.fakes import FailingEmbedder, FakeEmbedder

if TYPE_CHECKING:
    from typer.testing import Result

Qmd = Callable[..., "Result"]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeEmbedder:
    """Commands use this embedder in place of the built-in one."""
    made = FakeEmbedder()
    monkeypatch.setattr("qmd_py.embedded.BuiltIn", lambda threads: made)
    return made


@pytest.fixture
def healthy(qmd: Qmd, folder: Path, fake: FakeEmbedder) -> Path:
    """An indexed and embedded folder."""
    for name in ("apples", "bread", "cats", "dough"):
        (folder / f"{name}.md").write_text(f"# {name}\n\nAbout {name}.\n\n# More\n\nOn {name}.\n")
    assert qmd("index", folder).exit_code == 0
    return folder


def findings(shown: "Result") -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(shown.stdout)["findings"]
    return found


def sql(file: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def test_all_is_well(qmd: Qmd, healthy: Path) -> None:
    shown = qmd("doctor", "--json")
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert json.loads(shown.stdout)["well"] is True
    told = findings(shown)
    good = [one["what"] for one in told if one["state"] == "good" and one["what"] != "tiles"]
    assert good == ["versions", "permissions", "index", "vectors", "model", "cache"]
    assert "3 made again, the same (1.000)" in qmd("doctor").stdout


def test_looking_changes_nothing(qmd: Qmd, healthy: Path, isolated: Path) -> None:
    def state() -> list[str]:
        with contextlib.closing(sqlite3.connect(isolated / "index.sqlite")) as connection:
            return [*connection.iterdump(), *sorted(path.name for path in isolated.iterdir())]

    before = state()
    qmd("doctor")
    assert state() == before


def test_without_an_index_it_names_the_first_step(qmd: Qmd, fake: FakeEmbedder) -> None:
    shown = qmd("doctor")
    assert shown.exit_code == 2
    assert "→ run 'qmd index DIR' first" in shown.stdout


def cut_index(home: Path, folder: Path) -> None:
    file = home / "index.sqlite"
    sql(file, "PRAGMA wal_checkpoint(TRUNCATE)")
    with file.open("r+b") as stream:
        stream.truncate(8 * 4096)


def write_over_pages(home: Path, folder: Path) -> None:
    file = home / "index.sqlite"
    sql(file, "PRAGMA wal_checkpoint(TRUNCATE)")
    with file.open("r+b") as stream:
        stream.seek(30 * 4096)
        stream.write(b"\xff" * 4096 * 8)


def no_index(home: Path, folder: Path) -> None:
    (home / "index.sqlite").write_text("not an index " * 1000)


def lose_terms(home: Path, folder: Path) -> None:
    sql(home / "index.sqlite", "DELETE FROM chunk_terms WHERE rowid = 1")


def spoil_terms(home: Path, folder: Path) -> None:
    sql(home / "index.sqlite", "UPDATE note_terms_content SET c3 = 'else' WHERE id = 1")


def lose_chunks(home: Path, folder: Path) -> None:
    sql(home / "index.sqlite", "DELETE FROM chunks WHERE pid = 1")


def forget_vectors(home: Path, folder: Path) -> None:
    sql(home / "index.sqlite", "DELETE FROM vectors WHERE row > 4")


def cut_vectors(home: Path, folder: Path) -> None:
    (file,) = home.glob("*.vectors-*")
    with file.open("r+b") as stream:
        stream.truncate(100)


def spoil_vectors(home: Path, folder: Path) -> None:
    (file,) = home.glob("*.vectors-*")
    rows = np.fromfile(file, dtype="<f4").reshape(-1, 64)
    rows[3] = np.nan
    rows.tofile(file)


def drift(home: Path, folder: Path) -> None:
    (file,) = home.glob("*.vectors-*")
    rows = np.fromfile(file, dtype="<f4").reshape(-1, 64)
    np.roll(rows, 1, axis=1).tofile(file)


def lose_folder(home: Path, folder: Path) -> None:
    shutil.rmtree(folder)


def no_cache(home: Path, folder: Path) -> None:
    (home / "qmd-py").mkdir()
    (home / "qmd-py/answers.sqlite").write_text("no cache " * 1000)


def no_model(home: Path, folder: Path) -> None:
    (home / "qmd-py").mkdir()
    (home / "qmd-py/config.toml").write_text('rerank = "gone.gguf"')


def other_settings(home: Path, folder: Path) -> None:
    (home / "qmd-py").mkdir()
    (home / "qmd-py/config.toml").write_text("chunk_chars = 900")


def two_settings(home: Path, folder: Path) -> None:
    sql(
        home / "index.sqlite",
        "UPDATE notes SET made_by = replace(made_by, ' en,', ' de,') WHERE pid = 1",
    )


@pytest.mark.parametrize(
    ("harm", "what", "step"),
    [
        (cut_index, "index", "delete"),
        (write_over_pages, "index", "delete"),
        (no_index, "index", "it is no index of qmd; choose another with --index"),
        (lose_terms, "index", "delete"),
        (spoil_terms, "index", "delete"),
        (lose_chunks, "index", "delete"),
        (forget_vectors, "vectors", "run 'qmd embed'"),
        (cut_vectors, "vectors", "run 'qmd embed --force' to make them anew"),
        (spoil_vectors, "vectors", "run 'qmd embed --force'"),
        (drift, "vectors", "run 'qmd embed --force'"),
        (lose_folder, "collection", "bring it back, or drop its notes with 'qmd index --prune'"),
        (no_cache, "cache", "run 'qmd cache clear', or delete it"),
        (no_model, "model", "check the path"),
        (other_settings, "settings", "run 'qmd index'"),
        (two_settings, "settings", "run 'qmd index'"),
    ],
)
def test_what_is_wrong_is_told_with_the_next_step(
    qmd: Qmd,
    healthy: Path,
    isolated: Path,
    harm: Callable[[Path, Path], None],
    what: str,
    step: str,
) -> None:
    harm(isolated, healthy)
    shown = qmd("doctor", "--json")
    assert (shown.exit_code, shown.stderr) == (2, ""), shown.output
    bad = [one for one in findings(shown) if one["state"] == "bad"]
    assert bad
    assert all(one["step"] for one in bad)
    assert any(one["what"] == what and one["step"].startswith(step) for one in bad), bad


def test_a_remark_is_no_fault(qmd: Qmd, healthy: Path) -> None:
    (healthy / "odd.md").write_text("---\na: [\n---\nodd")
    qmd("index", healthy)
    shown = qmd("doctor")
    assert shown.exit_code == 0
    assert "notes/odd.md: front matter is not YAML" in shown.stdout


def test_under_a_policy_no_note_is_named(
    qmd: Qmd, healthy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (healthy / "secret merger.md").write_text("---\na: [\n---\nodd")
    (healthy / "secret plan.md").write_text("# A\n\n```\n# B\n")
    qmd("index", healthy)
    qmd("context", "add", "notes/secret merger.md", "secret talks")
    qmd("context", "add", "notes", "all notes")
    policy = tmp_path / "policy.toml"
    policy.write_text('version = "1"\nlabels = []\nunlabelled = "closed"\n')
    for args in (["doctor"], ["status"], ["context", "list"]):
        assert "secret merger" in qmd(*args).stdout
    monkeypatch.setenv("QMD_POLICY", str(policy))
    for args in (["doctor"], ["status"], ["context", "list"], ["skill"]):
        for form in ([], ["--json"] if args != ["skill"] else []):
            shown = qmd(*args, *form)
            assert shown.exit_code == 0
            assert "secret" not in shown.output
    assert "2 have problems" in qmd("doctor").stdout
    assert "2 notes have problems" in qmd("status").stdout
    assert qmd("context", "list").stdout == "notes  all notes\n"


def test_a_model_on_a_server_is_named_with_its_address(
    qmd: Qmd, healthy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        '[defaults]\nrerank = "judge"\n[rerank.judge]\nengine = "http"\n'
        'source = "http://127.0.0.1:9/v1"\nmodel = "x"\n'
    )
    monkeypatch.setenv("QMD_MODELS", str(own))
    shown = qmd("doctor")
    assert shown.exit_code == 0, shown.stdout
    own.write_text(own.read_text() + 'key_env = "A_KEY"\n')
    bad = [one for one in findings(qmd("doctor", "--json")) if one["state"] == "bad"]
    assert [one["step"] for one in bad] == ["set A_KEY"]
    monkeypatch.setenv("A_KEY", "hidden")
    again = qmd("doctor")
    assert again.exit_code == 0
    assert "hidden" not in again.output
    assert "judge for rerank: at http://127.0.0.1:9/v1" in shown.stdout.replace(
        "reranking", "rerank"
    )


def test_an_embedder_on_a_server_that_is_away_is_told(
    qmd: Qmd, healthy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        '[defaults]\nembed = "mine"\n[embed.mine]\nengine = "http"\n'
        'source = "http://127.0.0.1:9/v1"\nmodel = "x"\n'
    )
    monkeypatch.setenv("QMD_MODELS", str(own))
    shown = qmd("doctor", "--json")
    assert shown.exit_code == 2
    assert "Traceback" not in shown.output
    bad = [one for one in findings(shown) if one["state"] == "bad"]
    assert bad
    assert all(one["step"] for one in bad)


def test_a_model_whose_vectors_have_another_length_is_told(
    qmd: Qmd, healthy: Path, fake: FakeEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = fake.passages
    monkeypatch.setattr(fake, "passages", lambda texts: whole(texts)[:, :32])
    shown = qmd("doctor", "--json")
    assert (shown.exit_code, shown.stderr) == (2, ""), shown.output
    (bad,) = [one for one in findings(shown) if one["state"] == "bad"]
    assert (bad["what"], bad["said"]) == (
        "vectors",
        "the model gives 32 numbers a vector, the index has 64",
    )
    assert bad["step"] == "run 'qmd embed --force' if it was changed on purpose"


def test_a_model_that_gives_nan_has_drifted(healthy: Path, isolated: Path) -> None:
    with Reader.open(isolated / "index.sqlite") as store:
        found = list(checking._vectors(store, FailingEmbedder("bread"), ()))
    assert [one.state for one in found] == ["bad"]


@pytest.mark.skipif(os.getuid() != 0, reason="drops root's rights, which see no permissions")
def test_a_folder_that_may_not_be_written_is_told(qmd: Qmd, healthy: Path, isolated: Path) -> None:
    def examined() -> str:
        found = checking.examine(config.load(os.environ), [], FakeEmbedder(), ())
        return "\n".join(f"{one.state} {one.said}" for one in found)

    assert "bad" not in examined()  # and all that nobody may not read is imported
    open_to_all(isolated / "x")
    isolated.chmod(0o555)
    for file in isolated.iterdir():
        file.chmod(0o444)
    said = as_nobody(examined).split("\n")
    isolated.chmod(0o755)
    assert f"bad cannot write the index {isolated}/index.sqlite" in said
    assert any(line.startswith(f"good {isolated}/index.sqlite: sound") for line in said)


# Giving back the room of vectors


@pytest.fixture
def store(tmp_path: Path, folder: Path) -> Iterator[Writer]:
    for number in range(40):
        (folder / f"{number}.md").write_text(f"# A\n\nOf {number}.\n\n# B\n\nOn {number}.\n")
    with Writer.open(tmp_path / "index.sqlite") as opened:
        update(opened, folder)
        embedding.embed(opened, FakeEmbedder())
        yield opened


def update(store: Writer, folder: Path) -> None:
    indexing.update(store, registry.collection_for(store, folder), Settings())


def wrong(store: Reader) -> list[str]:
    """Passages whose vector is not that of their text."""
    space = the_space(store)
    matrix = np.fromfile(store.file.with_name(space.file), dtype="<f4").reshape(-1, 64)
    held = embeddings.some(store, space, 10_000)
    texts = [passage(p.title, p.aliases, p.toc_path, p.text) for _, p in held]
    made = FakeEmbedder().passages(texts)
    return [text for text, row, (at, _) in zip(texts, made, held, strict=True)
            if not np.allclose(row, matrix[at])]  # fmt: skip


def the_space(store: Reader) -> embeddings.Space:
    (space,) = embeddings.spaces(store)
    return space


def test_room_is_given_back(store: Writer, folder: Path) -> None:
    for number in random.Random(4).sample(range(40), 25):
        (folder / f"{number}.md").unlink()
    update(store, folder)
    assert embedding.compact(store) == 50
    space = the_space(store)
    assert (space.rows, store.file.with_name(space.file).stat().st_size) == (30, 30 * 256)
    assert wrong(store) == []
    assert len(list(store.file.parent.glob("*.vectors-*"))) == 1
    assert embedding.compact(store) == 0
    (folder / "new.md").write_text("# A\n\nnew\n")
    update(store, folder)
    assert embedding.embed(store, FakeEmbedder()).embedded == 1
    assert wrong(store) == []


def test_the_command_gives_room_back(qmd: Qmd, healthy: Path) -> None:
    (healthy / "cats.md").unlink()
    qmd("index", healthy)
    assert "2 of 8 are of texts that are gone" in qmd("doctor").stdout
    assert "dropped 2 vectors of texts that are gone" in qmd("embed", "--prune").stderr
    assert "texts that are gone" not in qmd("doctor").stdout


def test_a_search_that_met_the_old_file_asks_again(store: Writer, folder: Path) -> None:
    before = the_space(store)
    for number in range(0, 40, 2):
        (folder / f"{number}.md").unlink()
    update(store, folder)
    embedding.compact(store)
    asked = FakeEmbedder().queries(["7 Of"])
    now = meaning.by_meaning(store, the_space(store), _anything(), Scope(), asked)
    assert meaning.by_meaning(store, before, _anything(), Scope(), asked) == now
    assert now[0]


def test_so_does_one_that_sees_an_earlier_moment(store: Writer, folder: Path) -> None:
    asked = FakeEmbedder().queries(["7 Of"])
    with Reader.open(store.file) as reader, reader.snapshot():
        before = the_space(reader)
        # its chunks are the last ones, so another note gets their ids
        (folder / "9.md").rename(folder / "later.md")
        (folder / "later.md").write_text("# Later\n\nOf 7.\n")
        update(store, folder)
        embedding.embed(store, FakeEmbedder())
        assert embedding.compact(store)
        (run,) = meaning.by_meaning(reader, before, _anything(), Scope(), asked)
        held = reader.chunks(candidate.id for candidate in run)
        assert len(run) == 78
        assert all(held[candidate.id].pid == candidate.pid for candidate in run)


def _anything() -> Query:
    return Query("7 Of")


KILLED = """
import os, sys
from pathlib import Path
from qmd_py import embedding
from qmd_py.store import embeddings
from qmd_py.store.writer import Writer
def die(*_, **__):
    os._exit(9)
{moment} = die
with Writer.open(Path(sys.argv[1])) as store:
    embedding.compact(store)
"""


@pytest.mark.parametrize(
    "moment", ["embeddings.drop_orphans", "embeddings.move_rows", "Path.unlink"]
)
def test_killed_while_giving_room_back_nothing_is_wrong(
    store: Writer, folder: Path, moment: str
) -> None:
    for number in range(0, 40, 2):
        (folder / f"{number}.md").unlink()
    update(store, folder)
    code = KILLED.format(moment=moment)
    done = subprocess.run([sys.executable, "-c", code, str(store.file)], check=False)
    assert done.returncode == 9
    assert wrong(store) == []
    assert embedding.compact(store) == (0 if moment == "Path.unlink" else 40)
    assert wrong(store) == []
    assert the_space(store).rows == 40


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (Tiles.ABSENT, None),
        (Tiles.RIGHT, ("good", "")),
        (Tiles.UNUSED, ("remark", f"build it anew: {tiles.REBUILD}")),
        (Tiles.BROKEN, ("remark", f"build it anew: {tiles.REBUILD}")),
    ],
)
def test_what_becomes_of_matrix_tiles_is_told(
    qmd: Qmd,
    healthy: Path,
    monkeypatch: pytest.MonkeyPatch,
    found: Tiles,
    expected: tuple[str, str] | None,
) -> None:
    monkeypatch.setattr(tiles, "found", lambda: found)
    shown = qmd("doctor", "--json")
    assert shown.exit_code == 0
    told = [(one["state"], one["step"]) for one in findings(shown) if one["what"] == "tiles"]
    assert told == ([expected] if expected else [])
