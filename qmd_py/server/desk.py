"""What a server is started with; nothing of it comes from a tool call."""

import contextlib
import datetime
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from qmd_py.admission import Policy
from qmd_py.config import Config
from qmd_py.gate import Gate
from qmd_py.git import Repositories
from qmd_py.provenance import Reading
from qmd_py.server.freshness import Refresher
from qmd_py.server.tongues import Tongue
from qmd_py.server.warm import WarmModels
from qmd_py.store.contexts import Context


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


@dataclass(frozen=True, slots=True)
class Desk:
    """The index, the models, the languages and the policy of one server."""

    config: Config
    models: WarmModels
    fresh: Refresher
    tongues: Sequence[Tongue]
    contexts: Sequence[Context] = ()
    """What collections and folders are about, as far as this reader may know of them."""
    policy: Policy | None = None
    """What may be used as evidence, and by whom; None: everything is shown."""
    now: Callable[[], datetime.datetime] = _now

    @contextlib.contextmanager
    def admission(self) -> Iterator[tuple[Reading, Gate | None]]:
        """For one call: how provenance is found out, and what stands between notes and reader."""
        settings = self.config.settings
        with Repositories() as repositories:
            reading = Reading(settings.metadata, settings.max_bytes, repositories)
            yield reading, Gate(self.policy, self.now(), reading) if self.policy else None
