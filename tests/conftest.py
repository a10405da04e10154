"""Isolation, and the fixtures that most tests start from."""

import functools
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer.main
from typer.testing import CliRunner

from qmd_py.cli.whole import app

if TYPE_CHECKING:
    from typer.testing import Result

# Typer builds all commands anew at each call, a sixth of the time of these tests
pytest.MonkeyPatch().setattr("typer.testing._get_command", functools.cache(typer.main.get_command))

# as the command line sets it, before any model's library is loaded
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

Qmd = Callable[..., "Result"]
"""Runs a command line: `qmd("search", "x").stdout`."""

VAULT = Path(__file__).parent / "vault"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """As many as there are processors; one where times are measured or models fill them all."""
    return None if config.option.markexpr.startswith("not ") else 0


@pytest.fixture(autouse=True)
def isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or writes the user's own index, settings or folders."""
    home = tmp_path / "home"
    home.mkdir()
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setenv("QMD_INDEX", str(home / "index.sqlite"))
    for name in (
        "QMD_CONFIG",
        "QMD_CACHE",
        "QMD_MODELS",
        "QMD_MODELS_DIR",
        "QMD_POLICY",
        "HF_ENDPOINT",
        "QMD_MCP_TOKEN",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return home


@pytest.fixture
def qmd() -> "Qmd":
    """Run a command line in this process: `qmd("search", "x").stdout`."""
    runner = CliRunner()

    def run(*args: object, stdin: str | None = None) -> "Result":
        return runner.invoke(app, [str(arg) for arg in args], input=stdin)

    return run


@pytest.fixture
def git(folder: Path) -> Callable[..., str]:
    """Run git in the folder for notes, whatever the user's own settings are."""
    own = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "core.hooksPath=/dev/null")

    def run(*args: str) -> str:
        command = ["git", "-C", str(folder), *own, *args]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder for notes."""
    path = tmp_path / "notes"
    path.mkdir()
    return path


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A copy of the sample vault, free to be changed."""
    return Path(shutil.copytree(VAULT, tmp_path / "vault"))
