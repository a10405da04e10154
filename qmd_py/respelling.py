"""Words that the index does not hold → its terms that they may be slips of."""

import functools
from collections.abc import Callable, Sequence

from qmd_py.query import Word
from qmd_py.terms import Analyzer

_RESPELLED = 20
"""Unknown words that may be slips of others; a question with more is a pasted text."""


def respelled(
    words: Sequence[Word], terms_from: Callable[[str], list[str]], analyzer: Analyzer
) -> list[Word]:
    """Those of the words that look like slips, each with the terms nearest to it.

    Args:
        words: words that the index does not hold.
        terms_from: the index terms with some beginning.
        analyzer: made the index terms.
    """
    terms_from = functools.cache(terms_from)  # for the words that begin alike
    slips = [word for word in words if _may_be_a_slip(word, analyzer)][:_RESPELLED]
    return [found for word in slips if (found := _respelled(terms_from, word, analyzer))]


def _may_be_a_slip(word: Word, analyzer: Analyzer) -> bool:
    parts = analyzer.words(word.typed)
    return len(parts) == 1 and any(map(str.isalpha, parts[0]))


def _respelled(
    terms_from: Callable[[str], list[str]], word: Word, analyzer: Analyzer
) -> Word | None:
    from qmd_py import spelling

    typed = analyzer.opening(word.typed)[1]
    # a slip in the first letter is rare, and without it every term would have to be read
    near = spelling.nearest(typed, terms_from(typed[0]))
    if not near and (heard := spelling.other_alphabet(typed)):
        near = spelling.nearest(heard, terms_from(heard[0]), sounded=True)
    found = dict.fromkeys(term for one in near for term in (one, *analyzer.words(one)))
    return Word(word.typed, tuple(found)) if found else None
