"""Vectors are whole, of one model, and never in the way of words."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from qmd_py.errors import ModelFailed
from qmd_py.llama.embedder import LlamaEmbedder
from qmd_py.llama.opening import Pooling
from tests.fakes import FailingEmbedder, FakeEmbedder
from tests.faults.shelf import said, write
from tests.test_llama import ENCODER, PIECES, SHAPE, VOCABULARY
from tests.tiny import bert_weights, qwen3_weights, write_bert, write_qwen3

if TYPE_CHECKING:
    from typer.testing import Result

    from qmd_py.models import Matrix

Qmd = Callable[..., "Result"]
LONG = replace(ENCODER, context=1300)


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[FakeEmbedder], None]:
    """Commands use this embedder in place of the built-in one."""

    def choose(embedder: FakeEmbedder) -> None:
        monkeypatch.setattr("qmd_py.embedded.BuiltIn", lambda threads: embedder)

    choose(FakeEmbedder())
    return choose


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("models") / "encoder.gguf"
    write_bert(file, bert_weights(LONG, len(PIECES)), LONG, PIECES)
    return file


def hits(shown: "Result") -> list[str]:
    return [hit["path"] for hit in json.loads(shown.stdout)["results"]]


@pytest.mark.parametrize("words", [1, 300, 513, 1100, 5000])
def test_a_text_of_any_length_has_a_vector_of_length_one(encoder: Path, words: int) -> None:
    with LlamaEmbedder(encoder, fingerprint="x", threads=1) as model:
        (row,) = model.passages(["cat the " * (words // 2) + "cat"])
    assert np.linalg.norm(row) == pytest.approx(1, abs=1e-3)


def test_many_texts_at_once_are_what_each_is_alone(encoder: Path) -> None:
    texts = ["hello", "world", "cat " * 300, "the " * 310, "", "cat", "на", "你好"]
    with LlamaEmbedder(encoder, fingerprint="x", threads=1) as model:
        together = model.passages(texts)
        alone = np.concatenate([model.passages([text]) for text in texts])
    assert (together * alone).sum(axis=1) == pytest.approx(np.ones(8), abs=1e-3)


def test_the_end_that_a_model_wants_comes_from_its_file(tmp_path: Path) -> None:
    weights = qwen3_weights(SHAPE, len(VOCABULARY.tokens))
    vocabulary = replace(VOCABULARY, end="<|endoftext|>")
    rows = {}
    for name, ended in (("with", True), ("without", False)):
        file = tmp_path / f"{name}.gguf"
        write_qwen3(file, weights, SHAPE, vocabulary, ended=ended)
        with LlamaEmbedder(file, fingerprint="x", threads=1, pooling=Pooling.LAST) as model:
            rows[name] = model.passages(["bread", "bread<|endoftext|>", ""])
    assert rows["with"][0] @ rows["without"][0] < 0.999
    assert rows["without"][1] @ rows["with"][0] < 0.999  # written in a note it is no end
    assert rows["with"][2].any()


def test_blank_notes_are_listed_and_nothing_of_them_is_embedded(
    qmd: Qmd, folder: Path, use: Callable[[FakeEmbedder], None]
) -> None:
    model = FakeEmbedder()
    use(model)
    write(folder, {"blank.md": "\n \n\t\n", "none.md": "", "meta.md": "---\na: b\n---\n"})
    shown = qmd("index", folder)
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert all(text.strip() for text in model.seen)
    assert len(json.loads(qmd("ls", "--json").stdout)) == 3
    (vectors,) = json.loads(qmd("status", "--json").stdout)["vectors"]
    assert (vectors["pending"], vectors["failed"]) == (0, 0)


class Breaking(FakeEmbedder):
    """Breaks down at the tenth call, once."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def passages(self, texts: Sequence[str]) -> "Matrix":
        self.calls += 1
        if self.calls == 3:
            raise ModelFailed("fake.gguf: llama.cpp gave up with status -1")
        return super().passages(texts)


def test_one_breakdown_costs_no_passage(
    qmd: Qmd, folder: Path, use: Callable[[FakeEmbedder], None]
) -> None:
    model = Breaking()
    use(model)
    write(folder, {f"{at}.md": f"Passage {at} of apples." for at in range(30)})
    assert qmd("index", folder).exit_code == 0
    assert len(set(model.seen)) == 30
    assert len(hits(qmd("vsearch", "apples", "-n", "40", "--json"))) == 30


def test_what_failed_is_counted_found_by_words_and_tried_again(
    qmd: Qmd, folder: Path, use: Callable[[FakeEmbedder], None]
) -> None:
    model = FailingEmbedder()
    use(model)
    write(folder, {"a.md": "poison and apples", "b.md": "bread", "c.md": "cheese"})
    shown = qmd("index", folder)
    assert shown.exit_code == 2
    assert "1 passages gave no usable vector" in shown.stderr
    assert hits(qmd("query", "poison", "--json"))[0] == "a.md"
    assert hits(qmd("vsearch", "bread", "--json"))[0] == "b.md"
    model.cure()
    assert qmd("embed").exit_code == 0
    assert hits(qmd("vsearch", "poison", "--json"))[0] == "a.md"


def test_another_model_leaves_words_alone_and_says_what_to_do(
    qmd: Qmd, folder: Path, use: Callable[[FakeEmbedder], None]
) -> None:
    write(folder, {"a.md": "apples", "b.md": "bread"})
    qmd("index", folder)

    class Wider(FakeEmbedder):
        @property
        def dimensions(self) -> int:
            return 65

    for other in (FakeEmbedder("another model of the same size"), Wider("a wider one")):
        use(other)
        assert hits(qmd("search", "apples", "--json")) == ["a.md"]
        found = json.loads(qmd("query", "apples", "--json").stdout)
        assert found["results"][0]["path"] == "a.md"
        (reason,) = [reason for reason in found["skipped"] if reason.startswith("dense")]
        assert "run 'qmd embed'" in reason
        assert "run 'qmd embed'" in said(qmd("vsearch", "apples"))
    use(FakeEmbedder())
    assert hits(qmd("vsearch", "apples", "--json"))[0] == "a.md"  # nothing was dropped


def test_a_long_first_note_stops_nothing(
    qmd: Qmd, folder: Path, use: Callable[[FakeEmbedder], None]
) -> None:
    write(folder, {"0.md": "word " * 4000, "00.md": "x" * 20_000, "z.md": "apples"})
    assert qmd("index", folder).exit_code == 0
    assert hits(qmd("vsearch", "apples", "--json"))[0] == "z.md"


def test_equal_notes_share_a_vector_and_outlive_each_other(
    qmd: Qmd, folder: Path, use: Callable[[FakeEmbedder], None]
) -> None:
    write(folder, {"a.md": "apples of the north", "b/a.md": "apples of the north"})
    assert qmd("index", folder).exit_code == 0
    assert qmd("embed").exit_code == 0
    for mode in ("search", "vsearch", "query"):
        assert hits(qmd(mode, "apples", "--json")) == ["a.md", "b/a.md"]
    (folder / "a.md").unlink()
    assert qmd("index").exit_code == 0
    for mode in ("search", "vsearch", "query"):
        assert hits(qmd(mode, "apples", "--json")) == ["b/a.md"]
    write(folder, {"a.md": "apples of the north"})
    qmd("index")
    assert hits(qmd("vsearch", "apples", "--json")) == ["a.md", "b/a.md"]


def test_more_hits_may_be_asked_for_than_there_are(
    qmd: Qmd, folder: Path, use: Callable[[FakeEmbedder], None]
) -> None:
    write(folder, {f"{at}.md": f"apples {at}" for at in range(20)})
    qmd("index", folder)
    for mode in ("search", "vsearch", "query"):
        assert len(hits(qmd(mode, "apples", "-n", "5000", "--json", "--no-toc"))) == 20


def test_collections_are_united_and_an_empty_one_adds_nothing(
    qmd: Qmd, tmp_path: Path, use: Callable[[FakeEmbedder], None]
) -> None:
    for name, notes in {
        "one": {"a.md": "apples and pears", "x.md": "other things"},
        "two": {"b.md": "apples"},
        "none": {},
    }.items():
        (tmp_path / name).mkdir()
        write(tmp_path / name, notes)
        qmd("collection", "add", tmp_path / name)
    for mode in ("search", "vsearch", "query"):

        def ask(*names: str, mode: str = mode) -> list[str]:
            scope = [word for name in names for word in ("-c", name)]
            return hits(qmd(mode, "apples", "--json", "--no-toc", *scope))

        assert {"a.md", "b.md"} <= set(ask("one", "two"))
        assert ask("one", "two") == ask("two", "one") == ask("one", "two", "none")
        assert ask("one", "none") == ask("one")
        assert ask("none") == []


@pytest.mark.parametrize("form", ["![i]({})", "[i]({})", '<img src="{}">', "[i]: {}"])
def test_an_inline_picture_is_no_text(
    qmd: Qmd, folder: Path, use: Callable[[FakeEmbedder], None], form: str
) -> None:
    model = FakeEmbedder()
    use(model)
    data = "data:image/png;base64," + "iVBORw0KGgo/A+b" * 10_000
    write(folder, {"a.md": f"Apples\n\n{form.format(data)}\n\nand pears."})
    qmd("index", folder)
    assert len(model.seen) == 1
    assert "iVBOR" not in model.seen[0]
    shown = qmd("search", "apples")
    assert "iVBOR" not in shown.stdout


def test_a_file_above_the_limit_is_named_and_can_be_let_in(
    qmd: Qmd, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, {"log.md": "line of a log\n" * 800_000, "a.md": "apples"})
    shown = qmd("index", "--no-embed", folder)
    assert shown.exit_code == 0
    assert "log.md is larger than 10000000 bytes" in shown.output
    assert qmd("search", "log").exit_code == 1
    (tmp_path / "config.toml").write_text("max_bytes = 20")
    monkeypatch.setenv("QMD_CONFIG", str(tmp_path / "config.toml"))
    write(folder, {"log.md": "line of a log\n"})
    qmd("index", "--no-embed")
    assert qmd("search", "log").exit_code == 0


def test_what_is_called_embedded_without_a_vector_is_named(
    qmd: Qmd, folder: Path, isolated: Path, use: Callable[[FakeEmbedder], None]
) -> None:
    use(FakeEmbedder())
    write(folder, {f"{at}.md": f"apples {at}" for at in range(9)})
    qmd("index", folder)
    assert qmd("doctor").exit_code == 0
    (file,) = isolated.glob("*.vectors-*")
    file.write_bytes(file.read_bytes()[:-1000])
    shown = qmd("doctor")
    assert shown.exit_code == 2
    assert "→ run 'qmd embed --force'" in shown.stdout
    assert qmd("embed", "--force").exit_code == 0
    assert qmd("doctor").exit_code == 0
