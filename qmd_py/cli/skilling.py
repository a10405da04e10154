"""`qmd skill`: how to use qmd, for agents that have a shell."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from qmd_py.cli.app import Commands, IndexOption, configured, emit
from qmd_py.errors import QmdError, UsageError
from qmd_py.store.reader import Reader

HOMES = (".claude", ".codex", ".agents")
"""Folders in the home folder below whose `skills` such tools look."""

skill = typer.Typer(
    cls=Commands,
    invoke_without_command=True,
    help="Print how to use qmd, for agents that have a shell; 'install' puts it where they look.",
    rich_markup_mode="rich",
)


@skill.callback()
def print_(context: typer.Context, index: IndexOption = None) -> None:
    """Print how to use qmd, for agents that have a shell; 'install' puts it where they look."""
    if context.invoked_subcommand is None:
        emit(_text(index))


@skill.command("install")
def install(
    folder: Annotated[
        Path | None,
        typer.Option("--dir", metavar="DIR", help="A folder of skills; else those in your home."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", "-f", help="Replace a file that is not of qmd.")
    ] = False,
    index: IndexOption = None,
) -> None:
    """Write it where agents look: `skills/qmd/SKILL.md` below ~/.claude, ~/.codex and ~/.agents.

    qmd skill install

    qmd skill install --dir .claude/skills
    """
    text = _text(index)
    files = [root / "qmd" / "SKILL.md" for root in ([folder] if folder else _roots())]
    for file in files:
        _check(file, force)
    for file in files:
        _write(file, text)
        emit(f"wrote {file}\n")


def _roots() -> Sequence[Path]:
    """The folders of skills of the tools that are used here.

    Raises:
        UsageError: there are none.
    """
    found = [Path.home() / name / "skills" for name in HOMES if (Path.home() / name).is_dir()]
    if not found:
        names = ", ".join(f"~/{name}" for name in HOMES)
        raise UsageError(f"none of {names} is here: name a folder of skills with --dir")
    return found


def _check(file: Path, force: bool) -> None:
    try:
        ours = not file.exists() or "\nname: qmd\n" in file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        ours = False
    if not ours and not force:
        raise UsageError(f"{file} is not of qmd: replace it with --force")


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise QmdError(f"cannot write {file}: {error.strerror}") from error


def _text(index: str | None) -> str:
    """The words of the skill, with the languages and contexts of the notes where there is an index."""
    from qmd_py import contexts
    from qmd_py.server import teaching, tongues

    config = configured(index)
    if not config.index.is_file():
        return teaching.skill(())
    with Reader.open(config.index) as store:
        known = contexts.told(store, gated=config.policy is not None)
        return teaching.skill(tongues.detected(store), known)
