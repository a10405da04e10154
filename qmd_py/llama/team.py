"""Sessions of one model that work side by side: a thread each, none waits for another."""

import contextlib
import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, Protocol, TypeVar

from qmd_py.errors import ModelFailed

_LARGEST = 4  # each member has a context of its own, 140 MB for a reranker


def size(threads: int) -> int:
    """How many members leave the fewest threads without work; rather many than threads that share."""
    several = range(2, min(threads, _LARGEST) + 1)
    return max(several, key=lambda count: (threads // count * count, count), default=1)


class Member(Protocol):
    """Works on one thread at a time, and can be made to stop."""

    def give_up_when(self, given_up: Callable[[], bool]) -> None:
        """End native calls once this says so."""
        ...

    def close(self) -> None:
        """Give the memory back."""
        ...


M = TypeVar("M", bound=Member)
T = TypeVar("T")
R = TypeVar("R")


class Team(Generic[M]):
    """Members that take one piece of work after the other; they are made when they are needed."""

    def __init__(self, most: int, make: Callable[[], M]) -> None:
        """Note how many there may be, and how one is made; in that thread which needs it."""
        self._make = make
        self._most = most
        self._threads = ThreadPoolExecutor(most)
        self._members: list[M] = []
        self._free: queue.SimpleQueue[M] = queue.SimpleQueue()
        self._begun: set[threading.Event] = set()
        self._making = threading.Lock()
        self._may_grow = True

    def join(self, member: M) -> None:
        """Take one in that is there already; the first is closed last."""
        self._members.append(member)
        self._free.put(member)

    def close(self) -> None:
        """End all work, and close the members."""
        for given_up in list(self._begun):
            given_up.set()
        self._threads.shutdown(cancel_futures=True)
        for member in reversed(self._members):
            member.close()
        self._members.clear()

    def results(self, work: Callable[[M, T], R], pieces: Iterable[T]) -> Generator[R, None, None]:
        """What becomes of each piece, in order; a few are worked on ahead of what is taken.

        Who stops taking, or is interrupted, ends what is being worked on.

        Raises:
            ModelFailed: there is no thread to work on, or not even one member could be made.
            Exception: what `work` raised for a piece, in its turn.
        """
        given_up = threading.Event()
        self._begun.add(given_up)
        ahead: deque[Future[R]] = deque()
        try:
            for piece in pieces:
                ahead.append(self._submitted(work, piece, given_up))
                if len(ahead) > 2 * self._most:  # so that no thread waits for the slowest
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            given_up.set()
            for begun in ahead:
                begun.cancel()
            self._begun.discard(given_up)

    def _submitted(
        self, work: Callable[[M, T], R], piece: T, given_up: threading.Event
    ) -> "Future[R]":
        try:
            return self._threads.submit(self._work, work, piece, given_up)
        except RuntimeError as error:
            raise ModelFailed(
                f"no thread to compute on ({error}): let qmd start more, see 'ulimit -u'"
            ) from error

    def _work(self, work: Callable[[M, T], R], piece: T, given_up: threading.Event) -> R:
        member = self._taken()
        try:
            member.give_up_when(given_up.is_set)
            return work(member, piece)
        finally:
            self._free.put(member)

    def _taken(self) -> M:
        """A free one or a new one; the next that is free where no more can be made."""
        with contextlib.suppress(queue.Empty):
            return self._free.get_nowait()
        return self._made() or self._free.get()

    def _made(self) -> M | None:
        """A new one; None where there is no memory for more of them."""
        with self._making:
            try:
                made = self._make() if self._may_grow else None
            except ModelFailed:
                if not self._members:
                    raise
                made, self._may_grow = None, False
            if made:
                self._members.append(made)
            return made
