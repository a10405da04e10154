"""The judged notes, indexed and embedded once for all benchmarks."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from qmd_py import embedding, indexing, processors, registry
from qmd_py.config import Settings
from qmd_py.embedded import BuiltIn
from qmd_py.evaluation import questions
from qmd_py.evaluation.questions import QuestionSet
from qmd_py.models import Embedder
from qmd_py.store.reader import Reader
from qmd_py.store.writer import Writer

LANGUAGES = ("en", "ru")
_BESIDE = Path(__file__).parents[3] / "shared" / "corpora" / "obsidian-help"


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder with `en`, `ru` and their golden files: QMD_BENCH_CORPUS, or beside the project."""
    folder = Path(os.environ.get("QMD_BENCH_CORPUS") or _BESIDE)
    if not folder.is_dir():
        pytest.skip(f"no judged notes at {folder}: set QMD_BENCH_CORPUS")
    return folder


@pytest.fixture(scope="session")
def corpus_questions(corpus: Path) -> dict[str, QuestionSet]:
    return {name: questions.read(corpus / f"golden-{name}.json") for name in LANGUAGES}


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    return BuiltIn(processors.threads())


@pytest.fixture(scope="session")
def corpus_index(
    corpus: Path, embedder: Embedder, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Reader]:
    """Both folders as collections `en` and `ru`, embedded: minutes of work."""
    file = tmp_path_factory.mktemp("bench") / "index.sqlite"
    with Writer.open(file) as writer:
        for name in LANGUAGES:
            indexing.update(writer, registry.collection_for(writer, corpus / name), Settings())
        assert embedding.embed(writer, embedder).pending == 0
    with Reader.open(file) as reader:
        yield reader
