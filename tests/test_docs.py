"""README knows every command, option, variable and status, and its transcripts are real."""

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer.main

import qmd_py
from qmd_py.cli.whole import app
from tests.fakes import FakeEmbedder

if TYPE_CHECKING:
    from typer.testing import Result

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```console\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def commands(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


COMMANDS = dict(commands(typer.main.get_command(app)))


def steps() -> Iterator[tuple[str, str]]:
    """(command line, expected output) of every transcript."""
    for block in BLOCKS:
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, output = part.partition("\n")
            yield line, output


@pytest.mark.parametrize("name", COMMANDS)
def test_readme_lists_the_command(name: str) -> None:
    last = name.split()[-1]
    assert f"qmd {name}" in README or (name != last and f"`{last} " in README)


@pytest.mark.parametrize(("name", "command"), COMMANDS.items(), ids=COMMANDS)
def test_readme_explains_every_option(name: str, command: Any) -> None:
    for param in command.params:
        for option in param.opts:
            if option.startswith("--"):
                assert f"`{option}" in README or f"{option}`" in README, f"{name} {option}"


@pytest.mark.parametrize(("name", "command"), COMMANDS.items(), ids=COMMANDS)
def test_every_command_has_help(name: str, command: Any) -> None:
    assert command.help


@pytest.mark.parametrize(("name", "command"), COMMANDS.items(), ids=COMMANDS)
def test_help_begins_with_two_examples_that_are_real(name: str, command: Any) -> None:
    examples = command.help.split("\n\n")[1:3]
    assert len(examples) == 2
    for example in examples:
        calls = [shlex.split(call) for call in re.split(r" && | \| ", example.partition(" >>")[0])]
        assert any(call[1:][: len(name.split())] == name.split() for call in calls), example
        for call in calls:
            deep = next(n for n in (1, 2) if " ".join(call[1 : n + 1]) in COMMANDS)
            told = " ".join(call[1 : deep + 1])
            COMMANDS[told].make_context(told, call[deep + 1 :]).close()


@pytest.mark.parametrize("columns", [40, 60])
@pytest.mark.parametrize(("name", "command"), COMMANDS.items(), ids=COMMANDS)
def test_help_tells_the_statuses_and_fits_a_narrow_window(
    qmd: "Callable[..., Result]",
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    command: Any,
    columns: int,
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = qmd(*name.split(), "--help").stdout
    told = "Exit status: 0 found or done, 1 nothing found, 2 error"
    assert told in " ".join(shown.split())
    assert max(map(len, shown.splitlines())) <= columns
    for param in command.params:
        for option in param.opts:
            assert option in shown or not option.startswith("--"), option


def test_help_flows_in_any_window(
    qmd: "Callable[..., Result]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    for name, command in COMMANDS.items():
        shown = [line.strip() for line in qmd(*name.split(), "--help").stdout.splitlines()]
        assert set(command.help.split("\n\n")) <= set(shown), name


@pytest.mark.parametrize("variable", ["QMD_INDEX", "QMD_CONFIG", "NO_COLOR", "HF_ENDPOINT"])
def test_readme_names_the_variable(variable: str) -> None:
    assert f"`{variable}`" in README


def test_every_variable_that_is_read_is_named() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "qmd_py").rglob("*.py"))
    assert set(re.findall(r'"(QMD_[A-Z_]+)"', sources)) <= set(
        re.findall(r"`(QMD_[A-Z_]+)`", README)
    )


def test_changelog_is_about_this_version_or_a_later_one() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## Unreleased" in changelog or f"## {qmd_py.__version__}" in changelog


def alike(output: str, expected: str) -> bool:
    """Equal, but for times, and that scores may differ a little from processor to processor."""
    output, expected = (re.sub(r" +\d+ ms *", " ms", text) for text in (output, expected))
    number = re.compile(r"\b\d\.\d+")
    close = [
        abs(float(a) - float(b)) < 0.02
        for a, b in zip(number.findall(output), number.findall(expected), strict=False)
    ]
    return number.sub("0.0", output) == number.sub("0.0", expected) and all(close)


@pytest.mark.models
def test_transcripts_are_real(
    qmd: "Callable[..., Result]", monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replays every `$ qmd …` in order; an output that README cuts short is compared as far as it goes."""
    monkeypatch.chdir(ROOT)
    replayed = 0
    for line, expected in steps():
        output = ""
        for part in line.split(" && "):
            words = shlex.split(part)
            if words[0] == "qmd":
                output += qmd(*words[1:]).stdout
                replayed += 1
        if expected:
            shown = expected.rstrip("\n").splitlines()
            assert alike("\n".join(output.splitlines()[: len(shown)]), "\n".join(shown)), line
    assert replayed >= 6


SERVES = ("mcp", "watch", "import-config")  # need what is not here, or do not end
TABLE = README.partition("## Beside other tools")[2].partition("\n## ")[0]


def shown() -> list[str]:
    """The commands in our column of the table."""
    cells = [line.split(" | ")[1] for line in TABLE.splitlines() if line.startswith("| ")]
    return [command for cell in cells for command in re.findall(r"`(qmd [^`]+)`", cell)]


def test_what_the_table_of_tools_claims_of_us_works(
    qmd: "Callable[..., Result]", monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("qmd_py.embedded.BuiltIn", lambda threads: FakeEmbedder())
    assert qmd("index", ROOT / "tests/vault").exit_code == 0
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    assert len(shown()) >= 30
    for line in shown():
        words = shlex.split(line)[1:]
        assert words[0] in {name.split()[0] for name in COMMANDS}
        if words[0] not in SERVES:
            result = qmd(*words)
            assert result.exit_code == 0, f"{line}: {result.stderr}"
            assert result.stdout or result.stderr, line


def test_contributors_are_sent_to_modules_that_are_there() -> None:
    table = README.partition("## Where does my line go?")[2].partition("\n\n`tests/faults")[0]
    named = {name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row)}
    there = {path.stem for path in (ROOT / "qmd_py").iterdir()}
    assert len(named) > 20
    assert named <= there


@pytest.mark.parametrize("anchor", sorted(set(re.findall(r"\]\(#([\w-]+)\)", README))))
def test_links_within_readme_lead_somewhere(anchor: str) -> None:
    text = re.sub(r"^```.*?^```", "", README, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    assert anchor in {re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings}


def test_readme_names_every_schema() -> None:
    schemas = {path.stem for path in (ROOT / "qmd_py/schemas").glob("*.json")}
    assert schemas <= set(re.findall(r"`(\w+)`", README))
