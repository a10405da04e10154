"""The index kept up to date while a server runs."""

import threading
import time
import traceback
from collections.abc import Callable

from qmd_py import embedding, indexing
from qmd_py.config import Config
from qmd_py.errors import QmdError
from qmd_py.meaning import fingerprint
from qmd_py.models import Embedder
from qmd_py.records.notes import Collection
from qmd_py.store import embeddings
from qmd_py.store.writer import Writer

EVERY = 3.0
"""Seconds between two looks at the folders, at least."""

PATIENCE = 1.0
"""Seconds that searches wait for changed notes; then they ask the index as it is."""

SHARE = 0.05
"""Largest part of the time that is spent on looking: in a large folder it is done less often."""

_EMBEDDING = 20.0  # seconds at a time


class Refresher:
    """Looks for changed files before a search, in the background, and never fails a search."""

    def __init__(
        self,
        config: Config,
        embedder: Callable[[], Embedder | None],
        *,
        every: float = EVERY,
        patience: float = PATIENCE,
        share: float = SHARE,
    ) -> None:
        self._config = config
        self._embedder = embedder
        self._every = every
        self._patience = patience
        self._rest_for = 1 / share - 1
        self._lock = threading.Lock()
        self._next = 0.0
        self._deadline = 0.0
        self._worker: threading.Thread | None = None
        self._current = threading.Event()
        self._tried: dict[str, frozenset[str]] = {}
        self._unembedded = False
        self.problem: str | None = None
        """What hindered the last look, in words."""

    def look(self) -> None:
        """Bring changed notes into the index, at most as long as searches have patience."""
        with self._lock:
            now = time.monotonic()
            if now >= self._next and (self._worker is None or not self._worker.is_alive()):
                self._current = threading.Event()
                self._deadline = now + self._patience
                self._next = now + self._every
                self._worker = threading.Thread(
                    target=self._work, args=(self._current,), name="refresh", daemon=True
                )
                self._worker.start()
            current, deadline = self._current, self._deadline
        current.wait(max(0.0, deadline - time.monotonic()))

    def finish(self, seconds: float) -> None:
        """Wait for the look that is under way."""
        if self._worker:
            self._worker.join(seconds)

    def _work(self, current: threading.Event) -> None:
        start = time.monotonic()
        self.problem = None
        try:
            # opening for writing would make an index anew that somebody has deleted
            if self._config.index.is_file():
                with Writer.open(self._config.index) as store:
                    self._update(store)
                    self._rest(start)
                    current.set()
                    self._embed(store)
        except QmdError as error:  # somebody else is writing, say; the next look comes soon
            self.problem = str(error)
        except Exception:  # noqa: BLE001 — a bug, told as one that a tool runs into is
            traceback.print_exc()
            self.problem = "this is a bug in qmd: the look for changed notes broke down"
        finally:
            current.set()

    def _rest(self, start: float) -> None:
        with self._lock:
            taken = time.monotonic() - start
            self._next = max(self._next, time.monotonic() + self._rest_for * taken)

    def _update(self, store: Writer) -> None:
        settings = self._config.settings
        if indexing.settings_changed(store, settings):
            self.problem = "the settings have changed: run 'qmd index' to make the index anew"
            return
        for collection in store.collections():
            changes = indexing.changes(store, collection, settings)
            if changes and changes != self._tried.get(collection.name):
                self._read(store, collection)
                # what cannot be read stays a change, and is not tried again until it changes again
                self._tried[collection.name] = changes

    def _read(self, store: Writer, collection: Collection) -> None:
        report = indexing.update(store, collection, self._config.settings)
        self._unembedded |= bool(report.new or report.changed)

    def _embed(self, store: Writer) -> None:
        """Embed what is new, where the notes were embedded before; what is left waits its turn."""
        embedder = self._embedder() if self._unembedded else None
        if embedder is None:
            return
        try:
            pending = 0
            if embeddings.space_of(store, fingerprint(store, embedder)):
                pending = embedding.embed(store, embedder, seconds=_EMBEDDING).pending
            self._unembedded = pending > 0
        finally:
            close = getattr(embedder, "close", None)
            if close:
                close()
