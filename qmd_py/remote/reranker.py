"""Cross-encoders on servers: `/rerank` as llama-server, Ollama and vLLM have it, or as TEI has it."""

import math
from collections.abc import Iterator, Sequence

from qmd_py.catalogue import Server
from qmd_py.remote.server import Client, in_order

_ROUNDING = 1e-3  # of half-precision floats around 0 and 1


class RemoteReranker:
    """A reranker on `/rerank`."""

    def __init__(self, server: Server, client: Client) -> None:
        """Take note of a server; it is not asked yet."""
        self._server = server
        self._client = client

    @property
    def fingerprint(self) -> str:
        """The address, the model's name there, and how its scores are read."""
        kind = "logits" if self._server.logits else "probabilities"
        return f"http {self._server.url} {self._server.model} {kind}"

    def scores(self, question: str, passages: Sequence[str]) -> Iterator[float]:
        """The relevance of each passage, in order, a batch at a time; NaN where there is none.

        Raises:
            ModelFailed: the server does not answer as it should.
        """
        for at in range(0, len(passages), self._server.batch):
            yield from self._batch(question, passages[at : at + self._server.batch])

    def _batch(self, question: str, passages: Sequence[str]) -> list[float]:
        tei = self._server.format == "tei"
        body: dict[str, object] = {
            "query": question,
            "texts" if tei else "documents": list(passages),
        }
        if tei:
            body |= {"raw_scores": self._server.logits, "truncate": True}
        what = "your question and passages of your notes"
        answer = self._client.post("/rerank", body, what, patient=False)
        if isinstance(answer, dict):
            answer = answer.get("results")
        field = "score" if tei else "relevance_score"
        try:
            found = [self._probability(one) for one in in_order(answer, len(passages), field)]
        except ValueError as error:
            raise self._client.failed(str(error)) from error
        return found

    def _probability(self, score: object) -> float:
        """A score from 0 to 1.

        Raises:
            ValueError: it is no number, or beyond.
        """
        if score is None:
            return math.nan
        if type(score) not in {int, float}:
            raise ValueError("answers a score that is no number")
        try:
            value = float(score)  # type: ignore[arg-type]  # just tested
        except OverflowError as error:
            raise ValueError("answers a number beyond all bounds") from error
        if self._server.logits:
            return (1 + math.tanh(value / 2)) / 2  # the logistic function, without overflow
        if value < -_ROUNDING or value > 1 + _ROUNDING:
            raise ValueError(f'answers the score {value:g}, which needs scores = "logits"')
        return value if math.isnan(value) else min(max(value, 0.0), 1.0)
