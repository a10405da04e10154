"""Where an editor, or whatever the terminal opens a link with, finds a line."""

import os
from urllib.parse import quote


def address(file: str, line: int, editor: str | None = None) -> str:
    """The address of a line; empty where the user wants none.

    Args:
        file: absolute path.
        line: 1-based.
        editor: an address with `{path}` and perhaps `{line}`, or `none`; None: a `file://` address.
    """
    if editor == "none":
        return ""
    path = quote(os.fsencode(file))
    return (editor or "file://{path}").replace("{path}", path).replace("{line}", str(line))
