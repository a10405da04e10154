"""Read arguments, call one function, print what it returns."""

import os
import sys
from pathlib import Path


def main() -> None:
    """Run `qmd`."""
    _open_closed_streams()
    try:
        from qmd_py.cli.commands import application

        app = application(*sys.argv[1:2])
    except KeyboardInterrupt:  # the imports take long enough to be interrupted
        raise SystemExit(130) from None
    app()


def _open_closed_streams() -> None:
    """Let streams that the caller has closed lead nowhere; Python has None for them."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("r" if name == "stdin" else "w"))  # noqa: SIM115 — open to the end
