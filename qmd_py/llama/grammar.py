"""Tokens that a grammar allows."""

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from qmd_py.llama.library import native

if TYPE_CHECKING:
    from qmd_py.models import Matrix


class Grammar:
    """Chooses the likeliest token that the grammar allows."""

    def __init__(self, sampler: Any) -> None:  # noqa: ANN401 — an opaque native pointer
        self._sampler = sampler

    def choose(self, logits: "np.ndarray[tuple[int], np.dtype[np.float32]]") -> int:
        """The best allowed token, taken as chosen.

        Most times the best token is allowed; only when it is not, all are tried, which costs as
        much as evaluating a token of a small model.
        """
        best = int(logits.argmax())
        if not self._allowed(np.array([best]), logits[[best]]).size:
            order = np.argsort(-logits)
            best = int(self._allowed(order, logits[order])[0])
        native.llama_sampler_accept(self._sampler, best)
        return best

    def _allowed(
        self, tokens: "np.ndarray[tuple[int], np.dtype[np.intp]]", logits: "Matrix"
    ) -> "np.ndarray[tuple[int], np.dtype[np.intp]]":
        """Those of the tokens that may come next, in their order."""
        kind = np.dtype([("id", np.intc), ("logit", np.single), ("p", np.single)], align=True)
        data = np.zeros(len(tokens), dtype=kind)
        data["id"], data["logit"] = tokens, logits
        candidates = native.llama_token_data_array(
            data=data.ctypes.data_as(native.llama_token_data_p),
            size=len(tokens),
            selected=-1,
            sorted=False,
        )
        native.llama_sampler_apply(self._sampler, ctypes.byref(candidates))
        allowed: np.ndarray[tuple[int], np.dtype[np.intp]] = tokens[np.isfinite(data["logit"])]
        return allowed
