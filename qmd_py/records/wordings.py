"""Other wordings of a question."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Variant:
    """Another wording of a question, and which search it is for."""

    kind: str
    """`lex`: words for BM25 alone; `vec`: a paraphrase, `hyde`: an invented answer, both for the
    dense run alone."""
    text: str
