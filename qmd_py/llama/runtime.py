"""A model file opened by llama.cpp: tokens in, logits or embeddings out."""

import contextlib
import ctypes
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qmd_py.errors import ModelFailed
from qmd_py.llama import opening
from qmd_py.llama.grammar import Grammar
from qmd_py.llama.interrupt import Interrupt
from qmd_py.llama.library import native
from qmd_py.llama.opening import Setup

if TYPE_CHECKING:
    from qmd_py.models import Matrix

_ABORTED = 2  # what llama_decode returns when its abort callback said so


class OutOfTime(ModelFailed):
    """A native call was ended by its deadline."""


class Session:
    """One model with one context; close it, or use it as a context manager."""

    def __init__(self, file: Path, setup: Setup, *, beside: "Session | None" = None) -> None:
        """Open a model file that has been checked.

        Args:
            file: the model.
            setup: how it is opened.
            beside: a session of the same file, whose weights are shared; it is closed last.

        Raises:
            ModelFailed: llama.cpp cannot load it or has no memory for its context.
        """
        self.file = file
        self._interrupt = Interrupt()
        self._shared = beside is not None
        self._model: Any = beside._model if beside else opening.model(file, setup, self._interrupt)
        self._context = opening.context(self._model, setup, self._interrupt)
        if not self._context:
            self._free_model()
            raise ModelFailed(f"not enough memory to run {file.name}: choose a smaller model")
        self._vocabulary = native.llama_model_get_vocab(self._model)
        self._memory = native.llama_get_memory(self._context)
        self._batch_size = setup.batch
        self._embeddings = setup.embeddings
        self._batch = native.llama_batch_init(setup.batch, 0, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the memory back; nothing else may be called afterwards."""
        if hasattr(self, "_model"):
            native.llama_batch_free(self._batch)
            native.llama_free(self._context)
            self._free_model()
            # who calls something nevertheless gets an error of Python's, not the end of the process
            del self._batch, self._context, self._vocabulary, self._memory

    def stop_at(self, deadline: float) -> None:
        """Let native calls end at this time of the monotonic clock."""
        self._interrupt.deadline = deadline

    def give_up_when(self, given_up: Callable[[], bool]) -> None:
        """Let native calls end once this says so, as if their time were over."""
        self._interrupt.given_up = given_up

    @property
    def dimensions(self) -> int:
        """Length of an embedding."""
        return int(native.llama_model_n_embd(self._model))

    @property
    def pooling(self) -> int:
        """The pooling in force."""
        return int(native.llama_pooling_type(self._context))

    @property
    def labels(self) -> list[str]:
        """The classes of a rank head."""
        count = native.llama_model_n_cls_out(self._model)
        found = (native.llama_model_cls_label(self._model, at) for at in range(count))
        return [label.decode(errors="replace") for label in found if label]

    def metadata(self, key: str) -> str | None:
        """A value of the file's header as text."""
        buffer = ctypes.create_string_buffer(1 << 16)
        size = native.llama_model_meta_val_str(self._model, key.encode(), buffer, len(buffer))
        return buffer.value.decode(errors="replace") if size >= 0 else None

    def tokens(self, text: str, *, special: bool = False, ends: bool = False) -> list[int]:
        """The tokens of a text.

        Args:
            text: any text.
            special: whether `<|im_end|>` and the like are control tokens; never for text of notes,
                or a note could speak for the model.
            ends: whether to add what the model wants at the beginning and end of a text.
        """
        if native.llama_vocab_type(self._vocabulary) == native.LLAMA_VOCAB_TYPE_WPM:
            # of a whole Korean syllable llama.cpp would read the first letter alone
            text = unicodedata.normalize("NFD", text)
        raw = text.encode("utf-8", "replace")
        room = len(raw) + 16
        buffer = (native.llama_token * room)()
        count = native.llama_tokenize(self._vocabulary, raw, len(raw), buffer, room, ends, special)
        return list(buffer[: max(count, 0)])

    def text(self, token: int) -> bytes:
        """The bytes of a token; nothing for control tokens."""
        buffer = ctypes.create_string_buffer(256)
        size = native.llama_token_to_piece(self._vocabulary, token, buffer, len(buffer), 0, False)
        return buffer.raw[: max(size, 0)]

    def is_end(self, token: int) -> bool:
        """Whether a token ends what the model generates."""
        return bool(native.llama_vocab_is_eog(self._vocabulary, token))

    def evaluate(self, tokens: Sequence[int], start: int, *, read: bool = True) -> None:
        """Process tokens at positions from `start` on; what was behind them must be forgotten.

        Args:
            tokens: as many as there is room for.
            start: position of the first.
            read: whether logits or a vector will be asked for. For a vector llama.cpp computes the
                logits of every token, with a large vocabulary a quarter of the work.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed meanwhile.
            OutOfTime: the deadline has passed.
            ModelFailed: llama.cpp could not.
        """
        for at in range(0, len(tokens), self._batch_size):
            part = tokens[at : at + self._batch_size]
            self._fill(part, start + at, last=read and at + len(part) == len(tokens))
            native.llama_set_embeddings(self._context, self._embeddings and read)
            with self._interrupt.watched():
                status = native.llama_decode(self._context, self._batch)
            if self._interrupt.pressed:  # perhaps too late to end the call, but no less meant
                raise KeyboardInterrupt
            if status == _ABORTED:
                raise OutOfTime(self.file.name)
            if status:
                raise ModelFailed(f"{self.file.name}: llama.cpp gave up with status {status}")

    def forget(self, start: int) -> None:
        """Drop everything from position `start` on; before it the cache stays."""
        native.llama_memory_seq_rm(self._memory, 0, start, -1)

    def logits(self) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
        """The logits after the last token, one a word of the vocabulary."""
        size = native.llama_vocab_n_tokens(self._vocabulary)
        values = native.llama_get_logits_ith(self._context, -1)
        return np.ctypeslib.as_array(values, shape=(size,)).copy()

    def pooled(self, size: int | None = None) -> "Matrix":
        """The pooled vector of the sequence, or the `size` outputs of its rank head.

        Raises:
            ModelFailed: there is none.
        """
        values = native.llama_get_embeddings_seq(self._context, 0)
        if not values:
            raise ModelFailed(f"{self.file.name}: llama.cpp gave no embedding")
        return np.ctypeslib.as_array(values, shape=(size or self.dimensions,)).copy()

    def state(self) -> bytes:
        """The cache of everything evaluated so far."""
        size = native.llama_state_seq_get_size(self._context, 0)
        buffer = (ctypes.c_uint8 * size)()
        written = native.llama_state_seq_get_data(self._context, buffer, size, 0)
        return bytes(buffer[:written])

    def restore(self, state: bytes, tokens: int) -> bool:
        """Put a saved cache of so many tokens in place; False when it is not that."""
        buffer = (ctypes.c_uint8 * len(state)).from_buffer_copy(state)
        if not native.llama_state_seq_set_data(self._context, buffer, len(state), 0):
            return False
        return int(native.llama_memory_seq_pos_max(self._memory, 0)) == tokens - 1

    @contextlib.contextmanager
    def grammar(self, rules: str, root: str = "root") -> Iterator[Grammar]:
        """A GBNF grammar over this model's vocabulary.

        Raises:
            ModelFailed: llama.cpp does not take the grammar.
        """
        sampler = native.llama_sampler_init_grammar(self._vocabulary, rules.encode(), root.encode())
        if not sampler:
            raise ModelFailed(f"{self.file.name}: the grammar was not understood")
        try:
            yield Grammar(sampler)
        finally:
            native.llama_sampler_free(sampler)

    def chat(self, system: str, user: str) -> str:
        """The prompt of the model's own chat template, up to where the assistant begins.

        Raises:
            ModelFailed: llama.cpp does not know the template.
        """
        template = self.metadata("tokenizer.chat_template") or "chatml"
        turns = [(b"system", system)] * bool(system) + [(b"user", user)]
        messages = (native.llama_chat_message * len(turns))(
            *(native.llama_chat_message(role, text.encode()) for role, text in turns)
        )
        buffer = ctypes.create_string_buffer(2 * sum(len(text) for _, text in turns) + 4096)
        size = native.llama_chat_apply_template(
            template.encode(), messages, len(turns), True, buffer, len(buffer)
        )
        if not 0 < size <= len(buffer):
            raise ModelFailed(f"{self.file.name} has a chat template that llama.cpp does not know")
        thought = "<think>\n\n</think>\n\n" if "<think>" in template else ""
        return buffer.raw[:size].decode() + thought

    def _free_model(self) -> None:
        if not self._shared:
            native.llama_model_free(self._model)
        del self._model

    def _fill(self, tokens: Sequence[int], start: int, *, last: bool) -> None:
        batch = self._batch
        batch.n_tokens = len(tokens)
        for at, token in enumerate(tokens):
            batch.token[at] = token
            batch.pos[at] = start + at
            batch.n_seq_id[at] = 1
            batch.seq_id[at][0] = 0
            batch.logits[at] = False
        if last and tokens:
            batch.logits[len(tokens) - 1] = True
