"""The processor's matrix tiles (Intel AMX): whether this build of llama.cpp multiplies right on them.

Tiles are more than twice as fast as other instructions, but GCC leaves most of their configuration
out of many builds (ggml-org/llama.cpp#26954), which then crash, or would count wrong. No version
tells one build from another, so a small product is made in a process of its own, that may crash.
"""

import ctypes
import enum
import functools
import importlib.util
import os
import sys
from pathlib import Path

REBUILD = (
    "CXXFLAGS=-fno-dse pip install --force-reinstall --no-deps --no-cache-dir "
    "--no-binary llama-cpp-python llama-cpp-python"
)
"""What makes a build with GCC that can use them: no store is taken for dead."""

_F32, _Q8_0 = 0, 8  # enum ggml_type
_WIDTH, _OUTPUTS, _TEXTS = 64, 32, 37  # two blocks of weights, two tiles, full tiles and a rest
_THREADS = 2
_ROOM = 1 << 20  # bytes for what ggml notes of three tensors and a graph
_MOST_SECONDS = 20
_CPUINFO = Path("/proc/cpuinfo")


class Tiles(enum.Enum):
    """What there is of them."""

    ABSENT = "the processor has none, or the system no use for them"
    UNUSED = "this build of llama.cpp leaves them alone"
    RIGHT = "this build multiplies right on them"
    BROKEN = "this build crashes on them, or has not shown that it multiplies right"


@functools.cache
def found() -> Tiles:
    """What this machine and this build of llama.cpp make of tiles; asked once in a process's life."""
    folder = _libraries()
    return _tried(folder) if folder and _on_processor() else Tiles.ABSENT


def _libraries() -> Path | None:
    """Where llama-cpp-python takes llama.cpp from."""
    if chosen := os.environ.get("LLAMA_CPP_LIB_PATH"):
        return Path(chosen)
    package = importlib.util.find_spec("llama_cpp")
    return Path(package.origin).parent / "lib" if package and package.origin else None


def _on_processor() -> bool:
    """Whether it has them, as far as the system tells; llama.cpp uses them on Linux alone."""
    try:
        return "amx_tile" in _CPUINFO.read_text(encoding="ascii", errors="replace")
    except OSError:
        return sys.platform == "linux"  # where /proc is hidden: let the product tell


def _tried(folder: Path) -> Tiles:
    """What a process of its own says of the libraries in this folder.

    Without its word the tiles count as broken: the other kernels are slower, and right.
    """
    if not sys.executable:  # Python within another program
        return Tiles.BROKEN
    import subprocess  # a question's embedder never comes here

    command = [sys.executable, "-I", "-S", __file__, str(folder)]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_MOST_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return Tiles.BROKEN
    return Tiles.__members__.get(done.stdout.decode(errors="replace"), Tiles.BROKEN)


def _weight(output: int, at: int) -> int:
    return (output * 31 + at * 17) % 255 - 127


def _value(text: int, at: int) -> int:
    # the largest of a block is 127, so that rounding to eight bits changes nothing
    return 127 if at % 32 == 0 else (text * 13 + at * 7) % 255 - 127


def _blocks() -> bytes:
    """The weights as Q8_0: blocks of 32, each its scale (1.0 in half precision) and signed bytes."""
    return b"".join(
        b"\x00\x3c" + bytes(_weight(output, start + at) & 255 for at in range(32))
        for output in range(_OUTPUTS)
        for start in range(0, _WIDTH, 32)
    )


def _expected() -> list[float]:
    """The product, all of whole numbers that single precision holds."""
    return [
        float(sum(_weight(output, at) * _value(text, at) for at in range(_WIDTH)))
        for text in range(_TEXTS)
        for output in range(_OUTPUTS)
    ]


class _Parameters(ctypes.Structure):
    """`struct ggml_init_params`."""

    _fields_ = (("size", ctypes.c_size_t), ("memory", ctypes.c_void_p), ("bare", ctypes.c_bool))


class _Ggml:
    """What is called of ggml; arguments are objects of ctypes, since there are no prototypes."""

    def __init__(self, folder: Path) -> None:
        self._base, self._cpu = (
            ctypes.CDLL(str(folder / f"libggml-{name}.so")) for name in ("base", "cpu")
        )

    def call(self, name: str, *values: object) -> ctypes.c_void_p:
        """What a function of this name returns: a pointer, or a number in place of one."""
        function = getattr(self._cpu if name.startswith("ggml_backend_cpu_") else self._base, name)
        function.restype = ctypes.c_void_p
        return ctypes.c_void_p(function(*values))

    def tiles(self) -> ctypes.c_void_p | None:
        """The memory whose weights are multiplied on tiles; None where this build has none."""
        registry = self.call("ggml_backend_cpu_reg")
        device = self.call("ggml_backend_reg_dev_get", registry, ctypes.c_size_t(0))
        name = ctypes.c_char_p(b"ggml_backend_dev_get_extra_bufts")
        listing = self.call("ggml_backend_reg_get_proc_address", registry, name).value
        if listing is None:
            return None
        listed = ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p)(listing)(device)
        kinds = [ctypes.c_void_p(kind) for kind in iter(iter(listed).__next__, None)]
        return next((kind for kind in kinds if self._name(kind) == b"AMX"), None)

    def tensor(self, context: ctypes.c_void_p, kind: int, *shape: int) -> ctypes.c_void_p:
        """A matrix without data; the first number is the length of its rows."""
        sizes = map(ctypes.c_int64, shape)
        return self.call("ggml_new_tensor_2d", context, ctypes.c_int(kind), *sizes)

    def place(self, tensor: ctypes.c_void_p, memory: ctypes.c_void_p) -> None:
        """Give a tensor memory of this kind."""
        size = self.call("ggml_backend_buft_get_alloc_size", memory, tensor).value or 0
        buffer = self.call("ggml_backend_buft_alloc_buffer", memory, ctypes.c_size_t(size))
        start = self.call("ggml_backend_buffer_get_base", buffer)
        self.call("ggml_backend_tensor_alloc", buffer, tensor, start)

    def fill(self, tensor: ctypes.c_void_p, data: bytes) -> None:
        """Write all of a tensor."""
        start, size = ctypes.c_size_t(0), ctypes.c_size_t(len(data))
        self.call("ggml_backend_tensor_set", tensor, ctypes.c_char_p(data), start, size)

    def _name(self, memory: ctypes.c_void_p) -> bytes | None:
        return ctypes.c_char_p(self.call("ggml_backend_buft_name", memory).value).value


def _product(ggml: _Ggml, tiles: ctypes.c_void_p) -> list[float]:
    """Weights times texts on tiles, text by text."""
    context = ggml.call("ggml_init", _Parameters(_ROOM, None, True))
    weights = ggml.tensor(context, _Q8_0, _WIDTH, _OUTPUTS)
    texts = ggml.tensor(context, _F32, _WIDTH, _TEXTS)
    product = ggml.call("ggml_mul_mat", context, weights, texts)
    ordinary = ggml.call("ggml_backend_cpu_buffer_type")
    for tensor, memory in ((weights, tiles), (texts, ordinary), (product, ordinary)):
        ggml.place(tensor, memory)
    ggml.fill(weights, _blocks())
    values = [float(_value(text, at)) for text in range(_TEXTS) for at in range(_WIDTH)]
    ggml.fill(texts, bytes((ctypes.c_float * len(values))(*values)))
    graph = ggml.call("ggml_new_graph", context)
    ggml.call("ggml_build_forward_expand", graph, product)
    backend = ggml.call("ggml_backend_cpu_init")
    ggml.call("ggml_backend_cpu_set_n_threads", backend, ctypes.c_int(_THREADS))
    ggml.call("ggml_backend_graph_compute", backend, graph)
    found = (ctypes.c_float * (_TEXTS * _OUTPUTS))()
    size = ctypes.c_size_t(ctypes.sizeof(found))
    ggml.call("ggml_backend_tensor_get", product, found, ctypes.c_size_t(0), size)
    return list(found)


def _made(folder: Path) -> Tiles:
    """Multiply here, which may end the process."""
    ggml = _Ggml(folder)
    tiles = ggml.tiles()
    if tiles is None:
        return Tiles.UNUSED
    return Tiles.RIGHT if _product(ggml, tiles) == _expected() else Tiles.BROKEN


if __name__ == "__main__":
    import resource
    import signal

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash is an answer here, not to be kept
    signal.alarm(_MOST_SECONDS)  # whoever waits for this process may be gone before
    sys.stdout.write(_made(Path(sys.argv[1])).name)
