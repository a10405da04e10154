"""Models that stay loaded between calls."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from qmd_py.errors import Busy, ModelFailed
from qmd_py.models import Around, Embedder, Models, Reranker

if TYPE_CHECKING:
    from qmd_py.models import Matrix

IDLE = 600.0
"""Seconds without a call after which the models' memory is given back."""

_UNWANTED = "nobody waits for this search any more: ask again"
_WAITING = 8  # calls that may wait for the slow models, beside the one they work for


class WarmModels:
    """Loads the models at their first use, lends them, and lets go of them when nobody asks."""

    def __init__(
        self,
        load: Callable[[], Models],
        idle: float = IDLE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._load = load
        self._idle = idle
        self._clock = clock
        self._lock = threading.Lock()
        self._slow = threading.Lock()
        self._waiting = threading.BoundedSemaphore(_WAITING + 1)
        self._models: Models | None = None
        self._users = 0
        self._last = clock()

    @property
    def loaded(self) -> bool:
        """Whether the models take memory now."""
        return self._models is not None

    @contextlib.contextmanager
    def lent(
        self, *, expander: bool, reranker: bool, unwanted: Callable[[], bool] = bool
    ) -> Iterator[Models]:
        """The models for one search; the slow ones serve one search at a time.

        Args:
            expander: whether it wants one.
            reranker: the same.
            unwanted: tells when nobody waits for the search any more; it then gives up its turn.

        Raises:
            Busy: too many searches wait for the slow models, or nobody waits for this one.
        """
        models = _chosen(self._taken(), expander=expander, reranker=reranker)
        try:
            if models.expander or models.reranker:
                with self._turn():
                    if unwanted():
                        raise Busy(_UNWANTED)
                    yield _stopping(models, unwanted)
            else:
                yield models
        finally:
            self._given_back()

    def release_idle(self) -> bool:
        """Let go of the models when nobody has used them for long; tells whether it did."""
        with self._lock:
            if self._users or self._clock() - self._last < self._idle:
                return False
            models, self._models = self._models, None
        return _closed(models)

    def _taken(self) -> Models:
        with self._lock:
            if self._models is None:
                found = self._load()
                shared = _OneAtATime(found.embedder) if found.embedder else None
                self._models = replace(found, embedder=shared)
            self._users += 1
            return self._models

    def _given_back(self) -> None:
        with self._lock:
            self._users -= 1
            self._last = self._clock()

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._waiting.acquire(blocking=False):
            raise Busy(
                "too many searches wait for the local models: try again later, or with rerank false"
            )
        try:
            with self._slow:
                yield
        finally:
            self._waiting.release()


class _OneAtATime(Around):
    """An embedder that several threads may ask."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedder)
        self._lock = threading.Lock()

    def queries(self, texts: Sequence[str]) -> "Matrix":
        with self._lock:
            return super().queries(texts)

    def passages(self, texts: Sequence[str]) -> "Matrix":
        with self._lock:
            return super().passages(texts)

    def close(self) -> None:
        close = getattr(self._embedder, "close", None)
        if close:
            close()


class _Stopping:
    """A reranker that breaks down once nobody waits for what it says."""

    def __init__(self, reranker: Reranker, unwanted: Callable[[], bool]) -> None:
        self._reranker = reranker
        self._unwanted = unwanted

    @property
    def fingerprint(self) -> str:
        return self._reranker.fingerprint

    def scores(self, question: str, passages: Sequence[str]) -> Iterator[float]:
        for score in self._reranker.scores(question, passages):
            yield score
            if self._unwanted():
                raise ModelFailed(_UNWANTED)


def _stopping(models: Models, unwanted: Callable[[], bool]) -> Models:
    reranker = models.reranker
    return replace(models, reranker=_Stopping(reranker, unwanted) if reranker else None)


def _chosen(models: Models, *, expander: bool, reranker: bool) -> Models:
    """Without what the call does not want; what is not wanted is not missed either."""
    unwanted = tuple(
        f"{stage}: " for stage, wanted in (("expand", expander), ("rerank", reranker)) if not wanted
    )
    return replace(
        models,
        expander=models.expander if expander else None,
        reranker=models.reranker if reranker else None,
        missing=tuple(each for each in models.missing if not each.startswith(unwanted or "\0")),
    )


def _closed(models: Models | None) -> bool:
    """Let go of models; tells whether there were any."""
    if models is None:
        return False
    models.close()
    return True
