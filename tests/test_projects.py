"""Indexes inside projects and by name; a checked-out index is data, and held to its folder."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from typer.testing import Result

Qmd = Callable[..., "Result"]

SECRET = "# Secret\n\nThe password is xyzzy.\n"
READING = ("search apples", "query apples", "section 1", "toc 1", "get 1", "ls", "status", "index")


@pytest.fixture
def project(qmd: Qmd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with an index of its own; the working folder is inside it, a secret beside it."""
    monkeypatch.delenv("QMD_INDEX")
    (tmp_path / "secret.md").write_text(SECRET)
    folder = tmp_path / "project"
    (folder / "docs").mkdir(parents=True)
    (folder / "src").mkdir()
    (folder / "docs/a.md").write_text("# Apples\n\nRed apples.\n")
    monkeypatch.chdir(folder)
    assert qmd("init").stdout == f"{folder}/.qmd/index.sqlite\n"
    assert qmd("index", "--no-embed", "docs").exit_code == 0
    return folder


def changed(project: Path, sql: str, *values: object) -> None:
    """Change the index as a stranger could before a checkout."""
    connection = sqlite3.connect(project / ".qmd/index.sqlite")
    connection.execute(sql, values)
    connection.commit()
    connection.close()


def test_the_index_is_found_upwards(
    qmd: Qmd, project: Path, isolated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project / "src")
    assert qmd("search", "apples", "-l").stdout == f"{project}/docs/a.md\n"
    monkeypatch.chdir(project.parent)
    assert "no index at" in qmd("search", "apples").stderr
    assert not list(isolated.rglob("*.sqlite"))


def test_an_inner_project_goes_before_an_outer_one(
    qmd: Qmd, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project / "src")
    qmd("init")
    assert qmd("ls").exit_code == 1
    (project / "src/.qmd/index.sqlite").unlink()
    assert "docs/a.md" in qmd("ls").stdout


def test_init_again_changes_nothing(qmd: Qmd, project: Path) -> None:
    result = qmd("init")
    assert (result.exit_code, result.stderr) == (
        0,
        "qmd: it was here already: nothing was changed\n",
    )
    assert "docs/a.md" in qmd("ls").stdout


def test_init_says_when_the_variable_goes_before(
    qmd: Qmd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert qmd("init").stderr == "qmd: QMD_INDEX is set and goes before it\n"


def test_a_checkout_elsewhere_works(
    qmd: Qmd, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = Path(shutil.copytree(project, project.parent / "elsewhere"))
    shutil.rmtree(project)
    monkeypatch.chdir(elsewhere)
    (hit,) = json.loads(qmd("search", "apples", "--json").stdout)["results"]
    assert hit["stale"] is None
    assert hit["source"]["uri"] == f"file://{elsewhere}/docs/a.md#apples"
    assert qmd("section", hit["source"]["uri"]).stdout == "# Apples\n\nRed apples.\n"
    assert qmd("get", "docs/a.md").exit_code == 0
    assert qmd("index", "--no-embed").stdout == "docs: nothing changed, 1 note\n"
    assert str(elsewhere / "docs") in qmd("collection", "list").stdout


def test_the_whole_project_may_be_a_collection(qmd: Qmd, project: Path) -> None:
    assert qmd("index", "--no-embed", ".").stdout == "project: 1 new\n"
    assert qmd("index", "--no-embed", ".").stdout == "project: nothing changed, 1 note\n"
    assert "'project'" in qmd("collection", "add", ".").stderr


def test_neither_settings_nor_models_are_taken_from_a_project(qmd: Qmd, project: Path) -> None:
    for name in ("config.toml", "models.toml"):
        (project / ".qmd" / name).write_text("= no TOML")
        (project / name).write_text("= no TOML")
    assert qmd("search", "apples").exit_code == 0
    assert qmd("models", "list").exit_code == 0


@pytest.mark.parametrize("command", ["index", "collection add"])
def test_a_folder_outside_is_refused(qmd: Qmd, project: Path, command: str) -> None:
    for name, target in (("..", ""), ("link", "..")):
        if target:
            (project / name).symlink_to(target)
        result = qmd(*command.split(), name)
        assert result.exit_code == 2
        assert result.stderr == (
            f"qmd: {project.parent} lies outside the project {project}: "
            "choose another index with --index\n"
        )
    assert len(json.loads(qmd("collection", "list", "--json").stdout)) == 1


@pytest.mark.parametrize(
    "root", ["..", "{outside}", "/", "docs/../..", "link", "x\0y", "/dev/null"]
)
@pytest.mark.parametrize("command", READING)
def test_a_checked_out_root_outside_is_refused(
    qmd: Qmd, project: Path, root: str, command: str
) -> None:
    (project / "link").symlink_to(project.parent)
    changed(project, "UPDATE collections SET root = ?", root.format(outside=project.parent))
    result = qmd(*command.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert "lies outside the project" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("file", ["../../secret.md", "{outside}/secret.md", "x/../../../secret.md"])
@pytest.mark.parametrize("command", ["search apples --full", "section 1", "toc 1", "get 1", "ls"])
def test_a_checked_out_note_outside_is_refused(
    qmd: Qmd, project: Path, file: str, command: str
) -> None:
    changed(project, "UPDATE pids SET file = ?", file.format(outside=project.parent))
    result = qmd(*command.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert "lies outside its folder" in result.stderr


@pytest.mark.parametrize("command", ["section 1", "toc 1", "get 1"])
def test_a_link_in_place_of_a_note_is_not_followed(qmd: Qmd, project: Path, command: str) -> None:
    (project / "docs/a.md").unlink()
    (project / "docs/a.md").symlink_to("../../secret.md")
    result = qmd(*command.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert "is a symbolic link" in result.stderr
    assert "xyzzy" not in qmd("search", "apples", "--full", "--json").stdout
    qmd("index", "--no-embed", "--prune")
    assert "xyzzy" not in qmd("search", "password").stdout


def test_a_linked_folder_in_a_collection_is_not_followed(qmd: Qmd, project: Path) -> None:
    (project / "docs/sub").symlink_to(project.parent)
    changed(project, "UPDATE pids SET file = 'sub/secret.md'")
    assert "is a symbolic link" in qmd("get", "1").stderr
    assert "xyzzy" not in qmd("search", "apples", "--full", "--json").stdout


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TRIGGER t AFTER INSERT ON notes BEGIN UPDATE collections SET root = '/'; END",
        "CREATE VIEW v AS SELECT 1",
    ],
)
@pytest.mark.parametrize("command", ["search apples", "index"])
def test_an_index_with_statements_of_its_own_is_refused(
    qmd: Qmd, project: Path, sql: str, command: str
) -> None:
    changed(project, sql)
    result = qmd(*command.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert "would run statements of its own" in result.stderr


@pytest.mark.parametrize("name", ["../../victim", "/tmp/victim", "index.sqlite", "other"])
def test_vectors_elsewhere_are_refused(qmd: Qmd, project: Path, name: str) -> None:
    changed(project, "INSERT INTO spaces (fingerprint, dimensions, file) VALUES ('x', 1, ?)", name)
    assert "its vectors lie elsewhere" in qmd("index").stderr


@pytest.mark.parametrize("name", ["index.sqlite", "index.sqlite-wal", "index.sqlite.vectors-1"])
def test_a_link_beside_the_index_is_not_written_through(
    qmd: Qmd, project: Path, tmp_path: Path, name: str
) -> None:
    victim = tmp_path / "victim"
    if (link := project / ".qmd" / name).exists():
        shutil.move(link, victim)
    else:
        victim.write_bytes(b"mine")
    before = victim.read_bytes()
    link.symlink_to(victim)
    for command in ("index", "search apples", "init"):
        assert "is no regular file" in qmd(*command.split()).stderr
    assert victim.read_bytes() == before


def test_a_link_to_another_project_folder_is_refused(qmd: Qmd, project: Path) -> None:
    shutil.move(project / ".qmd", project.parent / "data")
    (project / ".qmd").symlink_to("../data")
    assert "is a symbolic link" in qmd("search", "apples").stderr


def test_the_folder_of_the_npm_tool_is_passed_over(
    qmd: Qmd, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project / "src")
    (project / "src/.qmd").mkdir()
    (project / "src/.qmd/index.yml").write_text("collections: {}\n")
    (project / "src/.qmd/index.sqlite").write_bytes(b"theirs")
    assert qmd("search", "apples").exit_code == 0
    result = qmd("init")
    assert result.exit_code == 2
    assert "is the npm qmd's" in result.stderr


def test_a_bare_word_names_an_index_beside_the_default(
    qmd: Qmd, folder: Path, isolated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("QMD_INDEX")
    (folder / "a.md").write_text("apples\n")
    assert qmd("index", "--no-embed", "--index", "work", folder).exit_code == 0
    assert (isolated / "qmd-py/work.sqlite").is_file()
    assert qmd("search", "apples", "--index", "work").exit_code == 0
    assert "qmd-py/index.sqlite" in qmd("search", "apples").stderr
    monkeypatch.setenv("QMD_INDEX", "work")
    assert qmd("search", "apples").exit_code == 0
    assert "qmd-py/index.sqlite" in qmd("search", "apples", "--index", "index").stderr


@pytest.mark.parametrize("name", ["./work", "work.db", "sub/work"])
def test_a_slash_or_a_suffix_makes_a_file(qmd: Qmd, folder: Path, name: str) -> None:
    (folder / "a.md").write_text("apples\n")
    assert qmd("index", "--no-embed", "--index", name, folder).exit_code == 0
    assert Path(name).is_file()
    assert qmd("search", "apples", "--index", name).exit_code == 0


def test_what_is_named_goes_before_the_project_and_that_before_the_settings(
    qmd: Qmd, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text("index = 'named'\n")
    monkeypatch.setenv("QMD_CONFIG", str(settings))
    assert qmd("search", "apples").exit_code == 0
    assert "qmd-py/other.sqlite" in qmd("search", "apples", "--index", "other").stderr
    monkeypatch.setenv("QMD_INDEX", "third")
    assert "qmd-py/third.sqlite" in qmd("search", "apples").stderr
    monkeypatch.delenv("QMD_INDEX")
    monkeypatch.chdir(tmp_path)
    assert "qmd-py/named.sqlite" in qmd("search", "apples").stderr


def test_a_deleted_working_folder_has_no_project(
    qmd: Qmd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("QMD_INDEX")
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert "no index at" in qmd("search", "apples").stderr
    os.chdir(tmp_path)
