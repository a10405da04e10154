"""Bi-encoders on GGUF files: MiniLM, Qwen3-Embedding, EmbeddingGemma and their like."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from qmd_py import gguf
from qmd_py.errors import ModelFailed
from qmd_py.llama.opening import Pooling, Setup, runs_on_gpu
from qmd_py.llama.runtime import Session

if TYPE_CHECKING:
    from qmd_py.llama.team import Team
    from qmd_py.models import Matrix

_LONGEST = 2048  # tokens of one text; chunks have a few hundred
_EACH = 8  # passages that a thread takes in one call


class LlamaEmbedder:
    """An embedder on a GGUF file."""

    def __init__(
        self,
        file: Path,
        *,
        fingerprint: str,
        threads: int,
        gpu: bool | None = None,
        questions_only: bool = False,
        pooling: Pooling = Pooling.AS_IN_FILE,
        query_prefix: str = "",
        passage_prefix: str = "",
        scale: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        """Check and open a file.

        Args:
            file: the model.
            fingerprint: names the file's bytes.
            threads: to compute with.
            gpu: whether to use the GPU; None: where there is one.
            questions_only: whether it is for a few short texts, and to be ready soon.
            pooling: how tokens become one vector; the file's own way unless given.
            query_prefix: what the model wants before a question.
            passage_prefix: what it wants before a passage.
            scale: cosines of unrelated and of surely related pairs.

        Raises:
            ModelMissing: there is none.
            ModelFailed: it cannot be opened.
        """
        trained_on = gguf.inspect(file, "embed").number("context_length") or _LONGEST
        self._longest = max(1, min(trained_on, _LONGEST))
        self._full = Setup(
            self._longest,
            self._longest,
            threads,
            gpu,
            embeddings=True,
            pooling=pooling,
            brief=questions_only,
        )
        self._file = file
        self._session = Session(file, self._full)
        self._prefixes = query_prefix, passage_prefix
        self._scale = scale
        kind = f"{self._session.pooling} {query_prefix!r} {passage_prefix!r}"
        self._name = f"{fingerprint} pooling {kind}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the memory back."""
        if team := self.__dict__.pop("_team", None):
            team.close()
        self._session.close()

    @property
    def fingerprint(self) -> str:
        """The file, the pooling and the prefixes."""
        return self._name

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._session.dimensions

    @property
    def scale(self) -> tuple[float, float]:
        """Cosines of unrelated and surely related pairs."""
        return self._scale

    @property
    def batch(self) -> int:
        """How many passages are best embedded in one call."""
        return _EACH * self._several

    def queries(self, texts: Sequence[str]) -> "Matrix":
        """Embed questions.

        Raises:
            ModelFailed: llama.cpp broke down.
        """
        return self._embed(self._prefixes[0], texts)

    def passages(self, texts: Sequence[str]) -> "Matrix":
        """Embed passages; what is longer than the model's window is cut at its end.

        Raises:
            ModelFailed: llama.cpp broke down.
        """
        return self._embed(self._prefixes[1], texts)

    def _embed(self, prefix: str, texts: Sequence[str]) -> "Matrix":
        """One text at a time: on a CPU several in one call are no faster, and not quite the same.

        Of many texts each thread takes its own: threads that share one wait for each other.
        """
        whole = [prefix + text for text in texts]
        if len(texts) < _EACH or not self._side_by_side:
            rows = [self._one(self._session, text) for text in whole]
        else:
            rows = list(self._team.results(self._one, whole))
        return np.array(rows, dtype=np.float32).reshape(-1, self.dimensions)

    @cached_property
    def _side_by_side(self) -> bool:
        """Whether threads work beside each other: several of them, with memory for one at least."""
        if self._several == 1:
            return False
        try:
            self._team.join(self._beside())
        except ModelFailed:
            return False
        return True

    @cached_property
    def _several(self) -> int:
        """How many sessions work side by side where there is enough to embed."""
        from qmd_py.llama import team

        return 1 if runs_on_gpu(self._full.gpu) else team.size(self._full.threads)

    @cached_property
    def _team(self) -> "Team[Session]":
        from qmd_py.llama.team import Team

        return Team(self._several, self._beside)

    def _beside(self) -> Session:
        alone = replace(self._full, threads=self._full.threads // self._several)
        return Session(self._file, alone, beside=self._session)

    def _one(self, session: Session, text: str) -> "Matrix":
        tokens = session.tokens(text, ends=True)
        if not tokens:
            return np.zeros(self.dimensions, dtype=np.float32)
        if len(tokens) > self._longest:
            tokens = [*tokens[: self._longest - 1], tokens[-1]]
        session.forget(0)
        session.evaluate(tokens, 0)
        vector = session.pooled()
        length = float(np.linalg.norm(vector))
        return vector / length if length else vector
