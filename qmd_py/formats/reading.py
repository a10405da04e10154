"""A file → its text; documents are converted in a process of their own, with limits."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

from qmd_py import contained, files
from qmd_py.errors import FileUnreadable
from qmd_py.files import Text
from qmd_py.formats.kinds import kind_of, require

SECONDS = 120.0  # for one document; the slowest real ones take a few


def read(root: Path, name: str, max_bytes: int) -> Text:
    """The text of a note of any kind; of a document, the Markdown that was made of it.

    A document that cannot be converted gives no text and says why, so that it is found by its name
    and looked at again only when it has changed.

    Args:
        root: the folder of its collection, outside of which nothing is read.
        name: relative to it, `/`-separated.
        max_bytes: larger files are not read.

    Raises:
        FileUnreadable: it cannot be opened, leads outside, is no regular file, is too large, or its
            kind needs an extra that is not installed.
        NotText: it is binary.
    """
    file = root / name
    kind = kind_of(file)
    require(kind, file)
    if not kind.converted:
        return files.read(root, name, max_bytes)
    content = contained.content(root, name, max_bytes)
    text, problem = _converted(content, kind.name, file, max_bytes)
    return Text(text, hashlib.sha256(content).hexdigest(), problem)


def _converted(content: bytes, kind: str, file: Path, limit: int) -> tuple[str, str | None]:
    """The Markdown of a document, and what was wrong with it.

    Raises:
        FileUnreadable: the process cannot be started.
    """
    # -P: a folder of notes may hold a file named like a module
    command = [sys.executable, "-P", "-m", "qmd_py.formats.worker"]
    asked = [kind, file.suffix.lower(), str(limit), str(int(SECONDS))]
    # one thread: its memory is bounded, and each thread reserves some
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [*command, *asked],
            input=content,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "", f"cannot be converted: not done after {SECONDS:g} seconds"
    except OSError as error:
        raise FileUnreadable(f"cannot convert {file}: {error.strerror}") from error
    return _answer(done.stdout, done.returncode)


def _answer(output: bytes, status: int) -> tuple[str, str | None]:
    try:
        answer = json.loads(output)
    except ValueError:
        return "", f"cannot be converted: the converter broke down (status {status})"
    return str(answer["text"]), answer["problem"]
