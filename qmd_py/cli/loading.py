"""The models of this run."""

from qmd_py import config
from qmd_py.models import Models

_LATER = (
    "expand: no expansion model in this version",
    "rerank: no reranking model in this version",
)


def models() -> Models:
    """Everything a search can use on this machine."""
    try:
        from qmd_py.embedded import BuiltIn
    except ImportError as error:
        return Models(missing=(f"dense: no built-in embedder on this machine ({error})", *_LATER))
    return Models(BuiltIn(config.threads()), missing=_LATER)
