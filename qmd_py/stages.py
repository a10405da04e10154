"""What the stages of a pipeline did and how long they took."""

import contextlib
import time
from collections.abc import Iterator, Sequence

from qmd_py.records.answers import Stage


class Stages:
    """Collects the stages of one search."""

    def __init__(self, missing: Sequence[str] = ()) -> None:
        self._remarks = list(missing)
        self._broken: list[str] = []
        self._done: list[Stage] = []
        self._note = ""

    @property
    def done(self) -> tuple[Stage, ...]:
        """The stages that have run, in order."""
        return tuple(self._done)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Stages that were left out or cut short, each with the reason: `dense: …`."""
        return tuple(self._remarks)

    @property
    def broken(self) -> tuple[str, ...]:
        """Those of the remarks that tell of something that broke down."""
        return tuple(self._broken)

    @contextlib.contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Time a stage."""
        start = time.perf_counter()
        self._note = ""
        yield
        self._done.append(Stage(name, time.perf_counter() - start, self._note))

    def remark(self, text: str | None) -> None:
        """Say why a stage was left out or cut short."""
        if text and text not in self._remarks:
            self._remarks.append(text)

    def failure(self, text: str | None) -> None:
        """Say what broke down, so that its stage was left out or cut short."""
        self.remark(text)
        if text:
            self._broken.append(text)

    def note(self, text: str) -> None:
        """Say what the stage that is running did."""
        self._note = text
