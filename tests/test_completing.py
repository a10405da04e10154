"""What a shell offers at TAB."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer.main
from typer.testing import CliRunner

from qmd_py.cli.whole import app

if TYPE_CHECKING:
    from typer.testing import Result

Qmd = Callable[..., "Result"]

NOTE = """\
# Goroutines

## Worker pool

## Panics

# Channels
"""


@pytest.fixture
def notes(qmd: Qmd, folder: Path) -> Path:
    (folder / "a b.md").write_text(NOTE)
    (folder / "other.md").write_text("---\ntitle: Another\ntags: [todo]\n---\n")
    assert qmd("index", "--no-embed", folder).exit_code == 0
    return folder


def offered(*words: str, shell: str = "bash") -> str:
    """What the shell is given for a line whose last word is being typed."""
    line = {"COMP_WORDS": "\n".join(("qmd", *words)), "COMP_CWORD": str(len(words))}
    if shell != "bash":
        line = {"_TYPER_COMPLETE_ARGS": " ".join(("qmd", *words))}
    if shell == "fish":
        line["_TYPER_COMPLETE_FISH_ACTION"] = "get-args"
    environment = {**line, "_QMD_COMPLETE": f"complete_{shell}"}
    result = CliRunner().invoke(app, [], env=environment, prog_name="qmd")
    assert result.stderr == ""
    return result.stdout


@pytest.mark.parametrize(
    ("words", "offers"),
    [
        pytest.param(["search", "x", "-c", ""], ["notes"], id="a collection to search"),
        pytest.param(["index", "-c", "no"], ["notes"], id="a collection to index"),
        pytest.param(["collection", "show", ""], ["notes"], id="a collection to show"),
        pytest.param(["ls", ""], ["notes"], id="a collection to list"),
        pytest.param(["ls", "x"], [], id="nothing that begins so"),
        pytest.param(["section", ""], ["1", "2"], id="pids"),
        pytest.param(["get", "1", "2"], ["2"], id="a second pid"),
        pytest.param(["toc", "notes/a"], [r"notes/a\ b.md"], id="a path with a blank"),
        pytest.param(["toc", "a"], [r"a\ b.md"], id="a path without its collection"),
        pytest.param(["cite", ""], ["1", "2"], id="a pid to cite"),
        pytest.param(["cite", "1", "Goroutines", "W"], [r"Worker\ pool"], id="a heading to cite"),
        pytest.param(["search", "--tag", "to"], ["todo"], id="a tag"),
        pytest.param(["search", "--without", "b"], ["bm25"], id="a run"),
        pytest.param(["embed", "--device", "c"], ["cpu", "cuda"], id="a device"),
        pytest.param(["eval", "--mode", "v"], ["vsearch"], id="a mode"),
        pytest.param(["context", "add", ""], ["notes", r"notes/a\ b.md", "notes/other.md"],
                     id="what a context is about"),
        pytest.param(["context", "remove", ""], [], id="no context"),
        pytest.param(["toc", "'notes/a"], ["notes/a b.md"], id="a path in quotes"),
        pytest.param(["section", "1", ""], ["Goroutines", "Channels"],
                     id="the outermost headings"),
        pytest.param(["section", "1", "Goroutines", ""], [r"Worker\ pool", "Panics"],
                     id="the headings below"),
        pytest.param(["section", "1", "Nope", ""], [], id="headings below none"),
        pytest.param(["section", "99", ""], [], id="headings of no note"),
        pytest.param(["models", "pull", "smol"], ["smollm2-135m"], id="a model"),
        pytest.param(["query", "--reranker", "n"], ["none"], id="no reranker"),
    ],
)  # fmt: skip
def test_names_are_offered(notes: Path, words: list[str], offers: list[str]) -> None:
    assert offered(*words).split("\n")[:-1] == (offers or [""])[: len(offers) or 1]


def test_titles_stand_beside_pids_where_the_shell_shows_them(notes: Path) -> None:
    assert "2\tAnother" in offered("section", "", shell="fish")
    assert '"2":"Another"' in offered("section", "", shell="zsh")


def test_the_index_named_on_the_line_is_asked(qmd: Qmd, notes: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    index = tmp_path / "other.sqlite"
    assert qmd("index", "--no-embed", "--index", index, other).exit_code == 0
    assert offered("search", "--index", str(index), "-c", "") == "elsewhere\n"


def test_indexes_are_offered_by_name(qmd: Qmd, notes: Path) -> None:
    assert offered("search", "--index", "").strip() == ""
    for name in ("work", "home"):
        assert qmd("index", "--no-embed", "--index", name, notes).exit_code == 0
    assert offered("search", "--index", "") == "home\nwork\n"
    assert offered("doctor", "--index", "w") == "work\n"


def test_what_has_a_context_is_offered(qmd: Qmd, notes: Path) -> None:
    qmd("context", "add", "notes", "Mine")
    assert "notes\tMine" in offered("context", "remove", "", shell="fish")


def test_a_policy_keeps_notes_to_itself(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QMD_POLICY", str(Path(__file__).with_name("policy.toml")))
    for words in (["section", ""], ["section", "1", ""], ["cite", ""], ["search", "--tag", ""]):
        assert offered(*words).strip() == ""
    assert offered("context", "add", "") == "notes\n"
    assert offered("ls", "") == "notes\n"


@pytest.mark.parametrize("damage", ["no index", "no database", "wrong settings"])
def test_an_error_offers_nothing_and_prints_nothing(
    isolated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    if damage == "no database":
        (isolated / "index.sqlite").write_text("x")
    if damage == "wrong settings":
        monkeypatch.setenv("QMD_CONFIG", str(tmp_path / "nope.toml"))
    for words in (["section", ""], ["section", "1", ""], ["ls", ""], ["search", "-c", ""]):
        assert offered(*words).strip() == ""
    assert [path for path in isolated.iterdir() if damage == "no index"] == []


HOSTILE = ["$(touch pwned)", "`touch pwned`", "\\$(touch pwned)", '"; touch pwned; "', "'x"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_hostile_note_gives_a_shell_nothing_to_evaluate(
    qmd: Qmd, folder: Path, shell: str
) -> None:
    headings = "".join(f"# {text}\n\n" for text in HOSTILE)
    for number, text in enumerate(HOSTILE):
        (folder / f"{number}.md").write_text(f"---\ntitle: |\n  {text} [red]\n---\n{headings}")
    assert qmd("index", "--no-embed", folder).exit_code == 0
    for words in (["section", ""], ["section", "1", ""]):
        given = offered(*words, shell=shell)
        quoting = {"\\"} if shell != "bash" else set()
        assert not ({"$", "`"} | quoting) & set(given)


@pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash")
def test_bash_completes_a_heading(notes: Path) -> None:
    script = """
    eval "$(_QMD_COMPLETE=source_bash {qmd})"
    COMP_WORDS=({qmd} section 1 Goroutines Wor); COMP_CWORD=4
    _qmd_completion {qmd}
    printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    qmd = Path(sys.executable).with_name("qmd")
    run = subprocess.run(
        ["bash", "--norc", "-c", script.format(qmd=qmd)],
        capture_output=True, text=True, check=False, env=dict(os.environ),
    )  # fmt: skip
    assert (run.stdout, run.stderr) == ("Worker\\ pool\n", "")


NAMES = ("NAME", "PID", "COLLECTION", "HEADING", "MODEL", "RUN", "TAG", "KIND", "MODE")


def test_whatever_takes_a_name_offers_names() -> None:
    """A new command that takes a collection or a note, say, should offer them too."""
    bare = set()
    commands = dict(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    for name, command in list(commands.items()):
        below = getattr(command, "commands", {})
        commands |= {f"{name} {word}": one for word, one in below.items()}
    for name, command in commands.items():
        for param in command.params:
            kind = re.split(r"[|…/\[]", param.metavar or "")[0]
            if kind in NAMES and param._custom_shell_complete is None:
                bare.add(f"{name} {param.opts[0]}")
    assert bare == set()
