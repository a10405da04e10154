"""What models said of earlier questions, kept on disk."""

from qmd_py.cache.answers import AnswerCache, Cache, CacheState, NoCache

__all__ = ["AnswerCache", "Cache", "CacheState", "NoCache"]
