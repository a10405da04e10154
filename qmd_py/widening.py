"""Other wordings of a question: the caller's, the cache's, or a local model's, guarded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from qmd_py.cache import AnswerCache
from qmd_py.errors import ModelFailed
from qmd_py.expansion import guards
from qmd_py.expansion.callers import Handed
from qmd_py.expansion.guards import Dropped
from qmd_py.models import Embedder, Expander
from qmd_py.records import Variant
from qmd_py.terms import Analyzer

CALLERS_WEIGHT = 0.5
"""Weight of each kind of the caller's variants, beside 1 for the question's own runs."""

MODELS_WEIGHT = 0.25
"""The same for a local model's: small models drift, and what slips through the guards must not
outvote the question. All variants of one kind share it."""


@dataclass(frozen=True, slots=True)
class Widened:
    """The variants to search, and how they came about."""

    variants: tuple[Variant, ...] = ()
    weight: float = 0.0
    """Of each kind."""
    dropped: tuple[Dropped, ...] = ()
    source: str = "none"
    """`caller`, `cache`, `model`, or why there are none."""
    remark: str | None = None
    """What the reader should know, beginning with `expand: `."""


def by_caller(handed: Handed) -> Widened:
    """The caller's own variants, taken as they are; no model is asked."""
    return Widened(handed.variants, CALLERS_WEIGHT, source="caller")


def by_model(
    question: str,
    expander: Expander,
    cache: AnswerCache,
    analyzer: Analyzer,
    embedder: Embedder | None,
) -> Widened:
    """What the model writes, less what drifts; the same question again comes from the cache.

    Only variants that passed the guards are kept, and nothing when none did, so that a bad answer
    is not replayed for ever. A model that breaks down costs the variants, never the search.
    """
    maker = _maker(expander, embedder)
    if kept := cache.expansion(maker, question):
        return Widened(kept, MODELS_WEIGHT, source="cache")
    closeness = _closeness(question, embedder) if embedder else None
    floor = embedder.scale[0] if embedder else guards.FLOOR
    try:
        written = expander.expand(question)
        guarded = guards.guard(question, written, analyzer, closeness, floor=floor)
    except ModelFailed as error:
        return Widened(source="the model failed", remark=f"expand: {error}")
    if guarded.kept:
        cache.put_expansion(maker, question, guarded.kept)
    return Widened(guarded.kept, MODELS_WEIGHT, guarded.dropped, "model")


def _maker(expander: Expander, embedder: Embedder | None) -> str:
    """What decides which variants are kept for a question."""
    closeness = embedder.fingerprint if embedder else "no closeness"
    return f"{expander.fingerprint} guards {guards.VERSION} {closeness}"


def _closeness(question: str, embedder: Embedder) -> Callable[[Sequence[str]], Sequence[float]]:
    def cosines(texts: Sequence[str]) -> Sequence[float]:
        rows = embedder.queries([question, *texts])
        return [float(row @ rows[0]) for row in rows[1:]]

    return cosines
