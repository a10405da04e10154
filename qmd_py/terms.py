"""Text → index terms: normalise, split, stem by script, CJK bigrams.

Index and question go through the same functions, so whatever these lose is lost on both sides.
Two kinds of term come out of a text:

- *words*, in order, for the body and for phrases: `my-app.config` gives `my app config`;
- *compounds*, for a side column: as a whole (`my-app.config`), and the parts hidden inside a word
  (`getUserName` gives `get user name`, `v2026` gives `2026`).
"""

import itertools
import re
import threading
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass

import Stemmer

from qmd_py.letters import (
    RUN,
    bigrams,
    fold,
    has_unspaced,
    humps_of,
    is_folded,
    normal_form,
    parts_of,
    unspaced_run,
)
from qmd_py.records.values import Value
from qmd_py.stopwords import stop_words

VERSION = 2
"""Raised whenever the terms of some text change, so that an older index is made anew."""

LONGEST_IDENTIFIER = 64
"""Longer ones are addresses and hashes: nobody types them in full."""

_ALGORITHMS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "es": "spanish", "et": "estonian", "eu": "basque", "fi": "finnish",
    "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian",
    "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch",
    "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian",
    "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
_SCRIPTS = (
    # first and last code point, script, the language whose stemmer serves it unless one is set
    ("a", "\u024f", "latin", "en"),
    ("\u0370", "\u03ff", "greek", "el"),
    ("\u0400", "\u052f", "cyrillic", "ru"),
    ("\u0530", "\u058f", "armenian", "hy"),
    ("\u0590", "\u05ff", "hebrew", "yi"),
    ("\u0600", "\u06ff", "arabic", "ar"),
    ("\u0900", "\u097f", "devanagari", "hi"),
    ("\u0b80", "\u0bff", "tamil", "ta"),
    ("\u1e00", "\u1eff", "latin", "en"),
)
_SCRIPT_OF_LANGUAGE = {
    "ru": "cyrillic", "el": "greek", "hy": "armenian", "yi": "hebrew", "ar": "arabic",
    "hi": "devanagari", "ne": "devanagari", "ta": "tamil",
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Span(Value):
    """A word of a text and the index terms it stands under."""

    start: int
    end: int
    terms: frozenset[str]


_MOST_WORDS = 50_000  # remembered with their terms; some 8 MB, in each thread


class Analyzer:
    """Makes index terms of text; one for each choice of languages."""

    def __init__(self, languages: Sequence[str]) -> None:
        self.languages = tuple(languages)
        self._stop_words = stop_words(languages)
        self._chosen: dict[str, str] = {}
        for code in languages:
            if code in _ALGORITHMS:
                self._chosen.setdefault(_SCRIPT_OF_LANGUAGE.get(code, "latin"), code)
        self._stemmers: dict[str, Callable[[str], str]] = {}
        self._terms: dict[str, str] = {}

    def words(self, text: str) -> list[str]:
        """The terms of the text in order, one or more a word; no compounds."""
        found: list[str] = []
        for run in RUN.findall(normal_form(text)):
            for _, part in parts_of(run):
                found += self._part_terms(part)
        return found

    def compounds(self, text: str) -> list[str]:
        """The compounds of the text as wholes, and the parts hidden inside its words."""
        found: dict[str, None] = {}
        for run in RUN.findall(normal_form(text)):
            found.update(dict.fromkeys(self._compounds(run)))
        return list(found)

    def opening(self, typed: str) -> tuple[str, str]:
        """The beginning of a term that a typed word with an open end is, after what precedes it.

        `sp_New*` gives nothing and `sp_new`, `(foo,bar*` gives `(foo,` and `bar`.
        """
        normal = normal_form(typed)
        last = list(RUN.finditer(normal))[-1]
        return normal[: last.start()], fold(last[0])

    def spans(self, text: str) -> Iterator[Span]:
        """Every word of the text with its place and terms; for marking words."""
        for run in RUN.finditer(text):
            for start, part in parts_of(run[0]):
                yield from self._part_spans(part, run.start() + start)

    def found_in(self, text: str, wanted: Set[str]) -> frozenset[str]:
        """Those of the wanted terms under which some word of the text stands."""
        found: set[str] = set()
        for run in set(RUN.findall(text)):
            if run.isascii() and run.isalnum():  # nearly all, and one term each
                found.add(self._term(run))
                continue
            for _, part in parts_of(run):
                found.update(self._part_terms(part))
        return frozenset(found & wanted)

    def is_stop_word(self, word: str) -> bool:
        """Whether the word, as typed, is a function word of one of the languages."""
        return fold(word) in self._stop_words

    def _part_terms(self, part: str) -> list[str]:
        if not has_unspaced(part):
            return [self._term(part)]
        found: list[str] = []
        at = 0
        for run in unspaced_run().finditer(part):
            found += [self._term(part[at : run.start()])] if run.start() > at else []
            pairs = [*(one + next_ for one, next_ in itertools.pairwise(run[0])), run[0][-1]]
            found += pairs if is_folded(run[0]) else map(fold, pairs)
            at = run.end()
        return [*found, self._term(part[at:])] if at < len(part) else found

    def _part_spans(self, part: str, offset: int) -> Iterator[Span]:
        at = 0
        for run in unspaced_run().finditer(part) if has_unspaced(part) else ():
            if run.start() > at:
                yield self._span(part[at : run.start()], offset + at)
            for first, term in bigrams(run[0]):
                start = offset + run.start() + first
                yield Span(start, start + len(term), frozenset({fold(term)}))
            at = run.end()
        if at < len(part):
            yield self._span(part[at:], offset + at)

    def _span(self, word: str, start: int) -> Span:
        return Span(start, start + len(word), frozenset({self._term(word)}))

    def _compounds(self, run: str) -> list[str]:
        parts = [part for _, part in parts_of(run)]
        found = []
        # one part is a compound too where underscores stand around it: `__init__`
        if parts and parts != [run] and len(run) <= LONGEST_IDENTIFIER:
            found.append(fold(run))
            if stripped := re.sub(r"^[^\W\d_]+(?=\d)", "", run):
                found += [fold(stripped)] if stripped != run else []
        for part in parts:
            humps = humps_of(part)
            if len(humps) > 1:
                found += [self._term(hump) for hump in humps if len(hump) > 1]
            if "'" in part or "’" in part:
                found += [self._term(piece) for piece in re.split("['’ʼ]", part) if len(piece) > 1]
        return found

    def _term(self, word: str) -> str:
        term = self._terms.get(word)
        if term is None:
            if len(self._terms) >= _MOST_WORDS:
                self._terms.clear()
            term = self._terms[word] = self._stem(fold(word))
        return term

    def _stem(self, word: str) -> str:
        stem = self._stemmers.get(word[0])
        if stem is None:
            stem = self._stemmers[word[0]] = self._stemmer(word[0])
        # a second fold: some stemmers put an accent back
        return fold(stem(word)) or word

    def _stemmer(self, letter: str) -> Callable[[str], str]:
        """What stems the words that begin with a letter."""
        for first, last, script, default in _SCRIPTS:
            if first <= letter <= last:
                algorithm = _ALGORITHMS[self._chosen.get(script, default)]
                # without a cache of its own, which takes longer to keep than a stem
                stem: Callable[[str], str] = Stemmer.Stemmer(algorithm, 0).stemWord
                return stem
        return str


_kept = threading.local()


def analyzer_for(languages: Sequence[str]) -> Analyzer:
    """This thread's analyzer for a choice of languages; it goes on knowing the words it has seen.

    Stemmers must not be shared between threads.
    """
    known: dict[tuple[str, ...], Analyzer] = _kept.__dict__.setdefault("analyzers", {})
    return known.setdefault(tuple(languages), Analyzer(languages))
