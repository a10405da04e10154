"""What a model has to be able to do."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from qmd_py.records.values import Value

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from qmd_py.records.wordings import Variant

    Matrix: TypeAlias = npt.NDArray[np.float32]
    """Embeddings, one unit-length row a text: shape (texts, dimensions)."""


class Embedder(Protocol):
    """A bi-encoder: texts to vectors whose dot product says how alike they are."""

    @property
    def fingerprint(self) -> str:
        """Names the model, its version and its prefixes; vectors of two are never compared."""

    @property
    def dimensions(self) -> int:
        """Length of a vector."""

    @property
    def scale(self) -> tuple[float, float]:
        """Cosines at which a question and a passage are unrelated, and surely related."""

    def queries(self, texts: Sequence[str]) -> "Matrix":
        """Embed questions."""

    def passages(self, texts: Sequence[str]) -> "Matrix":
        """Embed passages of notes."""


class Around:
    """An embedder around another one, which it is like in all that it does not do in its own way."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def fingerprint(self) -> str:
        """The embedder's own."""
        return self._embedder.fingerprint

    @property
    def dimensions(self) -> int:
        """The embedder's own."""
        return self._embedder.dimensions

    @property
    def scale(self) -> tuple[float, float]:
        """The embedder's own."""
        return self._embedder.scale

    def queries(self, texts: Sequence[str]) -> "Matrix":
        """Embed questions."""
        return self._embedder.queries(texts)

    def passages(self, texts: Sequence[str]) -> "Matrix":
        """Embed passages of notes."""
        return self._embedder.passages(texts)


class AskedOnce(Around):
    """An embedder that embeds no question twice; made anew for each search."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedder)
        self._rows: dict[str, Matrix] = {}

    def queries(self, texts: Sequence[str]) -> "Matrix":
        """Embed those that are new."""
        import numpy as np

        new = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if new:
            self._rows |= dict(zip(new, super().queries(new), strict=True))
        return np.stack([self._rows[text] for text in texts])


@runtime_checkable
class Batching(Protocol):
    """An embedder that is better asked for many passages at once."""

    @property
    def batch(self) -> int:
        """How many."""


class Expander(Protocol):
    """A language model that words a question in other ways."""

    @property
    def fingerprint(self) -> str:
        """Names the model's file and its prompt; expansions of two are never mixed."""

    @property
    def finished(self) -> bool:
        """Whether the last answer was written to its end, not cut off by time."""

    def expand(self, question: str) -> "tuple[Variant, ...]":
        """Variants of a question as the model wrote them, unguarded; empty when it wrote none.

        Raises:
            ModelFailed: the model broke down.
        """


class Reranker(Protocol):
    """A cross-encoder: reads question and passage together."""

    @property
    def fingerprint(self) -> str:
        """Names the model's file and its template; scores of two are never mixed."""

    def scores(self, question: str, passages: Sequence[str]) -> Iterator[float]:
        """P(the passage answers the question), 0 to 1, one a passage in order, as they are ready.

        NaN where the model gave none.

        Raises:
            ModelFailed: the model broke down.
        """


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Models(Value):
    """The models a search may use; None for one that is missing."""

    embedder: Embedder | None = None
    expander: Expander | None = None
    reranker: Reranker | None = None
    missing: tuple[str, ...] = ()
    """For each missing one, the stage that is left out and why: `dense: no embedder here`."""
    absent: tuple[str, ...] = ()
    """Those of `missing` that nobody asked for by name, and that only have to be pulled."""

    def close(self) -> None:
        """Give the models' memory back; before Python ends, when llama.cpp may be gone already."""
        for model in (self.embedder, self.expander, self.reranker):
            close = getattr(model, "close", None)
            if close:
                close()
