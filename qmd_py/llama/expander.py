"""A general language model, or one trained for it, that words a question in other ways."""

import contextlib
import hashlib
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from qmd_py import gguf
from qmd_py.cache.file import state_file
from qmd_py.expansion import lines, prompts
from qmd_py.expansion.prompts import Prompt
from qmd_py.records.wordings import Variant

if TYPE_CHECKING:
    from qmd_py.llama.grammar import Grammar
    from qmd_py.llama.runtime import Session

PROMPTS: dict[str, Callable[[str], Prompt]] = {"chat": prompts.chat, "qmd": prompts.qmd}

_CONTEXT = 1024  # tokens: prompt and answer; a model's full window would be gigabytes
_BATCH = 512
_MOST_TOKENS = 220  # the grammar allows about 200
_MARK = "\x1fquestion\x1f"
_DIGEST = 16  # bytes


class LlamaExpander:
    """An expander on a GGUF file; greedy, so the same question gives the same variants."""

    def __init__(
        self,
        file: Path,
        *,
        fingerprint: str,
        prompt: str,
        threads: int,
        gpu: bool | None = None,
        seconds: float = 20.0,
        prefix_folder: Path | None = None,
    ) -> None:
        """Take note of a file; it is checked and opened, and llama.cpp imported, at the first question.

        Args:
            file: the model.
            fingerprint: names the file's bytes.
            prompt: `chat` for instruct models, `qmd` for qmd's own.
            threads: to compute with.
            gpu: whether to use the GPU; None: where there is one.
            seconds: most time for one question; what was written by then counts.
            prefix_folder: where the evaluated beginning of the prompt is kept, if anywhere.
        """
        self._file = file
        self._threads, self._gpu = threads, gpu
        self._prompt = PROMPTS[prompt]
        self._seconds = seconds
        self._prefix_folder = prefix_folder
        self._finished = False
        self._name = f"{fingerprint} prompt {prompts.PROMPT_VERSION} {prompt}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the memory back."""
        if session := self.__dict__.pop("_session", None):
            session.close()

    @property
    def fingerprint(self) -> str:
        """The file and the prompt."""
        return self._name

    @property
    def finished(self) -> bool:
        """Whether the last answer was written to its end, not cut off by time."""
        return self._finished

    def expand(self, question: str) -> tuple[Variant, ...]:
        """Variants as the model wrote them; what it wrote in time, if it ran out of time.

        Raises:
            ModelMissing: the file is gone.
            ModelFailed: it cannot be opened, its chat template is unknown, or llama.cpp broke
                down.
        """
        from qmd_py.llama.runtime import OutOfTime

        self._session.stop_at(time.monotonic() + self._seconds)
        written = bytearray()
        self._finished = False
        with contextlib.suppress(OutOfTime):
            at = self._begin(question)
            with self._session.grammar(prompts.GRAMMAR) as grammar:
                self._write(grammar, at, written)
            self._finished = True
        # a line that time or room cut off could end in half a word
        del written[written.rfind(b"\n") + 1 :]
        return lines.variants(written.decode("utf-8", "ignore"))

    @cached_property
    def _session(self) -> "Session":
        from qmd_py.llama.opening import Setup
        from qmd_py.llama.runtime import Session

        gguf.inspect(self._file, "expand")
        return Session(self._file, Setup(_CONTEXT, _BATCH, self._threads, self._gpu))

    def _write(self, grammar: "Grammar", at: int, written: bytearray) -> None:
        for position in range(at, min(at + _MOST_TOKENS, _CONTEXT - 1)):
            token = grammar.choose(self._session.logits())
            if self._session.is_end(token):
                return
            written += self._session.text(token)
            self._session.evaluate([token], position)

    def _begin(self, question: str) -> int:
        """Evaluate the prompt; how many tokens it has."""
        asked = self._prompt(question)
        # after the first colon: `Question: question` holds the question twice
        user = asked.user.replace(f": {_one_line(question)}", f": {_MARK}", 1)
        shown = self._session.chat(asked.system, user)
        before, _, after = shown.rpartition(_MARK)
        head, own, tail = (
            self._session.tokens(before, special=True),
            self._session.tokens(_one_line(question)),
            self._session.tokens(after, special=True),
        )
        # the instructions are cut never, the question before it fills the window
        own = own[: _CONTEXT - _MOST_TOKENS - len(head) - len(tail) - 1]
        self._evaluate_head(head)
        self._session.evaluate([*own, *tail], len(head))
        return len(head) + len(own) + len(tail)

    def _evaluate_head(self, head: list[int]) -> None:
        """Evaluate the beginning that all questions share, or take it from disk."""
        kept = self._kept_prefix(head)
        self._session.forget(0)
        if kept and (state := _sound(kept)) and self._session.restore(state, len(head)):
            return
        self._session.forget(0)
        self._session.evaluate(head, 0)
        if kept:
            state = self._session.state()
            _write_whole(kept, _digest(state) + state)

    def _kept_prefix(self, head: list[int]) -> Path | None:
        if self._prefix_folder is None:
            return None
        name = hashlib.blake2b(f"{self._name} {head}".encode(), digest_size=12).digest()
        return state_file(self._prefix_folder, name)


def _sound(file: Path) -> bytes | None:
    """A kept state; None when there is none, or one that was damaged and would change what is said."""
    try:
        content = file.read_bytes()
    except OSError:
        return None
    state = content[_DIGEST:]
    return state if state and content[:_DIGEST] == _digest(state) else None


def _digest(state: bytes) -> bytes:
    return hashlib.blake2b(state, digest_size=_DIGEST).digest()


def _write_whole(file: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all; not at all is no loss."""
    half = file.with_suffix(f".{time.monotonic_ns()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        half.write_bytes(content)
        half.replace(file)
    except OSError:
        with contextlib.suppress(OSError):
            half.unlink(missing_ok=True)


def _one_line(question: str) -> str:
    return " ".join(question.split())
