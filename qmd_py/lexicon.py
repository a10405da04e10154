"""Many texts → all that each is found under, the terms of every word worked out once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from qmd_py.letters import RUN, fold, has_unspaced, is_plain, normal_form, parts_of
from qmd_py.records.values import Value
from qmd_py.terms import LONGEST_IDENTIFIER, Analyzer

_MOST_KNOWN = 200_000
"""Words whose terms are kept: some 40 MB; most of what a vault says."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Indexed(Value):
    """Everything a text is found under."""

    words: str
    """The terms in order, one or more a word, with spaces between them; no compounds."""
    compounds: tuple[str, ...]
    """The compounds as wholes, and the parts hidden inside words."""
    shortened: tuple[str, ...]
    """The words that their stem shortened, for prefixes: `synchroni*` is no beginning of the stem
    `synchron`."""


_Beside: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""The compounds of a word, and what its stem shortened."""


class _Known(dict[str, str]):
    """The terms of each word that was met."""

    def __init__(self, learn: Callable[[str], str]) -> None:
        self._learn = learn
        self.long: list[str] = []
        """Those that are no words but addresses and the like."""

    def __missing__(self, word: str) -> str:
        if len(word) > LONGEST_IDENTIFIER:
            self.long.append(word)
        self[word] = terms = self._learn(word)
        return terms


class Lexicon(Analyzer):
    """An analyzer that goes on knowing what each word gave, for texts that have most words in common."""

    def __init__(self, languages: Sequence[str]) -> None:
        super().__init__(languages)
        self._known = _Known(self._learn)
        self._beside: dict[str, _Beside] = {}

    def indexed(self, text: str) -> Indexed:
        """All terms of a text, in one pass; what a word gives is looked up from then on.

        No term reaches over white space, so a word here is what stands between two spaces.
        """
        words = text.split()
        found = " ".join(filter(None, map(self._known.__getitem__, words)))
        beside = list(filter(None, map(self._beside.get, dict.fromkeys(words))))
        self._forget()
        return Indexed(
            found,
            tuple([term for compounds, _ in beside for term in compounds]),
            tuple([term for _, shortened in beside for term in shortened]),
        )

    def _learn(self, word: str) -> str:
        if not is_plain(word):
            return self._learn_parts(word)
        folded = fold(word)
        term = self._stem(folded)
        if len(term) < len(word):
            self._beside[word] = ((), (folded,))
        return term

    def _learn_parts(self, word: str) -> str:
        words: list[str] = []
        compounds: dict[str, None] = {}
        shortened: dict[str, None] = {}
        normal = normal_form(word)
        for run in [normal] if normal.isalnum() else RUN.findall(normal):
            compounds.update(dict.fromkeys(self._compounds(run)))
            for _, part in parts_of(run):
                words += self._part_terms(part)
                if not has_unspaced(part) and len(words[-1]) < len(part):
                    shortened[fold(part)] = None
        if compounds or shortened:
            self._beside[word] = (tuple(compounds), tuple(shortened))
        return " ".join(words)

    def _forget(self) -> None:
        """Drop the words that will hardly come again, and all when they are too many."""
        for word in self._known.long:
            del self._known[word]
            self._beside.pop(word, None)
        self._known.long.clear()
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
            self._beside.clear()
