"""Qwen3-Reranker: reads a question and a passage together, and says how sure it is of yes."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from qmd_py import gguf
from qmd_py.errors import ModelFailed

if TYPE_CHECKING:
    from qmd_py.llama.opening import Setup
    from qmd_py.llama.runtime import Session
    from qmd_py.llama.team import Team

INSTRUCTION = "Given a web search query, retrieve relevant passages that answer the query"

TEMPLATE_VERSION = 1
"""Raised whenever the prompt changes; part of the fingerprint."""

# The template of the model card (Qwen/Qwen3-Reranker-0.6B), the empty thought included.
_SYSTEM = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the"
    ' Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>\n'
    "<|im_start|>user\n"
)
_TAIL = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"

_BATCH = 512  # tokens in one native call: the fastest on a CPU
_CONTEXT = 1024  # tokens: instruction, question and tail; what else there is room for, costs memory

# A pair whose answer no reranker can miss.
_KNOWN = "What is the capital of France?"
_RIGHT, _WRONG = "Paris is the capital of France.", "Bread dough needs about an hour to rise."
_LEAST_SPREAD = 0.5


class LlamaReranker:
    """A reranker on a GGUF file, with its rank head or by the logits of yes and no.

    The file is opened, and llama.cpp imported, when the first passage is scored.
    """

    def __init__(
        self,
        file: Path,
        *,
        fingerprint: str,
        threads: int,
        gpu: bool | None = None,
        passage_tokens: int = 160,
        instruction: str = INSTRUCTION,
    ) -> None:
        """Take note of a file.

        Args:
            file: the model.
            fingerprint: names the file's bytes.
            threads: to compute with.
            gpu: whether to use the GPU; None: where there is one.
            passage_tokens: longest passage that is read; what is longer is cut at its end.
            instruction: what counts as an answer.
        """
        self._file = file
        self._threads, self._gpu = threads, gpu
        self._instruction = instruction
        self._passage_tokens = passage_tokens
        self._name = f"{fingerprint} template {TEMPLATE_VERSION} {passage_tokens} {instruction}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the memory back."""
        for name in ("_team", "_session"):
            if opened := self.__dict__.pop(name, None):
                opened.close()

    @property
    def fingerprint(self) -> str:
        """The file, the template, the instruction and the length of a passage."""
        return self._name

    def scores(self, question: str, passages: Sequence[str]) -> Iterator[float]:
        """P(yes) of each passage, in order; NaN where the model gave none.

        The prompt up to the passage is evaluated once by each reader, and its cache kept: the scores
        are the same to the bit, since a token sees only those before it.

        Raises:
            ModelMissing: the file is gone.
            ModelFailed: it cannot be opened, knows no yes and no, or llama.cpp broke down.
        """
        if not passages:
            return
        opening = self._opening(question)
        yield from self._team.results(lambda one, text: self._score(one, opening, text), passages)

    def check(self) -> None:
        """Score a pair whose answer is known.

        Raises:
            ModelFailed: the scores do not tell right from wrong, so this is no reranker.
        """
        right, wrong = self.scores(_KNOWN, [_RIGHT, _WRONG])
        if not right - wrong >= _LEAST_SPREAD:
            raise ModelFailed(
                f"{self._session.file.name} does not tell an answer from other text "
                f"({right:.2f} against {wrong:.2f}): it is no reranker, or a damaged one"
            )

    def prompt(self, question: str, passage: str) -> list[int]:
        """All tokens of a pair; what `scores` evaluates, in two parts."""
        return [*self._opening(question), *self._closing(passage)]

    @cached_property
    def _has_head(self) -> bool:
        """Whether the file has a rank head; without one the logits are used."""
        return gguf.inspect(self._file, "rerank").has_rank_head

    @cached_property
    def _most(self) -> int:
        """How many readers there are where there is enough to read."""
        from qmd_py.llama import team
        from qmd_py.llama.opening import runs_on_gpu

        return 1 if runs_on_gpu(self._gpu) else team.size(self._threads)

    @cached_property
    def _setup(self) -> "Setup":
        from qmd_py.llama.opening import Pooling, Setup

        return Setup(
            _CONTEXT + self._passage_tokens,
            _BATCH,
            self._threads // self._most,
            self._gpu,
            embeddings=self._has_head,
            pooling=Pooling.RANK if self._has_head else Pooling.NONE,
        )

    @cached_property
    def _session(self) -> "Session":
        from qmd_py.llama.runtime import Session

        return Session(self._file, self._setup)

    @cached_property
    def _team(self) -> "Team[_Reader]":
        from qmd_py.llama.team import Team

        team = Team(self._most, self._beside)
        team.join(_Reader(self._session))
        return team

    def _beside(self) -> "_Reader":
        from qmd_py.llama.runtime import Session

        return _Reader(Session(self._file, self._setup, beside=self._session))

    @cached_property
    def _head(self) -> list[int]:
        """System and instruction, up to where the question begins."""
        instruction = f"<Instruct>: {self._instruction}\n<Query>:"
        return [*self._session.tokens(_SYSTEM, special=True), *self._session.tokens(instruction)]

    @cached_property
    def _tail(self) -> list[int]:
        return self._session.tokens(_TAIL, special=True)

    def _score(self, reader: "_Reader", opening: Sequence[int], passage: str) -> float:
        session = reader.ask(opening)
        start, closing = len(opening), self._closing(passage)
        # only the last token is asked for; without a head that costs nothing in one call
        quiet = len(closing) - len(self._tail) if self._has_head else 0
        session.evaluate(closing[:quiet], start, read=False)
        session.evaluate(closing[quiet:], start + quiet)
        yes, no = self._answers
        if self._has_head:
            # llama.cpp has applied the softmax already
            return _probability(float(session.pooled(2)[yes]))
        logits = session.logits()
        # the logistic function, without overflow
        return _probability((1 + math.tanh(float(logits[yes] - logits[no]) / 2)) / 2)

    def _opening(self, question: str) -> list[int]:
        """System, instruction and question, up to where the passage begins."""
        room = _CONTEXT - len(self._head) - len(self._tail)
        words, end = f" {' '.join(question.split())}", "\n<Document>:"
        # in one piece, since a question mark and the line's end may be one token
        asked = self._session.tokens(words + end)
        if len(asked) > room:
            ending = self._session.tokens(end)
            asked = [*self._session.tokens(words)[: room - len(ending)], *ending]
        return [*self._head, *asked]

    def _closing(self, passage: str) -> list[int]:
        """The passage, cut to its length, and the tail, never cut."""
        return [*self._session.tokens(f" {passage.strip()}")[: self._passage_tokens], *self._tail]

    @cached_property
    def _answers(self) -> tuple[int, int]:
        """Where yes and no stand: among the outputs of the head, or in the vocabulary."""
        if self._has_head:
            labels = [label.lower() for label in self._session.labels]
            if sorted(labels) != ["no", "yes"]:
                raise ModelFailed(
                    f"the rank head of {self._session.file.name} answers {labels}, not yes and no"
                )
            return labels.index("yes"), labels.index("no")
        yes, no = self._session.tokens("yes"), self._session.tokens("no")
        if len(yes) != 1 or len(no) != 1:
            raise ModelFailed(f"{self._session.file.name} has no single tokens for yes and no")
        return yes[0], no[0]


class _Reader:
    """A session that keeps a question in front of the passages it reads."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._opening: Sequence[int] = ()

    def give_up_when(self, given_up: Callable[[], bool]) -> None:
        self._session.give_up_when(given_up)

    def close(self) -> None:
        self._session.close()

    def ask(self, opening: Sequence[int]) -> "Session":
        """The session as it is behind these tokens, which are evaluated unless they were the last."""
        if opening == self._opening:
            self._session.forget(len(opening))
        else:
            self._opening = ()
            self._session.forget(0)
            self._session.evaluate(opening, 0, read=False)
            self._opening = opening
        return self._session


def _probability(value: float) -> float:
    return value if 0.0 <= value <= 1.0 else math.nan
