"""How a model file is opened: its weights, and a context that computes with them."""

import ctypes
import enum
import functools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qmd_py.errors import ModelFailed
from qmd_py.llama import tiles
from qmd_py.llama.interrupt import Interrupt
from qmd_py.llama.library import native
from qmd_py.llama.tiles import Tiles

_ALL_LAYERS = 999


class Pooling(enum.IntEnum):
    """How llama.cpp makes one vector of a sequence (`enum llama_pooling_type`)."""

    NONE = 0
    MEAN = 1
    CLS = 2
    LAST = 3
    RANK = 4
    AS_IN_FILE = -1


@dataclass(frozen=True, slots=True)
class Setup:
    """How a model is opened."""

    context: int
    """Most tokens of a prompt and what is generated after it."""
    batch: int
    """Most tokens of one native call; encoders need a whole text in one."""
    threads: int
    gpu: bool | None = None
    """Whether layers go to the GPU (Metal, CUDA); None: where this build has one."""
    embeddings: bool = False
    pooling: Pooling = Pooling.NONE
    brief: bool = False
    """Whether few tokens are to come: then weights are taken as they lie in the file. Arranged for
    special kernels they take longer to load, and are read faster."""


def model(file: Path, setup: Setup, interrupt: Interrupt) -> Any:  # noqa: ANN401 — an opaque native pointer
    """The weights of a file.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed meanwhile.
        ModelFailed: llama.cpp cannot load it, or not onto a GPU.
    """
    _start()
    params = native.llama_model_default_params()
    if setup.gpu and not native.llama_supports_gpu_offload():
        raise ModelFailed(
            "llama.cpp was built without a GPU here: use --device cpu, or install "
            "llama-cpp-python for your GPU"
        )
    params.n_gpu_layers = 0 if setup.gpu is False else _ALL_LAYERS
    params.progress_callback = interrupt.progress
    params.use_extra_bufts = not setup.brief and tiles.found() is not Tiles.BROKEN
    with interrupt.watched():
        loaded = native.llama_model_load_from_file(os.fsencode(file), params)
    if interrupt.pressed:
        if loaded:
            native.llama_model_free(loaded)
        raise KeyboardInterrupt
    if not loaded:
        raise ModelFailed(f"llama.cpp cannot load {file}: check it with 'qmd models verify'")
    return loaded


def context(weights: Any, setup: Setup, interrupt: Interrupt) -> Any:  # noqa: ANN401 — the same
    """What computes with them; None where there is no memory for it."""
    params = native.llama_context_default_params()
    params.n_ctx = setup.context
    # encoders abort the process when a text is longer than the physical batch
    params.n_batch = params.n_ubatch = setup.batch
    params.n_seq_max = 1
    params.n_threads = params.n_threads_batch = setup.threads
    params.embeddings = setup.embeddings
    params.pooling_type = int(setup.pooling)
    params.offload_kqv = setup.gpu is not False
    params.no_perf = True
    params.abort_callback = interrupt.abort
    return native.llama_init_from_model(weights, params)


def runs_on_gpu(wanted: bool | None) -> bool:
    """Whether layers go to the GPU, as `Setup.gpu` has it."""
    return wanted is not False and bool(native.llama_supports_gpu_offload())


@functools.cache
def _start() -> None:
    """Start llama.cpp, silently: what it has to say would mix with the answer."""
    native.llama_log_set(_SILENCE, ctypes.c_void_p(0))
    native.llama_backend_init()


# Nothing of Python may take the log: Ctrl-C raised there would be dropped. This one returns a number.
_SILENCE = ctypes.cast(native.llama_max_devices, native.llama_log_callback)
