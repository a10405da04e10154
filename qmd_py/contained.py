"""Files inside a folder, opened so that nothing outside of it is ever read."""

import os
import stat
from io import FileIO
from pathlib import Path

from qmd_py.errors import FileUnreadable

_ODD = {"", ".", ".."}
_AT_ONCE = 1 << 20  # bytes


def content(root: Path, name: str, max_bytes: int) -> bytes:
    """The bytes of a regular file below a folder; no link on the way from there is followed.

    What was indexed may since have given way to a link that leads elsewhere, or to a pipe. Looking
    first and opening then would leave a moment in between, so each folder is opened in the last one.

    Args:
        root: the folder; it may itself be reached through links.
        name: relative to it, `/`-separated.
        max_bytes: larger files are not read.

    Raises:
        FileUnreadable: it cannot be opened, leads outside, is no regular file, or is too large.
    """
    try:
        with FileIO(name, opener=lambda *_: _opened(root, name)) as stream:
            state = os.fstat(stream.fileno())
            if not stat.S_ISREG(state.st_mode):
                raise FileUnreadable(f"{Path(root, name)} is not a regular file")
            found = _all_of(stream, state.st_size, max_bytes + 1)
    except (OSError, ValueError) as error:
        raise FileUnreadable(_reason(root, name, error)) from error
    if len(found) > max_bytes:
        raise FileUnreadable(
            f"{Path(root, name)} is larger than {max_bytes} bytes: raise max_bytes to read it"
        )
    return found


def _all_of(stream: FileIO, size: int, most: int) -> bytes:
    """The bytes of a file, as far as they are wanted; it may have grown beyond its size."""
    found = stream.read(min(size + 1, most))
    while len(found) < most and (more := stream.read(min(most - len(found), _AT_ONCE))):
        found += more
    return found


def _opened(root: Path, name: str) -> int:
    """A descriptor of the file.

    Raises:
        OSError: it cannot be opened without following a link.
        ValueError: the name leads out of the folder, or is none.
    """
    *folders, last = name.split("/")
    if _ODD & {*folders, last}:
        raise ValueError("it does not lie inside")
    here = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for folder in folders:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
            below = os.open(folder, flags, dir_fd=here)
            os.close(here)
            here = below
        # without O_NONBLOCK, opening a pipe would wait for ever
        return os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=here)
    finally:
        os.close(here)


def _reason(root: Path, name: str, error: OSError | ValueError) -> str:
    at = root
    for part in name.split("/"):
        at = at / part
        if isinstance(error, OSError) and at.is_symlink():
            return f"{at} is a symbolic link, and those are not followed: run 'qmd index'"
    what = error.strerror if isinstance(error, OSError) else str(error)
    return f"cannot read {Path(root, name)}: {what}"
