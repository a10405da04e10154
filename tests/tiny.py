"""Tiny GGUF files, and a model hub on this machine."""

import hashlib
import itertools
import re
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

import gguf
import numpy as np
import numpy.typing as npt

COMMIT = "c0ffee" * 6 + "beef"
TENSORS = ("token_embd.weight", "blk.0.attn_q.weight")


def write_gguf(
    path: Path,
    tensors: Sequence[str] = TENSORS,
    *,
    architecture: str = "qwen3",
    pooling: int | None = None,
    weights: int = 64,
) -> Path:
    """Write a file with tensors of a few weights each and a small vocabulary."""
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_context_length(128)
    writer.add_token_list([f"token{number}" for number in range(300)])
    writer.add_token_scores([0.5] * 300)
    writer.add_chat_template("{{ message }}" * 500)
    if pooling is not None:
        writer.add_pooling_type(gguf.PoolingType(pooling))
    for name in tensors:
        writer.add_tensor(name, np.full((2, weights), 0.5, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


class TinyHub(ThreadingHTTPServer):
    """Answers as the model hub does, and fails as lines, proxies and hubs do."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.files: dict[str, bytes] = {}
        self.cuts: list[int] = []
        """The next answers end after so many bytes, without a word."""
        self.page: bytes | None = None
        """A proxy's answer to every GET."""
        self.status: int | None = None
        """A refusal of everything."""
        self.error: str | None = None
        """The hub's own word for it."""
        self.commit: str | None = COMMIT
        self.etag: str | None = None
        self.ranges = True
        self.asked: list[tuple[str, str, str | None]] = []
        """Method, path and range of each request."""
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()

    @property
    def gets(self) -> list[str | None]:
        """The ranges of all GETs."""
        return [wanted for method, _, wanted in self.asked if method == "GET"]


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: TinyHub

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        if self.server.page is not None:
            self._note()
            self._send(200, self.server.page)
        else:
            self._answer()

    def _answer(self) -> None:
        hub, wanted = self.server, self._note()
        data = hub.files.get(self.path.rpartition("/")[2])
        if hub.status or data is None:
            self._send(hub.status or 404, b"", {"X-Error-Code": hub.error})
            return
        begun = int(wanted[6:-1]) if wanted and hub.ranges else 0
        headers = {
            "ETag": f'"{hub.etag or hashlib.sha256(data).hexdigest()}"',
            "X-Repo-Commit": hub.commit,
            "Content-Range": f"bytes {begun}-{len(data) - 1}/{len(data)}" if begun else None,
        }
        self._send(206 if begun else 200, data[begun:], headers)

    def _note(self) -> str | None:
        wanted = self.headers.get("Range")
        self.server.asked.append((self.command, self.path, wanted))
        return wanted

    def _send(
        self, status: int, data: bytes, headers: Mapping[str, str | None] = MappingProxyType({})
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if value is not None:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            if self.server.cuts:
                data = data[: self.server.cuts.pop(0)]
                self.close_connection = True
            self.wfile.write(data)


Array: TypeAlias = npt.NDArray[np.float32]
Weights: TypeAlias = dict[str, Array]
"""Tensors under their names in a GGUF file; a matrix has one row an output."""

F32 = gguf.GGMLQuantizationType.F32
Q8_0 = gguf.GGMLQuantizationType.Q8_0


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a transformer."""

    layers: int = 2
    dim: int = 64
    ff: int = 96
    heads: int = 4
    kv: int = 2
    head_dim: int = 16
    context: int = 4096


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The fields of a tokenizer in a GGUF file."""

    tokens: list[str]
    types: list[int]
    merges: list[str] = field(default_factory=list)
    pre: str = "qwen2"
    end: str = "<|im_end|>"

    def id(self, token: str) -> int:
        return self.tokens.index(token)

    def filled(self, size: int) -> "Vocabulary":
        """With tokens that no text has, up to a size."""
        more = size - len(self.tokens)
        tokens = [*self.tokens, *(f"<unused {number}>" for number in range(more))]
        return replace(self, tokens=tokens, types=[*self.types, *[5] * more])

    @classmethod
    def of_file(cls, file: Path) -> "Vocabulary":
        """The byte-pair vocabulary of a GGUF file, as large as real ones are."""
        fields = gguf.GGUFReader(file).fields
        found = {
            name: fields[f"tokenizer.ggml.{name}"].contents()
            for name in ("tokens", "token_type", "merges", "pre", "eos_token_id")
        }
        tokens = found["tokens"]
        end = tokens[found["eos_token_id"]]
        return cls(tokens, found["token_type"], found["merges"], found["pre"], end)


def byte_pairs(*texts: str, merges: int = 250) -> Vocabulary:
    """A byte-level vocabulary that has learnt some texts, with `yes` and `no` as single tokens."""
    signs = _byte_signs()
    learnt = [("y", "e"), ("ye", "s"), ("n", "o"), ("?", signs[ord("\n")])][:merges]
    words = [
        [signs[byte] for byte in word.encode()]
        for text in texts
        for word in re.findall(r" ?[^\W\d_]+|\d| ?[^\s\w]+\n*|\s", text)
    ]
    for at in range(merges):
        if at < len(learnt):
            best = learnt[at]
        else:
            pairs = Counter(pair for word in words for pair in itertools.pairwise(word))
            if not pairs:
                break
            best = max(pairs, key=lambda pair: (pairs[pair], pair))
            learnt.append(best)
        words = [_merged(word, best) for word in words]
    plain = [*signs, *dict.fromkeys("".join(pair) for pair in learnt)]
    control, own = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], ["<think>", "</think>"]
    types = [1] * len(plain) + [3] * len(control) + [4] * len(own)
    return Vocabulary([*plain, *control, *own], types, [" ".join(pair) for pair in learnt])


def _byte_signs() -> list[str]:
    """GPT-2's printable stand-ins for the 256 bytes."""
    shown = {*range(33, 127), *range(161, 173), *range(174, 256)}
    hidden = itertools.count(256)
    return [chr(byte if byte in shown else next(hidden)) for byte in range(256)]


def _merged(word: list[str], pair: tuple[str, str]) -> list[str]:
    found: list[str] = []
    for sign in word:
        if found and (found[-1], sign) == pair:
            found[-1] += sign
        else:
            found.append(sign)
    return found


def qwen3_weights(
    shape: Shape, words: int, *, seed: int = 0, layers_alike: bool = False
) -> Weights:
    """Random weights under which each layer matters.

    Args:
        shape: the sizes.
        words: of the vocabulary.
        seed: other weights for each.
        layers_alike: draw one layer and repeat it; timing is the same, and big files are soon made.
    """
    draw = np.random.default_rng(seed)

    def matrix(rows: int, columns: int) -> Array:
        return draw.standard_normal((rows, columns), dtype=np.float32) / np.float32(columns**0.5)

    def norm(size: int) -> Array:
        return np.float32(1) + draw.standard_normal(size, dtype=np.float32) / np.float32(8)

    def layer() -> Weights:
        return {
            "attn_norm": norm(shape.dim),
            "ffn_norm": norm(shape.dim),
            "attn_q_norm": norm(shape.head_dim),
            "attn_k_norm": norm(shape.head_dim),
            "attn_q": matrix(shape.heads * shape.head_dim, shape.dim),
            "attn_k": matrix(shape.kv * shape.head_dim, shape.dim),
            "attn_v": matrix(shape.kv * shape.head_dim, shape.dim),
            "attn_output": matrix(shape.dim, shape.heads * shape.head_dim),
            "ffn_gate": matrix(shape.ff, shape.dim),
            "ffn_up": matrix(shape.ff, shape.dim),
            "ffn_down": matrix(shape.dim, shape.ff),
        }

    first = layer()
    found = {"token_embd.weight": matrix(words, shape.dim), "output_norm.weight": norm(shape.dim)}
    for at in range(shape.layers):
        for name, values in (first if layers_alike or not at else layer()).items():
            found[f"blk.{at}.{name}.weight"] = values
    return found


def reranker_weights(shape: Shape, vocabulary: Vocabulary, *, seed: int = 0) -> Weights:
    """With a rank head that is the rows of yes and no of the output matrix, as in real files."""
    words = len(vocabulary.tokens)
    draw = np.random.default_rng(seed + 1000)
    output: Array = draw.standard_normal((words, shape.dim), dtype=np.float32) / np.float32(8)
    answers = [vocabulary.id("yes"), vocabulary.id("no")]
    weights = qwen3_weights(shape, words, seed=seed)
    return {**weights, "output.weight": output, "cls.output.weight": output[answers]}


def writer_weights(shape: Shape, vocabulary: Vocabulary, *, seed: int = 0) -> Weights:
    """Of a model that writes nonsense, but in ASCII."""
    weights = qwen3_weights(shape, len(vocabulary.tokens), seed=seed)
    output = weights["token_embd.weight"].copy()
    output[128:256] = 0  # single bytes that are no characters
    return {**weights, "output.weight": output}


def write_qwen3(
    path: Path,
    weights: Weights,
    shape: Shape,
    vocabulary: Vocabulary,
    *,
    head: bool = False,
    kind: gguf.GGMLQuantizationType = F32,
    template: str | None = None,
    ended: bool = False,
) -> Path:
    """Write a model that llama.cpp opens.

    Args:
        path: the file.
        weights: all of them; the rank head is left out without `head`.
        shape: their sizes.
        vocabulary: as many tokens as the embedding has rows.
        head: write it as a reranker, whose head answers yes and no.
        kind: of the matrices; norms and the head are always float32.
        template: for chats.
        ended: whether texts want the end token behind them.
    """
    writer = gguf.GGUFWriter(path, "qwen3")
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.dim)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.ff)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv)
    writer.add_key_length(shape.head_dim)
    writer.add_value_length(shape.head_dim)
    writer.add_rope_freq_base(1e6)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(vocabulary.pre)
    writer.add_token_list(vocabulary.tokens)
    writer.add_token_types(vocabulary.types)
    writer.add_token_merges(vocabulary.merges)
    writer.add_eos_token_id(vocabulary.id(vocabulary.end))
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(ended)
    if template:
        writer.add_chat_template(template)
    if head:
        writer.add_pooling_type(gguf.PoolingType.RANK)
        writer.add_classifier_output_labels(["yes", "no"])
    wanted = {name: values for name, values in weights.items() if head or name[:4] != "cls."}
    return _written(writer, path, wanted, kind)


def bert_weights(shape: Shape, words: int, *, seed: int = 0) -> Weights:
    """Random weights of a BERT encoder with `heads × head_dim` equal to `dim`."""
    draw = np.random.default_rng(seed)
    dim, ff = shape.dim, shape.ff
    sizes = {
        "token_embd": (words, dim),
        "position_embd": (shape.context, dim),
        "token_types": (2, dim),
    }
    norms = {"token_embd_norm": dim}
    for at in range(shape.layers):
        names = ("attn_q", "attn_k", "attn_v", "attn_output")
        sizes |= {f"blk.{at}.{name}": (dim, dim) for name in names}
        sizes |= {f"blk.{at}.ffn_up": (ff, dim), f"blk.{at}.ffn_down": (dim, ff)}
        norms |= {f"blk.{at}.{name}": dim for name in ("attn_output_norm", "layer_output_norm")}
    found = {
        f"{name}.weight": draw.standard_normal(size, dtype=np.float32) / np.float32(dim**0.5)
        for name, size in sizes.items()
    }
    found |= {
        f"{name}.bias": draw.standard_normal(size[0], dtype=np.float32) / 8
        for name, size in sizes.items()
        if name.startswith("blk.")
    }
    for name, size in norms.items():
        found[f"{name}.weight"] = 1 + draw.standard_normal(size, dtype=np.float32) / 8
        found[f"{name}.bias"] = draw.standard_normal(size, dtype=np.float32) / 8
    return found


def write_bert(
    path: Path,
    weights: Weights,
    shape: Shape,
    pieces: Sequence[str],
    *,
    eps: float = 1e-12,
    kind: gguf.GGMLQuantizationType = F32,
) -> Path:
    """Write a mean-pooling encoder; the pieces are those of WordPiece, `##` inside words."""
    writer = gguf.GGUFWriter(path, "bert")
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.dim)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.ff)
    writer.add_head_count(shape.heads)
    writer.add_layer_norm_eps(eps)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    special = [piece.startswith("[") and piece.endswith("]") and len(piece) > 2 for piece in pieces]
    # llama.cpp marks the beginnings of words, WordPiece the insides
    writer.add_token_list(
        [
            piece if control else piece[2:] if piece.startswith("##") else f"\u2581{piece}"
            for piece, control in zip(pieces, special, strict=True)
        ]
    )
    writer.add_token_types([3 if control else 1 for control in special])
    writer.add_token_type_count(2)
    for name, piece in {"bos": "[CLS]", "eos": "[SEP]", "unk": "[UNK]", "sep": "[SEP]",
                        "pad": "[PAD]", "mask": "[MASK]"}.items():  # fmt: skip
        getattr(writer, f"add_{name}_token_id")(pieces.index(piece))
    return _written(writer, path, weights, kind)


def _written(
    writer: gguf.GGUFWriter, path: Path, weights: Weights, kind: gguf.GGMLQuantizationType
) -> Path:
    quantized: dict[int, npt.NDArray[np.uint8]] = {}  # layers may share their weights
    for name, values in weights.items():
        if kind == F32 or values.ndim == 1 or name.startswith(("cls.", "position", "token_types")):
            writer.add_tensor(name, values)
            continue
        if id(values) not in quantized:
            quantized[id(values)] = gguf.quantize(values, kind)
        writer.add_tensor(name, quantized[id(values)], raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
