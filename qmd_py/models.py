"""What a model has to be able to do."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

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


@dataclass(frozen=True, slots=True)
class Models:
    """The models a search may use; None for one that is missing."""

    embedder: Embedder | None = None
    missing: tuple[str, ...] = ()
    """For each missing one, the stage that is left out and why: `dense: no embedder here`."""
