"""Other wordings of a question."""

from dataclasses import dataclass

from qmd_py.records.values import Value


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Variant(Value):
    """Another wording of a question, and which search it is for."""

    kind: str
    """`lex`: words for BM25 alone; `vec`: a paraphrase, `hyde`: an invented answer, both for the
    dense run alone."""
    text: str
