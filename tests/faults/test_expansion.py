"""Other wordings of a language model help or do nothing; they never stand in the way."""

import datetime
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qmd_py import embedding, indexing, registry
from qmd_py.config import Settings
from qmd_py.expansion import prompts
from qmd_py.expansion.callers import Handed
from qmd_py.llama.expander import LlamaExpander
from qmd_py.llama.opening import Setup
from qmd_py.llama.runtime import Session
from qmd_py.models import Models
from qmd_py.records.answers import Answer
from qmd_py.records.wordings import Variant
from qmd_py.search.asking import Ask
from qmd_py.search.hybrid import hybrid
from qmd_py.store.writer import Writer
from tests.fakes import FakeEmbedder, FakeExpander
from tests.faults.shelf import write
from tests.test_llama import SHAPE, VOCABULARY
from tests.tiny import write_qwen3, writer_weights

if TYPE_CHECKING:
    from qmd_py.models import Matrix

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
NOTES = {
    "docker.md": "# Containers\n\nDocker starts a container from an image.\n",
    "tax.md": "# Налоги\n\nКак оформить налоговый вычет: подать декларацию.\n",
    "dealer.md": "# Garages\n\nAn automobile dealer in the old town.\n",
    "market.md": "# Market\n\nWhere to buy flour, and what a car costs there.\n",
    "glacier.md": "# Glacier\n\nMoraine, ice, snow; mountain ridge, alps, summit, crevasse.\n",
}


class Counting(FakeEmbedder):
    """Notes every text of a question that it has to embed."""

    def __init__(self) -> None:
        super().__init__()
        self.embedded: list[str] = []

    def queries(self, texts: Sequence[str]) -> "Matrix":
        self.embedded += texts
        return super().queries(texts)


@pytest.fixture
def store(tmp_path: Path, folder: Path) -> Iterator[Writer]:
    write(folder, NOTES)
    with Writer.open(tmp_path / "index.sqlite") as opened:
        indexing.update(opened, registry.collection_for(opened, folder), Settings())
        embedding.embed(opened, FakeEmbedder())
        yield opened


def ask(store: Writer, question: str, expander: FakeExpander | None = None, **more) -> Answer:
    return hybrid(store, question, Ask(**more), Models(FakeEmbedder(), expander), NOW)


def paths(answer: Answer) -> list[str]:
    return [hit.path for hit in answer.hits]


PROMPT = (
    Variant("lex", prompts.SYSTEM.split("\n")[0][:60]),
    Variant("hyde", prompts.SYSTEM[-180:]),
)
ENGLISH = (
    Variant("vec", "This article explains how to file a return"),
    Variant("hyde", "You can find more about this topic in the documentation of the project."),
)
MUCH = (Variant("lex", "glacier moraine ice"), Variant("hyde", NOTES["glacier.md"]))


@pytest.mark.parametrize(
    ("question", "writes"),
    [
        pytest.param("docker engine", PROMPT, id="the prompt itself"),
        pytest.param("xyzzy123 container", PROMPT, id="whatever was asked"),
        pytest.param("как оформить налоговый вычет сыну", ENGLISH, id="another language"),
        pytest.param("docker restart", MUCH, id="another topic"),
    ],
)
def test_what_says_nothing_of_the_question_changes_nothing(
    store: Writer, question: str, writes: Sequence[Variant]
) -> None:
    plain = ask(store, question)
    widened = ask(store, question, FakeExpander(writes=writes))
    assert widened.variants == ()
    assert {variant for variant, _ in widened.dropped} == set(writes)
    assert [(hit.path, hit.score) for hit in widened.hits] == [
        (hit.path, hit.score) for hit in plain.hits
    ]


def test_the_question_outweighs_all_that_was_invented(store: Writer) -> None:
    many = [Variant("hyde", f"{NOTES['glacier.md']} {at}") for at in range(9)]
    handed = Handed((*MUCH, *many, Variant("vec", "ice on the alps")))
    assert paths(ask(store, "docker container", handed=handed))[0] == "docker.md"


def test_each_wording_is_embedded_once(store: Writer) -> None:
    embedder = Counting()
    handed = Handed(
        (Variant("lex", "dealer"), Variant("vec", "car sellers"), Variant("hyde", "A car."))
    )
    hybrid(store, "where to buy a car", Ask(handed=handed), Models(embedder), NOW)
    assert sorted(embedder.embedded) == ["A car.", "car sellers", "where to buy a car"]


def test_so_is_what_a_model_writes(store: Writer) -> None:
    embedder, model = Counting(), FakeExpander()
    hybrid(store, "where to buy a car", Ask(), Models(embedder, model), NOW)
    assert model.asked == ["where to buy a car"]
    assert len(set(embedder.embedded)) == len(embedder.embedded) == 4


def test_an_answer_that_came_later_is_found(store: Writer, folder: Path) -> None:
    """Nothing that was found or not found is kept, only what the model wrote."""
    model = FakeExpander(writes=[])
    question = "quarterly zebra report"
    assert "zebra.md" not in paths(ask(store, question, model))
    write(folder, {"zebra.md": "# Zebra\n\nThe quarterly report of the zebra house.\n"})
    indexing.update(store, store.collections()[0], Settings())
    assert paths(ask(store, question, model))[0] == "zebra.md"


def test_an_intent_is_no_word_to_look_for(store: Writer) -> None:
    answer = ask(store, "docker", handed=Handed(intent="glacier moraine"))
    assert paths(answer)[:1] == ["docker.md"]
    assert not {"glacier", "morain"} & answer.terms


def test_the_window_is_no_larger_than_what_is_read_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole window of a model costs gigabytes."""
    file = tmp_path / "writer.gguf"
    write_qwen3(file, writer_weights(SHAPE, VOCABULARY, seed=18), SHAPE, VOCABULARY)
    opened: list[Setup] = []
    plain = Session.__init__

    def noted(self: Session, path: Path, setup: Setup) -> None:
        opened.append(setup)
        plain(self, path, setup)

    monkeypatch.setattr(Session, "__init__", noted)
    with LlamaExpander(file, fingerprint="x", prompt="chat", threads=1) as model:
        model.expand("docker")
    assert [setup.context <= 1024 for setup in opened] == [True]
