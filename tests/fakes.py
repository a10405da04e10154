"""Stand-ins for models: deterministic, and with enough meaning to be found by it."""

import re
import zlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from qmd_py.models import Matrix

_SAME = (
    {"car", "cars", "automobile", "vehicle", "машина", "автомобиль"},
    {"cat", "cats", "feline", "кот", "кошка"},
    {"apple", "apples", "яблоко", "яблоки"},
    {"buy", "purchase", "купить"},
)
SYNONYMS = {word: min(words) for words in _SAME for word in words}


class FakeEmbedder:
    """A bag of words with synonyms, hashed into 64 dimensions.

    Texts without a word give zeros, as real models may for odd texts.
    """

    def __init__(self, name: str = "fake 1") -> None:
        self.name = name
        self.seen: list[str] = []
        """Every passage that was embedded, in order."""

    @property
    def fingerprint(self) -> str:
        return self.name

    @property
    def dimensions(self) -> int:
        return 64

    @property
    def scale(self) -> tuple[float, float]:
        return 0.2, 0.6

    def queries(self, texts: Sequence[str]) -> "Matrix":
        return self._embed(texts)

    def passages(self, texts: Sequence[str]) -> "Matrix":
        self.seen += texts
        return self._embed(texts)

    def _embed(self, texts: Sequence[str]) -> "Matrix":
        bags = np.array([self._bag(text) for text in texts], dtype=np.float32).reshape(-1, 64)
        lengths = np.linalg.norm(bags, axis=1, keepdims=True)
        found: Matrix = (bags / np.where(lengths, lengths, 1)).astype(np.float32)
        return found

    def _bag(self, text: str) -> "Matrix":
        bag = np.zeros(64, dtype=np.float32)
        for word in re.findall(r"\w+", text.casefold()):
            bag[zlib.crc32(SYNONYMS.get(word, word).encode()) % 64] += 1
        return bag


class FailingEmbedder(FakeEmbedder):
    """Gives no usable vector where a text holds a certain word; one bad text spoils its batch."""

    def __init__(self, word: str = "poison", value: float = float("nan")) -> None:
        super().__init__()
        self._word = word
        self._value = value

    def cure(self) -> None:
        """From now on, no text is bad."""
        self._word = "\0"

    def _embed(self, texts: Sequence[str]) -> "Matrix":
        found = super()._embed(texts)
        if self._poisoned(texts):
            found[:] = self._value
        return found

    def _poisoned(self, texts: Iterable[str]) -> bool:
        return any(self._word in text for text in texts)
