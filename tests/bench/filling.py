"""Vectors for an index without a model: `python -m tests.bench.filling INDEX`.

They have the shape of the built-in embedder's, whose work on 100,000 notes would take days.
"""

import sys
from pathlib import Path

import numpy as np

from qmd_py import meaning
from qmd_py.embedded import BuiltIn
from qmd_py.store import embeddings
from qmd_py.store.writer import Writer
from qmd_py.vectors import VectorFile

_STEP = 50_000


def fill(index: Path) -> None:
    """Give every passage a random vector."""
    with Writer.open(index) as store:
        name = meaning.fingerprint(store, BuiltIn(1))
        with store.batch():
            space = embeddings.space_of(store, name) or embeddings.add_space(store, name, 384)
        keys = [key for (key,) in store.rows("SELECT DISTINCT key FROM chunks")]
        file = VectorFile(index.with_name(space.file), space.dimensions)
        dice = np.random.default_rng(1)
        for at in range(0, len(keys), _STEP):
            shape = (len(keys[at : at + _STEP]), space.dimensions)
            rows = dice.standard_normal(shape, dtype=np.float32)
            file.append(rows / np.linalg.norm(rows, axis=1, keepdims=True), at)
        with store.batch():
            embeddings.add_vectors(store, space, [(key, at) for at, key in enumerate(keys)])
            embeddings.note_whole(store, space)


if __name__ == "__main__":
    fill(Path(sys.argv[1]))
