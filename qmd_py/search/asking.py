"""What can be asked for, besides the question."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from qmd_py import snippets
from qmd_py.provenance import Reading
from qmd_py.records.answers import Answer, Scope
from qmd_py.records.values import Value

if TYPE_CHECKING:
    from qmd_py.cache import AnswerCache
    from qmd_py.expansion.callers import Handed
    from qmd_py.gate import Gate

RUNS = ("bm25", "note", "near", "title", "dense", "lex", "vec", "hyde", "phrasings", "rerank")
"""Everything a search may ask; any of them can be left out."""

PASSAGE_TOKENS = 160
"""Longest passage that is reranked: on a CPU tokens are the price."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ask(Value):
    """What is asked for, besides the question."""

    limit: int = 10
    scope: Scope = field(default_factory=Scope)
    min_score: float = 0.0
    without: frozenset[str] = frozenset()
    """Names of runs to leave out."""
    snippet: int = snippets.DEFAULT_LENGTH
    """Longest snippet in characters."""
    full: int = 0
    """Bytes of the largest note that a hit carries whole; 0 for none."""
    handed: "Handed | None" = None
    """The caller's own wordings; with any of them no model is asked for more."""
    budget: float | None = None
    """Seconds to spend on reranking; None for as many as it takes."""
    passage_tokens: int = PASSAGE_TOKENS
    """Longest passage that is reranked."""
    cache: "AnswerCache | None" = None
    """What models said of earlier questions; None keeps nothing."""
    reading: Reading = field(default_factory=Reading)
    """How the provenance of hits is found out."""
    gate: "Gate | None" = None
    """What may be shown at all; None for everything."""
    recent: float | None = None
    """Days after which half of what age can take from a score is gone; None takes nothing."""
    early: Callable[[Answer], None] | None = None
    """Is shown the fused answer before it is reranked."""
