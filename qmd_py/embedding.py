"""Passages of the index → vectors beside it."""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from qmd_py import passages, vectors
from qmd_py.errors import ModelFailed, ServerFailed
from qmd_py.meaning import fingerprint
from qmd_py.models import Batching, Embedder
from qmd_py.reports import EmbedReport
from qmd_py.store import embeddings
from qmd_py.store.embeddings import Pending, Space
from qmd_py.store.reader import Reader
from qmd_py.store.writer import Writer
from qmd_py.vectors import VectorFile

if TYPE_CHECKING:
    import numpy as np

    from qmd_py.models import Matrix

Progress = Callable[[int, int], None]
"""Called with the number of passages done and of all that were pending."""

_BATCH = 4  # passages in one native call: about a second, so that Ctrl-C is answered

_COPIED = 10_000  # rows at a time; a few megabytes


@dataclass(frozen=True, slots=True)
class _Lap:
    report: EmbedReport
    after: int


def embed(
    store: Writer,
    embedder: Embedder,
    *,
    seconds: float | None = None,
    progress: Progress = lambda _done, _all: None,
) -> EmbedReport:
    """Embed what has no vector yet; stops after `seconds`, and goes on from there the next time.

    A vector counts only once it is on disk and the index knows its row, so an interruption at any
    moment loses at most one batch. A passage the model cannot embed is counted and passed over.

    Raises:
        Busy: another process is embedding.
        IndexUnusable: the index cannot be written.
        ServerFailed: the server that runs the model cannot be used.
    """
    size = embedder.batch if isinstance(embedder, Batching) else _BATCH
    deadline = None if seconds is None else time.monotonic() + seconds
    with _alone(store):
        space = _space(store, embedder)
        all_ = embeddings.count_pending(store, space)
        lap = _Lap(EmbedReport(pending=all_), 0)
        progress(0, all_)
        while batch := embeddings.pending(store, space, lap.after, size):
            if deadline is not None and time.monotonic() >= deadline:
                break
            lap = _embed_batch(store, embedder, space, batch, lap)
            progress(lap.report.embedded + lap.report.failed, all_)
        with store.batch():
            embeddings.note_whole(store, space)
        # counted anew: notes may have come and gone meanwhile
        return replace(lap.report, pending=embeddings.count_pending(store, space))


def waiting(store: Reader, embedder: Embedder) -> int:
    """How many passages have no vector of this embedder yet."""
    space = embeddings.space_of(store, fingerprint(store, embedder))
    return (
        embeddings.count_waiting(store, space) if space else embeddings.count_pending(store, space)
    )


def start_anew(store: Writer, embedder: Embedder) -> None:
    """Drop the vectors of this embedder, good and bad ones.

    Raises:
        Busy: another process is embedding.
    """
    _drop(
        store,
        [s for s in embeddings.spaces(store) if s.fingerprint == fingerprint(store, embedder)],
    )


def drop_others(store: Writer, embedder: Embedder) -> int:
    """Drop the vectors of all other embedders; how many sets there were.

    Raises:
        Busy: another process is embedding.
    """
    own = fingerprint(store, embedder)
    others = [space for space in embeddings.spaces(store) if space.fingerprint != own]
    _drop(store, others)
    return len(others)


def compact(store: Writer) -> int:
    """Give back the room of vectors whose passages are in no note any more; how many there were.

    What stays is copied to a new file, which counts from the moment when the index says so: an
    interruption at any time leaves the old one or the new one in force.

    Raises:
        Busy: another process is embedding.
        IndexUnusable: the vectors are damaged, or cannot be written.
    """
    with _alone(store):
        return sum(_compacted(store, space) for space in embeddings.spaces(store))


def _compacted(store: Writer, space: Space) -> int:
    old = VectorFile(_beside(store, space.file), space.dimensions)
    with store.batch():
        kept = embeddings.drop_orphans(store, space)
        dropped = space.rows - len(kept)
        if not dropped:
            return 0
        name = _next_name(space.file)
        new = VectorFile(_beside(store, name), space.dimensions)
        rows = old.rows(space.rows)
        for at in range(0, len(kept), _COPIED):
            new.append(rows[kept[at : at + _COPIED]], at)
        embeddings.move_rows(store, space, kept, name)
    old.file.unlink(missing_ok=True)
    return dropped


def _next_name(file: str) -> str:
    """`index.sqlite.vectors-3` and `index.sqlite.vectors-3b` by turns."""
    return file.removesuffix("b") if file.endswith("b") else f"{file}b"


def _embed_batch(
    store: Writer, embedder: Embedder, space: Space, batch: list[Pending], lap: _Lap
) -> _Lap:
    rows, good = _vectors(embedder, [_passage(one) for one in batch])
    vectors.check_length(rows, space.dimensions)
    with store.batch():
        # counted anew inside the transaction: the file must not be written where others count on it
        after = next(s.rows for s in embeddings.spaces(store) if s.id == space.id)
        numbers = iter(range(after, after + len(batch)))
        VectorFile(_beside(store, space.file), space.dimensions).append(rows[good], after)
        given = [
            (one.key, next(numbers) if ok else None) for one, ok in zip(batch, good, strict=True)
        ]
        embeddings.add_vectors(store, space, given)
    failed = len(batch) - int(good.sum())
    report = replace(
        lap.report,
        embedded=lap.report.embedded + len(batch) - failed,
        failed=lap.report.failed + failed,
    )
    return _Lap(report, batch[-1].chunk)


def _vectors(
    embedder: Embedder, texts: list[str]
) -> "tuple[Matrix, np.ndarray[tuple[int], np.dtype[np.bool_]]]":
    """The vectors of some texts, and which of them are usable.

    One bad text can spoil a whole batch, so a batch with bad rows is embedded text by text.
    """
    rows = _tried(embedder, texts)
    good = vectors.usable(rows)
    if not good.all() and len(texts) > 1:
        for at, text in enumerate(texts):
            rows[at] = _tried(embedder, [text])[0]
        good = vectors.usable(rows)
    return rows, good


def _tried(embedder: Embedder, texts: list[str]) -> "Matrix":
    """The vectors of some texts; zeros, which are no vectors, where the model broke down."""
    try:
        return embedder.passages(texts)
    except ServerFailed:
        raise  # it would fail for all others too
    except ModelFailed:
        return vectors.zeros(len(texts), embedder.dimensions)


def _passage(one: Pending) -> str:
    return passages.passage(one.title, one.aliases, one.toc_path, one.text)


def _space(store: Writer, embedder: Embedder) -> Space:
    name = fingerprint(store, embedder)
    with store.batch():
        found = embeddings.space_of(store, name)
        if found:
            embeddings.drop_failed(store, found)
        return found or embeddings.add_space(store, name, embedder.dimensions)


def _drop(store: Writer, spaces: list[Space]) -> None:
    with _alone(store):
        with store.batch():
            for space in spaces:
                embeddings.drop_space(store, space)
        for space in spaces:
            with contextlib.suppress(FileNotFoundError):
                _beside(store, space.file).unlink()


def _alone(store: Reader) -> contextlib.AbstractContextManager[None]:
    return vectors.locked(_beside(store, f"{store.file.name}.embedding"))


def _beside(store: Reader, name: str) -> Path:
    return store.file.with_name(name)
