"""Notes and their index, made once and asked by many tests."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from qmd_py.cli.whole import app

if TYPE_CHECKING:
    from typer.testing import Result

Notes = Mapping[str, str | bytes]


@dataclass(frozen=True, slots=True)
class Shelf:
    """A folder of notes and the index made of it."""

    folder: Path
    index: Path

    @classmethod
    def of(cls, place: Path, notes: Notes, *options: str) -> "Shelf":
        """Write the notes into a folder called `notes` and index them, words only."""
        folder = place / "notes"
        folder.mkdir()
        write(folder, notes)
        shelf = cls(folder, place / "index.sqlite")
        with pytest.MonkeyPatch.context() as patch:
            isolate(place, patch)
            made = shelf("index", "--no-embed", *options, folder)
        assert made.exit_code == 0, made.output
        return shelf

    def __call__(self, command: str, *args: object) -> "Result":
        """Run a command on this index, in this process."""
        words = [command, "--index", str(self.index), *map(str, args)]
        return CliRunner().invoke(app, words)

    def answer(self, command: str, *args: object) -> Any:
        """What a command says as JSON; it must say nothing else."""
        shown = self(command, "--json", *args)
        assert shown.stderr == ""
        return json.loads(shown.stdout)

    def hits(self, *question: object, mode: str = "search") -> list[str]:
        """The paths that a question finds, best first."""
        return [hit["path"] for hit in self.answer(mode, "--no-toc", *question)["results"]]

    def pid(self, path: str) -> int:
        """The pid of a note."""
        return next(int(note["pid"]) for note in self.answer("ls") if note["path"] == path)


def write(folder: Path, notes: Notes) -> None:
    """Write files below a folder."""
    for name, content in notes.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)


def isolate(home: Path, patch: pytest.MonkeyPatch) -> None:
    """Keep the user's own settings out of what is not inside a test."""
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        patch.setenv(name, str(home))
    for name in ("QMD_CONFIG", "QMD_CACHE", "QMD_MODELS", "QMD_MODELS_DIR"):
        patch.delenv(name, raising=False)


def said(result: "Result") -> str:
    """The one line on stderr of a command that failed, without the name before it."""
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("qmd: ")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("qmd: ").removesuffix("\n")
