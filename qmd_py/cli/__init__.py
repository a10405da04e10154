"""Read arguments, call one function, print what it returns."""

import gc
import os
import sys
from pathlib import Path

_SEARCHES = {"search", "vsearch", "query"}
"""Commands that leave nothing behind which Python would have to put in order at the end."""


def main() -> None:
    """Run `qmd`."""
    gc.disable()  # imports make no garbage, and looking for it takes a twentieth of a search
    _open_closed_streams()
    _forget_impossible_width()
    try:
        from qmd_py.cli.commands import application

        if not _SEARCHES.isdisjoint(sys.argv[1:2]):
            # a question is a vector or two times a matrix, cut into blocks where that is large:
            # threads of the library's own only get in the way, a tenth of a query
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        app = application(*sys.argv[1:2])
        gc.freeze()
        gc.enable()
        app()
    except KeyboardInterrupt:  # before a command takes over: imports take long enough for that
        raise SystemExit(130) from None
    except SystemExit as ended:
        if not _SEARCHES.isdisjoint(sys.argv[1:2]):
            _leave(ended)
        raise


def _leave(ended: SystemExit) -> None:
    """End the process at once: taking all modules apart takes a tenth of a search.

    Where something is still to be said (a stream cannot be flushed), Python ends it in its own way.
    """
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return
    if isinstance(ended.code, int):
        os._exit(ended.code)


def _forget_impossible_width() -> None:
    """Drop a width that is none; a window of no columns would show nothing."""
    width = os.environ.get("COLUMNS", "1")
    if not width.isdecimal() or not int(width):
        del os.environ["COLUMNS"]


def _open_closed_streams() -> None:
    """Let streams that the caller has closed lead nowhere; Python has None for them."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("r" if name == "stdin" else "w"))  # noqa: SIM115 — open to the end
