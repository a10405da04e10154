"""Stand-ins for models: deterministic, and with enough meaning to be found by it."""

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from qmd_py.errors import ModelFailed
from qmd_py.records.wordings import Variant

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


class FakeReranker:
    """Believes a passage the more of the question's words it holds, synonyms included."""

    def __init__(
        self,
        name: str = "fake 1",
        *,
        says: Mapping[str, float] | None = None,
        fails_after: int | None = None,
    ) -> None:
        """A reranker that never tires.

        Args:
            name: its fingerprint.
            says: what to say of passages that hold certain words, in place of its own belief.
            fails_after: how many passages it reads before it breaks down, each time it is asked.
        """
        self.fingerprint = name
        self._says = says or {}
        self._fails_after = fails_after
        self.read: list[str] = []
        """Every passage that was read, in order."""
        self.questions: list[str] = []

    def scores(self, question: str, passages: Sequence[str]) -> Iterator[float]:
        self.questions.append(question)
        for at, passage in enumerate(passages):
            if at == self._fails_after:
                raise ModelFailed("fake.gguf: it broke down")
            self.read.append(passage)
            yield self._score(question, passage)

    def _score(self, question: str, passage: str) -> float:
        told = next((score for word, score in self._says.items() if word in passage), None)
        if told is not None:
            return told
        wanted, held = _meanings(question), _meanings(passage)
        return 0.001 + 0.998 * len(wanted & held) / max(len(wanted), 1)


class FakeExpander:
    """Knows synonyms: writes them for words, and puts them into the question's own sentence."""

    def __init__(
        self,
        name: str = "fake 1",
        *,
        writes: Sequence[Variant] | None = None,
        fails: bool = False,
    ) -> None:
        """An expander that always has something to say.

        Args:
            name: its fingerprint.
            writes: what to write, in place of its own.
            fails: break down at each question.
        """
        self.fingerprint = name
        self._writes = writes
        self._fails = fails
        self.finished = True
        self.asked: list[str] = []

    def expand(self, question: str) -> tuple[Variant, ...]:
        self.asked.append(question)
        if self._fails:
            raise ModelFailed("fake.gguf: it broke down")
        if self._writes is not None:
            return tuple(self._writes)
        words = [_other(word) for word in re.findall(r"\w+", question.casefold())]
        sentence = " ".join(words)
        return (
            Variant("lex", " ".join(words[-2:])),
            Variant("vec", sentence),
            Variant("hyde", f"This is {sentence} in the note itself."),
        )


def _meanings(text: str) -> frozenset[str]:
    return frozenset(SYNONYMS.get(word, word) for word in re.findall(r"\w+", text.casefold()))


def _other(word: str) -> str:
    """A synonym of the same script; the word itself where there is none."""
    for words in _SAME:
        if word in words:
            return next(
                (w for w in sorted(words) if w != word and w.isascii() == word.isascii()), word
            )
    return word
