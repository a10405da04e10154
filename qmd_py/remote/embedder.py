"""Bi-encoders on servers of OpenAI's shape."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from qmd_py.catalogue import Server
from qmd_py.errors import ModelFailed, ServerFailed
from qmd_py.remote.server import Client, in_order

if TYPE_CHECKING:
    from qmd_py.models import Matrix

_IN_A_ROW = 20  # requests that fail before anything has worked: it is not the texts' fault


class RemoteEmbedder:
    """An embedder on `/embeddings`."""

    def __init__(
        self, server: Server, client: Client, *, query_prefix: str = "", passage_prefix: str = ""
    ) -> None:
        """Take note of a server; it is not asked yet.

        Args:
            server: where it is.
            client: asks it.
            query_prefix: what the model wants before a question.
            passage_prefix: what it wants before a passage.
        """
        self._server = server
        self._client = client
        self._prefixes = query_prefix, passage_prefix
        self._dimensions = server.dimensions
        self._failures: int | None = 0

    @property
    def batch(self) -> int:
        """Passages in one request."""
        return self._server.batch

    @property
    def fingerprint(self) -> str:
        """The address, the model's name there, and the prefixes."""
        query, passage = self._prefixes
        return f"http {self._server.url} {self._server.model} {query!r} {passage!r}"

    @property
    def dimensions(self) -> int:
        """Length of a vector: as the list of models says, else as the server answers."""
        if self._dimensions is None:
            self._embed("", ["length"], "a word, to learn the length of its vectors,", patient=True)
        assert self._dimensions is not None
        return self._dimensions

    @property
    def scale(self) -> tuple[float, float]:
        """Cosines of unrelated and surely related pairs; not known, so all there are."""
        return 0.0, 1.0

    def queries(self, texts: Sequence[str]) -> "Matrix":
        """Embed questions.

        Raises:
            ModelFailed: the server does not answer as it should.
        """
        return self._embed(self._prefixes[0], texts, "your question", patient=False)

    def passages(self, texts: Sequence[str]) -> "Matrix":
        """Embed passages; a row that holds no finite numbers is all zeros.

        Raises:
            ServerFailed: the server cannot be used at all.
            ModelFailed: it cannot embed these texts.
        """
        try:
            rows = self._embed(self._prefixes[1], texts, "the text of your notes", patient=True)
        except ServerFailed:
            raise
        except ModelFailed as error:
            if self._failures is not None:
                self._failures += 1
                if self._failures >= _IN_A_ROW:
                    raise ServerFailed(str(error)) from error
            raise
        self._failures = None
        return rows

    def _embed(self, prefix: str, texts: Sequence[str], what: str, *, patient: bool) -> "Matrix":
        parts = [
            self._request([prefix + text for text in texts[at : at + self.batch]], what, patient)
            for at in range(0, len(texts), self.batch)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, self.dimensions), np.float32)

    def _request(self, texts: Sequence[str], what: str, patient: bool) -> "Matrix":
        # an empty text is an error to some
        body = {"input": [text or " " for text in texts], "encoding_format": "float"}
        answer = self._client.post("/embeddings", body, what, patient=patient)
        try:
            found = answer.get("data") if isinstance(answer, dict) else None
            rows = [_row(one) for one in in_order(found, len(texts), "embedding")]
        except ValueError as error:
            raise self._client.failed(str(error)) from error
        for row in rows:
            if self._dimensions is None:
                self._dimensions = len(row)
            if len(row) != self._dimensions:
                raise self._client.failed(
                    f"answers {len(row)} numbers a vector, not {self._dimensions}"
                )
        return np.stack([_unit(row) for row in rows])


def _row(found: object) -> "Matrix":
    """The numbers of a vector.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(found, list) or not found:
        raise ValueError("answers no vector")
    if not all(type(number) in {int, float, type(None)} for number in found):
        raise ValueError("answers a vector that holds something else than numbers")
    with np.errstate(over="ignore"):
        try:
            # a server that cannot write NaN as JSON writes null
            numbers = [np.nan if number is None else float(number) for number in found]
        except OverflowError as error:
            raise ValueError("answers a number beyond all bounds") from error
        return np.array(numbers, dtype=np.float32)


def _unit(row: "Matrix") -> "Matrix":
    """The vector at length 1; zeros, which is no vector, where it has none."""
    length = float(np.linalg.norm(row.astype(np.float64)))
    if not np.isfinite(length) or not length:
        return np.zeros_like(row)
    return (row / length).astype(np.float32)
