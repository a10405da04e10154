"""`qmd query` as it is typed: other wordings, models by path, the cache, what is said on the way."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from qmd_py.cli import printing
from qmd_py.cli.app import Status
from qmd_py.cli.loading import Loader
from qmd_py.errors import ModelFailed
from qmd_py.llama.runtime import Session
from qmd_py.records.wordings import Variant
from tests.fakes import FakeEmbedder
from tests.test_llama import SHAPE, VOCABULARY
from tests.tiny import reranker_weights, write_qwen3, writer_weights

if TYPE_CHECKING:
    from typer.testing import Result

Qmd = Callable[..., "Result"]

QUESTION = "how do I keep bread fresh"
NOTES = {
    "bag.md": "# Linen bags\n\nA loaf stays fresh for days.\n",
    "bread.md": "# Baking\n\nBread needs an hour to rise. Keep the dough warm.\n",
    "car.md": "# Garages\n\nKeep the car dry, and the oil fresh.\n",
    "fridge.md": "# Refrigerators\n\nThey keep vegetables.\n",
}


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough for tiny models; several wait for each other on a busy machine."""
    monkeypatch.setattr("qmd_py.processors.threads", lambda: 1)


@pytest.fixture
def notes(qmd: Qmd, folder: Path) -> Path:
    for name, text in NOTES.items():
        (folder / name).write_text(text)
    assert qmd("index", "--no-embed", folder).exit_code == 0
    return folder


def test_each_stage_says_what_it_did(qmd: Qmd, notes: Path) -> None:
    stages = json.loads(qmd("query", "fresh bread", "-n", "1", "--explain", "--json").stdout)[
        "stages"
    ]
    assert {stage["name"]: stage["note"] for stage in stages} == {
        "probe": "",
        "expand": "",
        "retrieve": "",
        "fuse": "words 3, title 0",
        "cite": "1 shown of 3",
    }


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    judge, writer = reranker_weights(SHAPE, VOCABULARY), writer_weights(SHAPE, VOCABULARY, seed=18)
    write_qwen3(folder / "judge.gguf", judge, SHAPE, VOCABULARY, head=True)
    write_qwen3(folder / "writer.gguf", writer, SHAPE, VOCABULARY)
    return folder


@pytest.fixture
def chosen(models: Path) -> tuple[str, ...]:
    return "--expander", str(models / "writer.gguf"), "--reranker", str(models / "judge.gguf")


def answered(result: "Result") -> dict[str, Any]:
    assert result.exit_code == Status.FOUND, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def runs_of(answer: dict[str, Any], path: str) -> set[str]:
    """Which runs led to a note."""
    hit = next(hit for hit in answer["results"] if hit["path"] == path)
    return {share["run"] for share in hit["explain"]}


class TestCallersWordings:
    @pytest.mark.parametrize(
        ("args", "path", "run"),
        [
            pytest.param(["--lex", "linen loaf"], "bag.md", "lex", id="lex"),
            pytest.param(["--short-query", "linen bags"], "bag.md", "lex", id="short query"),
            pytest.param(["--queries", "where is the loaf"], "bag.md", "phrasings (words)", id="queries"),
            pytest.param(
                ["--searches", '[{"type": "lex", "query": "refrigerators"}]'], "fridge.md", "lex",
                id="searches",
            ),
            pytest.param(["--lex", "garages", "--lex", "linen"], "bag.md", "lex", id="repeated"),
        ],
    )  # fmt: skip
    def test_words_are_searched(self, notes, qmd, args: list[str], path: str, run: str) -> None:
        answer = answered(qmd("query", "dough", "--explain", "--json", *args))
        assert run in runs_of(answer, path)
        assert path not in str(answered(qmd("query", "dough", "--json")))

    @pytest.mark.parametrize(
        ("option", "run"),
        [
            ("--vec", "vec"), ("--rephrased-query", "vec"),
            ("--hyde", "hyde"), ("--expected-answer", "hyde"),
            ("--queries", "phrasings (meaning)"),
        ],
    )  # fmt: skip
    def test_sentences_are_searched_by_meaning(
        self, notes, qmd, monkeypatch, option: str, run: str
    ) -> None:
        monkeypatch.setattr(Loader, "embedder", lambda *_, **__: FakeEmbedder())
        assert qmd("embed").exit_code == 0
        text = "A loaf in a bag of linen stays fresh."
        answer = answered(qmd("query", QUESTION, option, text, "--explain", "--json"))
        assert run in runs_of(answer, "bag.md")
        assert [reason.partition(":")[0] for reason in answer["skipped"]] == ["rerank"]

    @pytest.mark.parametrize(
        "document",
        [
            pytest.param("query: dough\nlex: linen bags\nintent: baking\n", id="lines"),
            pytest.param("lex: linen bags\n\nlex: dough", id="no question"),
            pytest.param('{"query": "dough", "searches": [{"type": "lex", "query": "linen"}]}', id="JSON"),
            pytest.param("short_query: linen bags\nquery: dough", id="by their long names"),
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("way", ["argument", "stdin"])
    def test_a_query_document(self, notes, qmd, document: str, way: str) -> None:
        asked = ("-",) if way == "stdin" else (document,)
        answer = answered(
            qmd("query", *asked, "--explain", "--json", stdin=document if way == "stdin" else None)
        )
        assert "lex" in runs_of(answer, "bag.md")
        assert {"bag.md", "bread.md"} <= {hit["path"] for hit in answer["results"]}

    def test_options_go_with_a_document(self, notes, qmd) -> None:
        answer = answered(qmd("query", "query: dough", "--lex", "linen", "--explain", "--json"))
        assert answer["query"] == "dough"
        assert "lex" in runs_of(answer, "bag.md")

    def test_variants_alone_are_a_question(self, notes, qmd) -> None:
        assert answered(qmd("query", "--lex", "linen bags", "--json"))["query"] == "linen bags"

    @pytest.mark.parametrize("words", [["dough"], []], ids=["with a question", "without"])
    def test_warnings_are_on_stderr(self, notes, qmd, words: list[str]) -> None:
        result = qmd("query", *words, "--short-query", "linen, bags and other things", "--json")
        assert json.loads(result.stdout)["results"]
        lines = result.stderr.splitlines()
        assert [line for line in lines if "short_query has 5 words" in line]
        assert [line for line in lines if "short_query has commas" in line]
        assert all(line.startswith("qmd: ") for line in lines)

    @pytest.mark.parametrize(
        ("args", "message"),
        [
            pytest.param(["--searches", "[{"], "no valid JSON", id="broken JSON"),
            pytest.param(["--searches", '[{"type": "web", "query": "x"}]'], "unknown search type", id="type"),
            pytest.param(["--intent", "baking"], "no question: type some words", id="only an intent"),
            pytest.param(["--lex", " "], "no question: type some words", id="only blanks"),
            pytest.param(["x", "--device", "gpu"], "no device 'gpu'", id="device"),
            pytest.param(["x", "--without", "web"], "no run 'web'", id="run"),
            pytest.param(["x", "--budget", "-1"], "'--budget'", id="budget"),
        ],
    )  # fmt: skip
    def test_what_cannot_be_understood(self, notes, qmd, args: list[str], message: str) -> None:
        result = qmd("query", *args)
        assert (result.exit_code, result.stdout) == (Status.ERROR, "")
        assert message in result.stderr
        assert result.stderr.count("\n") == 1


SEARCHED = ("query", "dough", "--files", "--without", "dense")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remarks go to a terminal, the answer to a pipe."""
    streams = SimpleNamespace(
        stderr=SimpleNamespace(isatty=lambda: True), stdout=SimpleNamespace(isatty=lambda: False)
    )
    monkeypatch.setattr(printing, "sys", streams)


class TestMissingModels:
    def test_are_named_in_the_answer_and_not_on_a_pipe(self, notes, qmd) -> None:
        result = qmd("query", QUESTION, "--json")
        skipped = {text.partition(": ")[0]: text for text in answered(result)["skipped"]}
        assert {"expand", "rerank"} <= set(skipped)
        assert "qmd models pull" in skipped["expand"]
        assert result.stderr == ""

    def test_are_named_on_a_terminal(self, notes) -> None:
        done = subprocess.run(
            [sys.executable, "-c", "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)",
             sys.executable, "-m", "qmd_py", *SEARCHED],
            capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        line = done.stdout.splitlines()[-1]
        assert line == (
            "qmd: no models to expand and rerank: run 'qmd models pull', "
            'or set both to "none" in config.toml'
        )
        assert done.stdout.count("qmd: ") == 1

    def test_one_alone_is_named_alone(self, notes, qmd, terminal) -> None:
        told = qmd(*SEARCHED, "--no-expand").stderr
        assert told == (
            "qmd: no model to rerank: run 'qmd models pull', "
            'or set rerank = "none" in config.toml\n'
        )

    def test_what_the_line_says_silences_it(self, notes, qmd, terminal, isolated: Path) -> None:
        (isolated / "qmd-py").mkdir()
        (isolated / "qmd-py/config.toml").write_text('expand = "none"\nrerank = "none"\n')
        assert qmd(*SEARCHED).stderr == ""

    def test_a_model_that_was_asked_for_is_told_in_full(self, notes, qmd, terminal) -> None:
        told = qmd(*SEARCHED, "--reranker", "qwen3-reranker-0.6b").stderr
        assert "qmd: skipped rerank: qwen3-reranker-0.6b is not here: run 'qmd models pull " in told
        assert "qmd: no model to expand: " in told
        told = qmd(*SEARCHED, "--no-expand", "--reranker", "./none.gguf").stderr
        assert told == "qmd: skipped rerank: there is no file none.gguf: check the path\n"

    @pytest.mark.parametrize(
        "off", [("--no-expand", "--no-rerank"), ("--expander", "none", "--reranker", "none")]
    )
    def test_that_nobody_wants_are_not(self, notes, qmd, off: tuple[str, ...]) -> None:
        skipped = answered(qmd("query", QUESTION, "--json", *off))["skipped"]
        assert not [reason for reason in skipped if reason.startswith(("expand", "rerank"))]

    def test_nor_an_expander_where_the_caller_words(self, notes, qmd) -> None:
        skipped = answered(qmd("query", QUESTION, "--lex", "x", "--json"))["skipped"]
        assert not [reason for reason in skipped if reason.startswith("expand")]

    @pytest.mark.parametrize(
        "content",
        [
            pytest.param(b"<html>log in</html>", id="a web page"),
            pytest.param(b"GGUF\1\0\0\0" + bytes(99), id="of an old kind"),
            pytest.param(None, id="cut short"),
        ],
    )
    def test_damaged_ones_cost_their_stage_and_not_the_answer(
        self, notes, qmd, models, tmp_path, content: bytes | None
    ) -> None:
        """Elsewhere the reason was swallowed, or the process ended."""
        file = tmp_path / "bad.gguf"
        whole = (models / "judge.gguf").read_bytes()
        file.write_bytes(whole[: len(whole) // 2] if content is None else content)
        plain = answered(qmd("query", QUESTION, "--no-expand", "--no-rerank", "--json"))
        answer = answered(qmd("query", QUESTION, "--expander", file, "--reranker", file, "--json"))
        assert [hit["path"] for hit in answer["results"]] == [
            hit["path"] for hit in plain["results"]
        ]
        for stage in ("expand", "rerank"):
            [reason] = [text for text in answer["skipped"] if text.startswith(stage)]
            assert str(file) in reason


class TestModels:
    def test_every_stage_is_shown_with_its_time(self, notes, qmd, chosen) -> None:
        result = qmd("query", QUESTION, "--explain", *chosen)
        assert result.exit_code == Status.FOUND
        shown = re.findall(r"^[├└] (\w+) +(\d+) ms", result.stdout, re.MULTILINE)
        assert [name for name, _ in shown] == [
            "probe", "expand", "retrieve", "fuse", "rerank", "cite",
        ]  # fmt: skip
        assert "read now, 0 known" in result.stdout
        assert re.search(r"^│   from +model$", result.stdout, re.MULTILINE)
        assert re.search(r"dropped: ", result.stdout)

    def test_the_rerankers_word_is_evidence(self, notes, qmd, chosen) -> None:
        for hit in answered(qmd("query", QUESTION, "--json", *chosen))["results"]:
            assert 0 <= hit["matches"][0]["evidence"]["rerank"] <= 1
            assert 0 <= hit["score"] <= 1

    def test_the_second_time_no_model_is_opened(self, notes, qmd, chosen, models) -> None:
        first = answered(qmd("query", QUESTION, "--no-expand", "--json", *chosen[2:]))
        again, loaded = child("query", QUESTION, "--no-expand", "--json", *chosen[2:])
        assert (again["results"], loaded) == (first["results"], [])

    def test_nor_for_an_expansion_that_was_kept(self, notes, qmd, chosen, monkeypatch) -> None:
        monkeypatch.setattr(
            "qmd_py.llama.expander.lines.variants", lambda _: (Variant("lex", "bread bags"),)
        )
        first = answered(qmd("query", QUESTION, "--json", *chosen))
        again, loaded = child("query", QUESTION, "--json", *chosen)
        assert (again["results"], loaded) == (first["results"], [])
        shown = qmd("query", QUESTION, "--explain", *chosen).stdout
        assert re.search(r"^│   from +cache$", shown, re.MULTILINE)
        assert "0 read now" in shown

    def test_without_the_cache_they_are_asked_again(self, notes, qmd, chosen, isolated) -> None:
        for _ in range(2):
            result = qmd("query", QUESTION, "--explain", "--no-cache", *chosen)
            assert "read now, 0 known" in result.stdout
        assert not list(isolated.rglob("answers.sqlite"))

    def test_a_budget_of_nothing_is_said(self, notes, qmd, chosen) -> None:
        answer = answered(qmd("query", QUESTION, "--json", "--budget", "0", *chosen))
        [reason] = [text for text in answer["skipped"] if text.startswith("rerank")]
        assert re.fullmatch(r"rerank: \d+ candidates were not read within --budget 0", reason)

    def test_a_model_that_breaks_down_at_work(self, notes, qmd, chosen, monkeypatch) -> None:
        def fails(*_: object, **__: object) -> None:
            raise ModelFailed("judge.gguf: llama.cpp gave up with status -3")

        monkeypatch.setattr(Session, "evaluate", fails)
        skipped = answered(qmd("query", QUESTION, "--json", *chosen))["skipped"]
        assert "rerank: judge.gguf: llama.cpp gave up with status -3" in skipped
        assert "expand: judge.gguf: llama.cpp gave up with status -3" in skipped


def child(*args: str) -> tuple[dict[str, Any], list[str]]:
    """An answer of another process, and which of the heavy libraries it has imported."""
    code = (
        "import sys\n"
        "from qmd_py.cli.commands import application\n"
        "try: application(*sys.argv[1:2])()\n"
        "except SystemExit: pass\n"
        "print(*(name for name in ('llama_cpp', 'huggingface_hub', 'rich') if name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, check=True
    )
    answer, _, loaded = done.stdout.partition("\n")
    return json.loads(answer), loaded.split()


def test_a_model_that_tells_no_answer_from_other_text_is_found_out(
    qmd: Qmd, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "models.toml"
    own.write_text(f'[rerank.judge]\nsource = "{models / "judge.gguf"}"\n')
    monkeypatch.setenv("QMD_MODELS", str(own))
    assert qmd("models", "verify", "judge").exit_code == Status.FOUND
    qmd("index", "--no-embed")
    own.write_text(own.read_text() + '[defaults]\nrerank = "judge"\n')
    examined = qmd("doctor")
    assert examined.exit_code == Status.ERROR
    assert "judge.gguf does not tell an answer from other text" in examined.stdout
    tried = qmd("models", "verify", "judge", "--try")
    assert tried.exit_code == Status.ERROR
    assert re.fullmatch(
        r"qmd: judge\.gguf does not tell an answer from other text .*\n", tried.stderr
    )
