"""The engine `http` against llama-cpp-python's own server, with tiny models."""

import itertools
import socket
import string
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qmd_py.catalogue import Server
from qmd_py.errors import ServerFailed
from qmd_py.expansion import prompts
from qmd_py.llama.embedder import LlamaEmbedder
from qmd_py.remote.embedder import RemoteEmbedder
from qmd_py.remote.expander import RemoteExpander
from qmd_py.remote.reranker import RemoteReranker
from qmd_py.remote.server import Client
from tests import tiny
from tests.tiny import Shape

if TYPE_CHECKING:
    from typer.testing import Result

Qmd = Callable[..., "Result"]

pytestmark = pytest.mark.models

LETTERS = string.ascii_lowercase
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *(f"##{sign}" for sign in LETTERS),
          *".,?!#>"]  # fmt: skip
ENCODER = Shape(context=512)
TEMPLATE = "{% for m in messages %}{{ m.content }}\n{% endfor %}"
_WAIT = 60.0  # seconds for a server to come up


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models")
    weights = tiny.bert_weights(ENCODER, len(PIECES))
    tiny.write_bert(made / "encoder.gguf", weights, ENCODER, PIECES)
    vocabulary = tiny.byte_pairs(prompts.SYSTEM, "lex: vec: hyde:")
    shape = Shape()
    writer = tiny.writer_weights(shape, vocabulary, seed=18)
    tiny.write_qwen3(made / "writer.gguf", writer, shape, vocabulary, template=TEMPLATE)
    return made


def served(file: Path, *options: str) -> Iterator[str]:
    """The address of a server that runs while it is used."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "llama_cpp.server", "--model", str(file), "--port", str(port)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([*command, *options], **quiet)  # type: ignore[call-overload]
    try:
        url = f"http://127.0.0.1:{port}/v1"
        for waited in itertools.count():
            assert process.poll() is None, "the server ended"
            try:
                urllib.request.urlopen(f"{url}/models", timeout=1).close()
                break
            except OSError:
                assert waited < _WAIT * 10, "the server did not come up"
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def embeddings(folder: Path) -> Iterator[str]:
    yield from served(folder / "encoder.gguf", "--embedding", "true", "--n_ctx", "512")


@pytest.fixture(scope="module")
def chat(folder: Path) -> Iterator[str]:
    yield from served(folder / "writer.gguf", "--n_ctx", "2048")


def client(url: str, **keys: object) -> tuple[Server, Client]:
    server = Server(url, "tiny", **keys)  # type: ignore[arg-type]
    return server, Client("embed.tiny", server)


def test_its_vectors_are_those_of_the_file(embeddings: str, folder: Path) -> None:
    texts = ["bread", "how to keep bread fresh", "apples, pears and a cat", "bread"]
    far = RemoteEmbedder(*client(embeddings, batch=3), passage_prefix="passage ")
    near = LlamaEmbedder(
        folder / "encoder.gguf", fingerprint="tiny", threads=1, passage_prefix="passage "
    )
    with near:
        assert far.dimensions == near.dimensions == ENCODER.dim
        assert far.passages(texts) == pytest.approx(near.passages(texts), abs=2e-3)
        assert far.queries(texts) == pytest.approx(near.queries(texts), abs=2e-3)


def test_notes_are_embedded_and_found_by_it(
    embeddings: str, qmd: Qmd, vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "models.toml"
    own.write_text(
        '[defaults]\nembed = "far"\nexpand = "none"\nrerank = "none"\n'
        f'[embed.far]\nengine = "http"\nsource = "{embeddings}"\nmodel = "tiny"\n'
    )
    monkeypatch.setenv("QMD_MODELS", str(own))
    notes = vault / "en"
    indexed = qmd("index", notes)
    assert (indexed.exit_code, indexed.stderr) == (0, "")
    found = qmd("vsearch", "how do I keep bread from going stale")
    assert (found.exit_code, found.stderr) == (0, "")


def test_it_is_asked_for_other_wordings(chat: str) -> None:
    expander = RemoteExpander(*client(chat, seconds=120), "chat")
    first = expander.expand("how do I keep bread fresh?")
    assert expander.expand("how do I keep bread fresh?") == first
    assert isinstance(expander.finished, bool)


def test_it_has_no_reranker_and_says_so(chat: str) -> None:
    reranker = RemoteReranker(*client(chat))
    with pytest.raises(ServerFailed, match="answers 404"):
        list(reranker.scores("bread", ["bread"]))
