"""Traces of decisions, in files of their own."""

import contextlib
import json
import os
import stat
import tempfile
from pathlib import Path

from qmd_py import contained
from qmd_py.errors import FileUnreadable, QmdError
from qmd_py.render.machine import TRACE_KEYS

_LARGEST = 100_000_000  # bytes
_EMPTY = ("", ".json")  # suffixes of empty files that are taken


def write(file: Path, text: str) -> None:
    """Put a trace where there is none yet, or an earlier one, for the user alone.

    Raises:
        QmdError: it cannot be written, or something else is there.
    """
    try:
        if not _is_free(file):
            raise QmdError(f"{file} is there and no earlier trace: name another file for the trace")
        descriptor, beside = tempfile.mkstemp(".tmp", ".trace-", file.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(text)
            Path(beside).replace(file)
        except OSError:
            with contextlib.suppress(OSError):
                Path(beside).unlink()
            raise
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "that is no path"
        raise QmdError(f"cannot write the trace to {file}: {why}") from error


def _is_free(file: Path) -> bool:
    """Whether nothing is lost by a trace there: neither a note nor a pipe nor a link."""
    try:
        state = file.lstat()
    except FileNotFoundError:
        return True
    if not stat.S_ISREG(state.st_mode):
        return False
    if not state.st_size:  # made for it, unless it is an empty note or another program's
        return file.suffix in _EMPTY
    try:
        told = json.loads(contained.content(file.parent, file.name, _LARGEST))
    except (FileUnreadable, ValueError, RecursionError):
        return False
    return isinstance(told, dict) and set(TRACE_KEYS) <= set(told)
