"""The npm qmd's settings, taken over."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qmd_py.foreign import Context, read

if TYPE_CHECKING:
    from typer.testing import Result

Qmd = Callable[..., "Result"]

SETTINGS = """\
global_context: Everything   I know
editor_uri: "vscode://file{path}:{line}"
models:
  embed: "hf:someone/model.gguf"
collections:
  notes:
    path: NOTES
    pattern: "**/*.{md,txt}, TODO"
    ignore:
      - "Archive/**"
      - "**/drafts/**"
      - "*.old.md"
    update: "touch PWNED"
    includeByDefault: false
    context:
      "/": Personal notes
      "/work/2024": Work
  plain:
    path: ~/plain
"""


@pytest.fixture
def settings(folder: Path, tmp_path: Path, isolated: Path) -> Path:
    for name in (
        "a.md", "b.txt", "c.org", "TODO", "sub/TODO", "Archive/x.md", "sub/Archive/y.md",
        "sub/drafts/z.md", "r.old.md", "sub/s.old.md", "dist/d.md", "vendor/v.md",
    ):  # fmt: skip
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"text of {name}\n")
    (isolated / "plain").mkdir()
    (isolated / "plain/p.md").write_text("plain\n")
    (isolated / "plain/p.markdown").write_text("not a .md\n")
    file = tmp_path / "index.yml"
    file.write_text(
        SETTINGS.replace("NOTES", str(folder)).replace("PWNED", str(tmp_path / "pwned"))
    )
    return file


def test_collections_masks_and_ignores_are_taken_over(
    qmd: Qmd, settings: Path, folder: Path, isolated: Path, tmp_path: Path
) -> None:
    result = qmd("import-config", settings)
    assert result.exit_code == 0
    assert result.stdout == f"notes  {folder}\nplain  {isolated}/plain\n"
    assert result.stderr == (
        "qmd: not taken over: 'editor_uri', 'models', "
        "the update command of 'notes', that 'notes' is searched only when named\n"
    )
    assert qmd("index", "--no-embed").exit_code == 0
    paths = [f"{n['collection']}/{n['path']}" for n in json.loads(qmd("ls", "--json").stdout)]
    assert paths == [
        "notes/TODO", "notes/a.md", "notes/b.txt", "notes/sub/Archive/y.md", "notes/sub/s.old.md",
        "plain/p.md",
    ]  # fmt: skip
    assert not (tmp_path / "pwned").exists()
    assert json.loads(qmd("context", "list", "--json").stdout) == [
        {"collection": "notes", "path": "", "text": "Everything I know; Personal notes"},
        {"collection": "notes", "path": "work/2024", "text": "Work"},
        {"collection": "plain", "path": "", "text": "Everything I know"},
    ]


def test_the_reader_yields_contexts_too(settings: Path) -> None:
    assert read(settings).contexts == (
        Context("notes", "", "Everything I know"),
        Context("notes", "", "Personal notes"),
        Context("notes", "work/2024", "Work"),
        Context("plain", "", "Everything I know"),
    )


def test_relative_folders_are_the_files_or_the_projects(tmp_path: Path) -> None:
    text = "collections: {docs: {path: docs}}"
    (tmp_path / ".qmd").mkdir()
    for file in (tmp_path / "index.yml", tmp_path / ".qmd/index.yml"):
        file.write_text(text)
        assert read(file).collections[0].root == tmp_path / "docs"


@pytest.mark.parametrize(
    ("pattern", "globs"),
    [
        pytest.param("**/*.md", ("**/*.md",), id="the default"),
        pytest.param("*.md", ("/*.md",), id="the top level alone"),
        pytest.param("{a,b/{c,d}}.md", ("/a.md", "b/c.md", "b/d.md"), id="nested braces"),
        pytest.param("a,b", ("/a", "/b"), id="a list"),
        pytest.param("{a,b", ("/{a,b",), id="a brace that is never closed"),
        pytest.param("a}b", ("/a}b",), id="a brace that was never opened"),
        pytest.param("{a}", ("/a",), id="one alternative"),
        pytest.param(" , ", (), id="nothing but a comma"),
        pytest.param("{a,b}" * 30, None, id="more than anyone can want"),
        pytest.param("{a," * 165, None, id="braces in braces"),
    ],
)
def test_masks(tmp_path: Path, pattern: str, globs: tuple[str, ...] | None) -> None:
    file = tmp_path / "index.yml"
    file.write_text(json.dumps({"collections": {"x": {"path": "x", "pattern": pattern}}}))
    found = read(file).collections[0].globs
    assert found == globs if globs is not None else len(found) <= 1000


def test_one_lost_folder_costs_only_itself(qmd: Qmd, settings: Path, isolated: Path) -> None:
    (isolated / "plain").rename(isolated / "gone")
    result = qmd("import-config", settings)
    assert result.exit_code == 2
    assert "qmd: plain: " in result.stderr
    assert "does not exist" in result.stderr
    again = qmd("import-config", settings)
    assert again.exit_code == 2
    assert "in the index already, as 'notes'" in again.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(None, "cannot read", id="no file"),
        pytest.param("a: [", "is no YAML at line", id="no YAML"),
        pytest.param("\x00", "is no YAML", id="binary"),
        pytest.param("", "the settings in", id="nothing"),
        pytest.param("- a", "must be a mapping", id="a list"),
        pytest.param("collections: [a]", "'collections' in", id="a list of collections"),
        pytest.param("collections: {a: b}", "collection 'a' in", id="a text for a collection"),
        pytest.param("collections: {a: {}}", "has no 'path'", id="no path"),
        pytest.param("collections: {a: {path: 3}}", "has no 'path'", id="a number for a path"),
        pytest.param("collections: {a: {path: x, pattern: [b]}}", "'pattern' of", id="a list"),
        pytest.param("collections: {a: {path: x, ignore: b}}", "'ignore' of", id="a text"),
        pytest.param("collections: {a: {path: x, context: b}}", "'context' of", id="a context"),
        pytest.param(
            "collections: {a: {path: x, pattern: '%s'}}" % ("{" * 501), "501", id="braces"
        ),
        pytest.param("!!python/object/apply:os.system [id]", "is no YAML", id="an object to make"),
    ],
)
def test_wrong_settings_are_told_and_leave_no_trace(
    qmd: Qmd, tmp_path: Path, isolated: Path, text: str | None, message: str
) -> None:
    file = tmp_path / "index.yml"
    if text is not None:
        file.write_text(text)
    result = qmd("import-config", file)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(isolated.iterdir()) == []
