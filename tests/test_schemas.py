"""Every `--json` output is what its JSON Schema in the package says, and nothing besides."""

import json
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer.main
from jsonschema import Draft202012Validator

from qmd_py.cli.whole import app

if TYPE_CHECKING:
    from typer.testing import Result

Qmd = Callable[..., "Result"]

GOLDEN = Path(__file__).parent / "vault-golden.json"
SCHEMAS: Mapping[str, Any] = {
    Path(file.name).stem: json.loads(file.read_text("utf-8"))
    for file in files("qmd_py").joinpath("schemas").iterdir()
}
CASES = [
    ("answer", "search bread --json"),
    ("answer", "search bread --json --no-toc --full"),
    ("answer", "search zzz --json"),
    ("answer", "search хлеб --json --explain"),
    ("answer", "query bread concurency --json --explain --lex loaf --vec dough --hyde 'A loaf.'"),
    ("answer", "search bread --json --policy POLICY"),
    ("answer", "query --batch"),
    ("answer", "query --batch --policy POLICY"),
    ("failure", "query --batch --lex ''"),
    ("section", "section 'en/Go Concurrency Patterns.md' Goroutines --json"),
    ("section", "section 1 --json"),
    ("texts", "get 1 2:1:1 'en/Sourdough Bread.md#starter' --json"),
    ("texts", "get - --json"),
    ("citation", "cite 'en/Sourdough Bread.md' 'Storing the loaf' --json"),
    ("citation", "cite 'en/Sourdough Bread.md' 'Storing the loaf' --claim 'Bread keeps' --json"),
    ("claims", "cite --check CLAIMS --json"),
    ("toc", "toc 2 --json"),
    ("answer", "search --tag release --recent 30 --json"),
    ("links", "links 'en/Weekly Review.md' --json"),
    ("related", "related 2 --hops 2 --json"),
    ("contexts", "context list --json"),
    ("findings", "doctor --json"),
    ("notes", "ls --json"),
    ("collections", "collection list --json"),
    ("collections", "collection show vault --json"),
    ("status", "status --json"),
    ("cache", "cache show --json"),
    ("models", "models list --json"),
    ("measures", "eval GOLDEN --mode search --json"),
]


def closed(schema: Any) -> Any:
    """The schema without room for anything it does not name."""
    if isinstance(schema, dict):
        inner = {key: closed(value) for key, value in schema.items()}
        return {"additionalProperties": False} | inner if "properties" in schema else inner
    return [closed(item) for item in schema] if isinstance(schema, list) else schema


def check(name: str, value: object) -> None:
    Draft202012Validator(closed(SCHEMAS[name])).validate(value)


@pytest.fixture
def indexed(qmd: Qmd, vault: Path) -> Path:
    (vault / "empty.md").write_text("")
    assert qmd("index", "--no-embed", vault).exit_code == 0
    assert qmd("context", "add", "vault/en", "notes in English").exit_code == 0
    return vault


def filled(line: str, claims: Path) -> str:
    names = {"GOLDEN": GOLDEN, "POLICY": GOLDEN.with_name("policy.toml"), "CLAIMS": claims}
    for name, path in names.items():
        line = line.replace(name, str(path))
    return line


def test_every_output_is_as_its_schema_says(qmd: Qmd, indexed: Path) -> None:
    import shlex

    claims = indexed.parent / "claims.md"
    place = ("en/Sourdough Bread.md", "Storing the loaf")
    claims.write_text(qmd("cite", *place, "--claim", "Bread keeps").stdout)
    for name, line in CASES:
        stdin = {"answer": "bread\nzzz\n", "failure": "-only\n"}.get(name, "")
        result = qmd(*shlex.split(filled(line, claims)), stdin=stdin)
        assert result.stdout, line
        for value in result.stdout.splitlines():
            check(name, json.loads(value))


def test_a_stale_hit_is_as_the_schema_says(qmd: Qmd, indexed: Path) -> None:
    for file in indexed.rglob("*.md"):
        file.write_text("another text")
    shown = json.loads(qmd("search", "bread", "--json").stdout)
    assert shown["results"][0]["stale"]
    check("answer", shown)


def test_vectors_are_as_the_schema_says(qmd: Qmd, folder: Path) -> None:
    (folder / "a.md").write_text("A loaf of bread.\n")
    assert qmd("index", folder).exit_code == 0
    assert json.loads(qmd("status", "--json").stdout)["vectors"]
    check("status", json.loads(qmd("status", "--json").stdout))
    check("answer", json.loads(qmd("vsearch", "bread", "--json").stdout))


def test_every_schema_is_one_and_is_used() -> None:
    for schema in SCHEMAS.values():
        Draft202012Validator.check_schema(schema)
    assert {name for name, _ in CASES} == set(SCHEMAS)


def with_json(group: Any, prefix: str = "") -> set[str]:
    found: set[str] = set()
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            found |= with_json(command, f"{prefix}{name} ")
        elif any("--json" in param.opts for param in command.params):
            found.add(prefix + name)
    return found


def test_every_command_that_gives_json_has_a_schema() -> None:
    covered = {name for name in with_json(typer.main.get_command(app)) for _, line in CASES
               if line.startswith(name + " ")}  # fmt: skip
    assert with_json(typer.main.get_command(app)) - {"vsearch"} == covered


def test_a_key_that_no_schema_names_would_be_seen() -> None:
    with pytest.raises(Exception, match="'new' was unexpected"):
        check("failure", {"query": "", "error": "", "new": 1})
