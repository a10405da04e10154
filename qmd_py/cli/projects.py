"""`qmd init`: an index of its own for a project."""

import os
from pathlib import Path

from qmd_py import config
from qmd_py.cli.app import emit, notice
from qmd_py.errors import UsageError


def init() -> None:
    """Make an index in this folder, `.qmd/index.sqlite`; commands run below it then use that one.

    qmd init && qmd index docs
    """
    from qmd_py.store.writer import Writer

    folder = Path.cwd() / config.PROJECT_FOLDER
    file = folder / config.PROJECT_INDEX
    if config.foreign(folder):
        raise UsageError(f"{folder} is the npm qmd's: see 'qmd import-config --help'")
    known = file.is_file()
    with Writer.open(file):
        pass
    emit(f"{file}\n")
    if known:
        notice("it was here already: nothing was changed")
    if os.environ.get("QMD_INDEX"):
        notice("QMD_INDEX is set and goes before it")
