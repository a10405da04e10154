"""What a server is started with; nothing of it comes from a tool call."""

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from qmd_py.config import Config
from qmd_py.records import Answer, StoredNote
from qmd_py.server.freshness import Refresher
from qmd_py.server.tongues import Tongue
from qmd_py.server.warm import WarmModels


class Gate(Protocol):
    """What the reader of this server may see."""

    def answer(self, found: Answer) -> Answer:
        """An answer without what may not be seen."""

    def note(self, note: StoredNote) -> None:
        """Let a note pass that may be read.

        Raises:
            NotFound: it may not.
        """


class OpenGate:
    """Everything may be seen."""

    def answer(self, found: Answer) -> Answer:
        """The answer as it is."""
        return found

    def note(self, note: StoredNote) -> None:
        """Every note passes."""


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


@dataclass(frozen=True, slots=True)
class Desk:
    """The index, the models, the languages and the policy of one server."""

    config: Config
    models: WarmModels
    fresh: Refresher
    tongues: Sequence[Tongue]
    gate: Gate = field(default_factory=OpenGate)
    now: Callable[[], datetime.datetime] = _now
