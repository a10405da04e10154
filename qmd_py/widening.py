"""Other wordings of a question: the caller's, the cache's, or a local model's, guarded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qmd_py.cache import AnswerCache
from qmd_py.errors import ModelFailed
from qmd_py.expansion.callers import Handed
from qmd_py.models import Embedder, Expander
from qmd_py.records.values import Value
from qmd_py.records.wordings import Variant
from qmd_py.terms import Analyzer

if TYPE_CHECKING:
    from qmd_py.expansion.guards import Dropped

CALLERS_WEIGHT = 0.5
"""Weight of each kind of the caller's variants, beside 1 for the question's own runs."""

MODELS_WEIGHT = 0.25
"""The same for a local model's: small models drift, and what slips through the guards must not
outvote the question. All variants of one kind share it."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Widened(Value):
    """The variants to search, and how they came about."""

    variants: tuple[Variant, ...] = ()
    weight: float = 0.0
    """Of each kind."""
    dropped: "tuple[Dropped, ...]" = ()
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

    What is kept is the model's whole answer, and the guards read it anew each time: the same question
    loads no model twice, even when nothing in the answer is of use, and better guards judge old
    answers too. A model that breaks down costs the variants, never the search.
    """
    from qmd_py.expansion import guards

    try:
        written, source = _written(question, expander, cache)
        closeness = _closeness(question, embedder) if embedder else None
        floor = embedder.scale[0] if embedder else guards.FLOOR
        guarded = guards.guard(question, written, analyzer, closeness, floor=floor)
    except ModelFailed as error:
        return Widened(source="the model failed", remark=f"expand: {error}")
    return Widened(guarded.kept, MODELS_WEIGHT, guarded.dropped, source)


def _written(
    question: str, expander: Expander, cache: AnswerCache
) -> tuple[tuple[Variant, ...], str]:
    """What the model wrote, and whether it was asked now; an answer cut short is not kept."""
    kept = cache.expansion(expander.fingerprint, question)
    if kept:
        return kept, "cache"
    written = expander.expand(question)
    if expander.finished:
        cache.put_expansion(expander.fingerprint, question, written)
    return written, "model"


def _closeness(question: str, embedder: Embedder) -> Callable[[Sequence[str]], Sequence[float]]:
    def cosines(texts: Sequence[str]) -> Sequence[float]:
        rows = embedder.queries([question, *texts])
        return [float(row @ rows[0]) for row in rows[1:]]

    return cosines
