"""The embeddings on disk, and exact nearest neighbours."""

import contextlib
import mmap
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from qmd_py import processors
from qmd_py.errors import Busy, IndexUnusable, ModelFailed

if TYPE_CHECKING:
    from qmd_py.models import Matrix

_LARGE = 50_000
"""Rows from which a pass goes by blocks: on all threads, and memory holds a few, not the file."""

_BLOCK = 32_768  # rows; any multiple of 1024 ends at the end of a page, whatever the dimensions


class VectorFile:
    """Unit vectors, one a row, as raw float32; rows are appended and never changed.

    How many rows count is the index's to say. What lies behind them was written by a run that was
    interrupted before the index knew of it, and is overwritten.
    """

    def __init__(self, file: Path, dimensions: int) -> None:
        self.file = file
        self._stride = 4 * dimensions
        self._dimensions = dimensions

    def append(self, rows: "Matrix", after: int) -> None:
        """Write rows behind the first `after`; on disk when this returns.

        Raises:
            IndexUnusable: the file is shorter than the rows that count, or cannot be written.
        """
        try:
            with self.file.open("r+b" if after else "wb") as stream:
                if os.fstat(stream.fileno()).st_size < after * self._stride:
                    raise IndexUnusable(self._damaged())
                stream.truncate(after * self._stride)
                stream.seek(after * self._stride)
                stream.write(np.ascontiguousarray(rows, dtype="<f4").tobytes())
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise IndexUnusable(f"cannot write {self.file}: {error.strerror}") from error

    def rows(self, count: int) -> "Matrix":
        """The first `count` rows, mapped into memory, read-only.

        Raises:
            IndexUnusable: the file is missing or shorter than that.
        """
        if not count:
            return np.zeros((0, self._dimensions), dtype=np.float32)
        try:
            return np.memmap(self.file, dtype="<f4", mode="r", shape=(count, self._dimensions))
        except (OSError, ValueError) as error:
            raise IndexUnusable(self._damaged()) from error

    def cosines(self, count: int, queries: "Matrix") -> "Matrix":
        """Of each query with the first `count` rows, one query a line.

        Exact at any size. Of a large file only the blocks at work are held in memory.

        Raises:
            IndexUnusable: the file is missing or shorter than that.
        """
        if count < _LARGE:
            return cosines(self.rows(count), queries)
        try:
            with self.file.open("rb") as stream:
                mapped = mmap.mmap(stream.fileno(), count * self._stride, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise IndexUnusable(self._damaged()) from error
        return self._by_blocks(mapped, count, queries)

    def _by_blocks(self, mapped: mmap.mmap, count: int, queries: "Matrix") -> "Matrix":
        scores = np.empty((len(queries), count), dtype=np.float32)

        def score(at: int) -> None:
            size = min(_BLOCK, count - at)
            place = at * self._stride
            block = np.frombuffer(mapped, "<f4", size * self._dimensions, place)
            rows = block.reshape(size, self._dimensions)
            for query, line in zip(queries, scores, strict=True):
                # no matrix product: that would start threads of its own below these
                np.vecdot(rows, query, out=line[at : at + size])
            _let_go(mapped, place, size * self._stride)

        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(processors.threads()) as pool:
            list(pool.map(score, range(0, count, _BLOCK)))
        return scores

    def checked(self, scores: "Matrix") -> "Matrix":
        """Cosines with rows of this file, as they are.

        Raises:
            IndexUnusable: some are no numbers, as rows that hold none give.
        """
        if not np.isfinite(scores).all():
            raise IndexUnusable(self._damaged())
        return scores

    def _damaged(self) -> str:
        return f"the vectors in {self.file} are damaged: run 'qmd embed --force' to make them anew"


def _let_go(mapped: mmap.mmap, at: int, size: int) -> None:
    """Give back the memory of a part that was read; the system may still have it at hand."""
    if hasattr(mapped, "madvise"):
        mapped.madvise(mmap.MADV_DONTNEED, at, size)


def cosines(matrix: "Matrix", queries: "Matrix") -> "Matrix":
    """Of each query with all rows, one query a line: one pass over the rows, which is what costs.

    Args:
        matrix: unit vectors, shape (rows, dimensions).
        queries: unit vectors, shape (queries, dimensions).
    """
    return queries @ matrix.T


def best(scores: "Matrix", depth: int) -> list[tuple[int, float]]:
    """The rows of the highest scores with them, best first; ties by row number.

    Args:
        scores: one a row, shape (rows,).
        depth: how many at most.
    """
    chosen = np.arange(len(scores))
    if depth < len(scores):
        # with all that tie with the last one, so that row numbers decide between them
        chosen = np.flatnonzero(scores >= np.partition(scores, -depth)[-depth])
    order = chosen[np.lexsort((chosen, -scores[chosen]))][:depth]
    return [(int(row), float(scores[row])) for row in order]


def zeros(count: int, dimensions: int) -> "Matrix":
    """Rows that are no vectors."""
    return np.zeros((count, dimensions), dtype=np.float32)


def likeness(matrix: "Matrix", own: Sequence[int], groups: Sequence[Sequence[int]]) -> list[float]:
    """How like each group of rows is to some rows of its own.

    Each row looks for its best counterpart on the other side; the mean of that is taken both ways,
    so that neither much text nor little is an advantage.

    Args:
        matrix: unit vectors, one a row.
        own: rows to compare with.
        groups: rows of each group, none empty.
    """
    mine = np.ascontiguousarray(matrix[list(own)]).T
    found = []
    for rows in groups:
        cosines = matrix[list(rows)] @ mine
        there, back = cosines.max(axis=0).mean(), cosines.max(axis=1).mean()
        found.append(float(there + back) / 2)
    return found


def check_length(rows: "Matrix", dimensions: int) -> None:
    """Make sure that vectors are as long as those in the index.

    Raises:
        ModelFailed: they are not, so the model is not the one that it was.
    """
    if rows.shape[1] != dimensions:
        raise ModelFailed(
            f"the model gives {rows.shape[1]} numbers a vector, the index has {dimensions}: run "
            "'qmd embed --force' if it was changed on purpose"
        )


def usable(rows: "Matrix") -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Which rows are unit vectors: models may answer NaN or zeros for odd texts."""
    with np.errstate(invalid="ignore", over="ignore"):
        lengths = np.linalg.norm(rows, axis=1)
        return np.asarray(np.abs(lengths - 1) < 0.01)


@contextlib.contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold a lock that ends with the process, however it ends.

    Raises:
        Busy: another process holds it.
        IndexUnusable: the folder of the index cannot be written to.
    """
    import fcntl

    try:
        stream = file.open("wb")
    except OSError as error:
        raise IndexUnusable(
            f"cannot write {file}: {error.strerror}: make room there, or choose another --index"
        ) from error
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise Busy(
                "another qmd is embedding these notes: let it finish, the work is shared"
            ) from error
        yield
