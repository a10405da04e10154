"""Transformers written out in numpy and float64, to check llama.cpp's answers against.

Nothing here is shared with the package or with llama.cpp: the formulas are those of the papers and of
the model cards, and the weights those that a test wrote into a file.
"""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tests.tiny import Shape, Weights

Wide: TypeAlias = npt.NDArray[np.float64]

_ROPE_BASE = 1e6
_RMS_EPS = 1e-6


def p_yes(weights: Weights, shape: Shape, tokens: Sequence[int], yes: int, no: int) -> float:
    """Softmax over the logits of two words after the last token."""
    logits = next_logits(weights, shape, tokens)
    return float(1 / (1 + np.exp(logits[no] - logits[yes])))


def next_logits(weights: Weights, shape: Shape, tokens: Sequence[int]) -> Wide:
    """Logits of the token after these; the embedding is the output matrix where there is no other."""
    output = weights.get("output.weight", weights["token_embd.weight"])
    found: Wide = output @ qwen3(weights, shape, tokens)[-1]
    return found


def qwen3(weights: Weights, shape: Shape, tokens: Sequence[int]) -> Wide:
    """Hidden states after the last norm, one row a token."""
    rows: Wide = weights["token_embd.weight"][list(tokens)].astype(np.float64)
    for at in range(shape.layers):
        layer = _Layer(weights, at)
        rows = rows + _attention(layer, shape, _rms(rows, layer["attn_norm"]))
        inner = _rms(rows, layer["ffn_norm"])
        gate = inner @ layer["ffn_gate"].T
        rows = (
            rows + (gate / (1 + np.exp(-gate)) * (inner @ layer["ffn_up"].T)) @ layer["ffn_down"].T
        )
    return _rms(rows, weights["output_norm.weight"])


def bert(weights: Weights, shape: Shape, tokens: Sequence[int], eps: float = 1e-12) -> Wide:
    """The mean of the last hidden states, at unit length: what sentence-transformers computes."""
    rows: Wide = weights["token_embd.weight"][list(tokens)].astype(np.float64)
    rows = rows + weights["position_embd.weight"][: len(tokens)] + weights["token_types.weight"][0]
    rows = _layer_norm(rows, _Layer(weights, None), "token_embd_norm", eps)
    for at in range(shape.layers):
        layer = _Layer(weights, at)
        query, key, value = (_linear(rows, layer, f"attn_{name}") for name in "qkv")
        read = [
            _softmax(query[:, span] @ key[:, span].T / math.sqrt(shape.head_dim)) @ value[:, span]
            for span in _spans(shape.heads, shape.head_dim)
        ]
        rows = rows + _linear(np.concatenate(read, axis=1), layer, "attn_output")
        rows = _layer_norm(rows, layer, "attn_output_norm", eps)
        rows = rows + _linear(_gelu(_linear(rows, layer, "ffn_up")), layer, "ffn_down")
        rows = _layer_norm(rows, layer, "layer_output_norm", eps)
    mean = rows.mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean))


def wordpiece(text: str, pieces: Mapping[str, int]) -> list[int]:
    """The tokens of BERT's uncased tokenizer, [CLS] and [SEP] included."""
    found = [pieces["[CLS]"]]
    for word in _words(text):
        found += _pieces(word, pieces)
    return [*found, pieces["[SEP]"]]


class _Layer:
    """Weights of one layer by their short names, as float64."""

    def __init__(self, weights: Weights, at: int | None) -> None:
        self._weights = weights
        self._prefix = "" if at is None else f"blk.{at}."

    def __getitem__(self, name: str) -> Wide:
        return self._weights[f"{self._prefix}{name}.weight"].astype(np.float64)

    def bias(self, name: str) -> Wide:
        return self._weights[f"{self._prefix}{name}.bias"].astype(np.float64)


def _attention(layer: _Layer, shape: Shape, rows: Wide) -> Wide:
    """Causal, with fewer keys than queries, each normed and turned by its position."""
    length, size = len(rows), shape.head_dim
    query, key, value = (
        (rows @ layer[f"attn_{name}"].T).reshape(length, heads, size)
        for name, heads in (("q", shape.heads), ("k", shape.kv), ("v", shape.kv))
    )
    query = _turned(_rms(query, layer["attn_q_norm"]))
    key = _turned(_rms(key, layer["attn_k_norm"]))
    later = np.triu(np.full((length, length), -np.inf), 1)
    read = []
    for head in range(shape.heads):
        shared = head * shape.kv // shape.heads
        scores = query[:, head] @ key[:, shared].T / math.sqrt(size) + later
        read.append(_softmax(scores) @ value[:, shared])
    found: Wide = np.concatenate(read, axis=1) @ layer["attn_output"].T
    return found


def _turned(heads: Wide) -> Wide:
    """Rotary positions, the first half of a head paired with its second (as in GPT-NeoX)."""
    length, _, size = heads.shape
    half = size // 2
    speeds = _ROPE_BASE ** (-np.arange(half) * 2 / size)
    angles = (np.arange(length)[:, None] * speeds)[:, None, :]
    one, two = heads[..., :half], heads[..., half:]
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([one * cos - two * sin, two * cos + one * sin], axis=-1)


def _rms(rows: Wide, weight: npt.NDArray[np.floating]) -> Wide:
    found: Wide = rows / np.sqrt((rows**2).mean(axis=-1, keepdims=True) + _RMS_EPS) * weight
    return found


def _layer_norm(rows: Wide, layer: _Layer, name: str, eps: float) -> Wide:
    centred = rows - rows.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps)
    return np.asarray(centred / spread * layer[name] + layer.bias(name))


def _linear(rows: Wide, layer: _Layer, name: str) -> Wide:
    return np.asarray(rows @ layer[name].T + layer.bias(name))


def _gelu(values: Wide) -> Wide:
    return np.asarray(values * (1 + np.vectorize(math.erf)(values / math.sqrt(2))) / 2)


def _softmax(scores: Wide) -> Wide:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def _spans(heads: int, size: int) -> list[slice]:
    return [slice(at * size, (at + 1) * size) for at in range(heads)]


def _words(text: str) -> list[str]:
    """Lower case without accents; each punctuation mark and each ideograph is a word of its own."""
    plain = unicodedata.normalize("NFD", text.lower())
    spaced = "".join(
        f" {sign} " if _stands_alone(sign) else sign
        for sign in plain
        if unicodedata.category(sign) != "Mn"
    )
    return spaced.split()


def _stands_alone(sign: str) -> bool:
    if "\u4e00" <= sign <= "\u9fff":
        return True
    return unicodedata.category(sign).startswith("P") or sign in "$+<=>^`|~"


def _pieces(word: str, known: Mapping[str, int]) -> list[int]:
    """The longest known piece first, then the longest of what is left."""
    found = []
    begin = 0
    while begin < len(word):
        for end in range(len(word), begin, -1):
            piece = word[begin:end] if begin == 0 else f"##{word[begin:end]}"
            if piece in known:
                found.append(known[piece])
                begin = end
                break
        else:
            return [known["[UNK]"]]
    return found
