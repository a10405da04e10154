"""Ctrl-C, deadlines and work given up during native calls."""

import contextlib
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator

from qmd_py.llama.library import native


class Interrupt:
    """Ctrl-C during a native call: noticed by the callbacks, which end the call.

    Python runs signal handlers only between its own instructions. The callbacks are such; an
    exception raised in them would be lost, so the handler only takes note.
    """

    def __init__(self) -> None:
        self.pressed = False
        self.deadline = math.inf
        self.given_up: Callable[[], bool] = bool
        self.abort = native.ggml_abort_callback(lambda _data: self._over())
        self.progress = native.llama_progress_callback(lambda _part, _data: not self.pressed)

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Take note of Ctrl-C while a native call runs, in place of Python's own handler."""
        self.pressed = False
        if threading.current_thread() is not threading.main_thread():
            yield  # only the main thread may set handlers, and only it gets the signals
            return
        before = signal.signal(signal.SIGINT, self._note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _over(self) -> bool:
        return self.pressed or self.given_up() or time.monotonic() > self.deadline

    def _note(self, *_: object) -> None:
        self.pressed = True
