"""Text → index terms: normalise, split, stem by script, CJK bigrams.

Index and question go through the same functions, so whatever these lose is lost on both sides.
Two kinds of term come out of a text:

- *words*, in order, for the body and for phrases: `my-app.config` gives `my app config`;
- *compounds*, for a side column: as a whole (`my-app.config`), and the parts hidden inside a word
  (`getUserName` gives `get user name`, `v2026` gives `2026`).
"""

import functools
import itertools
import re
import threading
import unicodedata
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import TypeAlias

import Stemmer

from qmd_py.records.values import Value
from qmd_py.stopwords import stop_words

VERSION = 2
"""Raised whenever the terms of some text change, so that an older index is made anew."""

# Hints on where a line may or may not break; a word is the same without them.
_HINT = "\u00ad\u2060\ufeff"
# The signs that belong to the letter before them: accents, vowel signs, tone marks, hints.
_MARK = (
    rf"{_HINT}"
    r"\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    r"\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ebc\u0f71-\u0f84"
    r"\u102b-\u103e\u17b4-\u17d3\u3099\u309a"
)
_LETTER = rf"\w{_MARK}"
_JOINER = r"\-._/:@'’ʼ+#\\&=?~%"
_RUN = re.compile(rf"[{_LETTER}]+(?:[{_JOINER}]+[{_LETTER}]+)*(?:\+\+|#)?|[§¶†‡©®™←-⇿∀-⋿$€£¥₽№]")
_PART = re.compile(
    r"[^\W_](?:\+\+|#)(?![^\W_])|" rf"(?:(?!_)[{_LETTER}])+(?:['’ʼ](?!_)[{_LETTER}]+)*"
)
# Scripts written without spaces, and Hangul, whose particles cling to the word.
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_UPPER = "A-ZА-ЯЁ"
_LOWER = rf"(?:[^\W\d_{_UPPER}{_UNSPACED}]|(?![{_UNSPACED}])[{_MARK}])"
_FIRST_UNSPACED = "\u0e00"
_APOSTROPHES = str.maketrans({"’": "'", "ʼ": "'"})
_LONGEST_IDENTIFIER = 64  # longer ones are addresses and hashes: nobody types them in full

_MOST_KNOWN = 200_000
"""Words whose terms are kept: some 40 MB; most of what a vault says."""

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


# Compiling these two takes longer than a search by words, and few texts need them.


@functools.cache
def _hump() -> re.Pattern[str]:
    return re.compile(rf"[{_UPPER}]?{_LOWER}+|[{_UPPER}]+(?!{_LOWER})|\d+")


@functools.cache
def _unspaced_run() -> re.Pattern[str]:
    return re.compile(rf"[{_UNSPACED}]+")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Span(Value):
    """A word of a text and the index terms it stands under."""

    start: int
    end: int
    terms: frozenset[str]


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


def fold(word: str) -> str:
    """The word in NFKC, case-folded, without accents on Latin letters, `ё` as `е`.

    Stress marks go too, whatever the script (`за́мок`): they help to read, not to tell apart.
    """
    if word.isascii():
        return word.lower()
    if _is_folded(word):
        return word
    folded = unicodedata.normalize("NFKC", word).casefold().translate(_APOSTROPHES)
    return unicodedata.normalize("NFC", folded).translate(_BASES) or folded


def _is_folded(word: str) -> bool:
    """Whether all are small Cyrillic letters, or all Chinese ones: these fold to themselves."""
    first, last = min(word), max(word)
    return first >= "а" and last <= "я" if first < "一" else last <= "鿿"


class _Bases(dict[int, str]):
    """For `str.translate`: each character that was met, and what stands for it."""

    def __missing__(self, code: int) -> str:
        self[code] = found = _base(chr(code))
        return found


_BASES = _Bases()


def _base(character: str) -> str:
    """The letter without its accent, where readers take both for the same letter."""
    if character in _HINT:
        return ""
    if character < "\u00c0":
        return character
    if "\u0300" <= character <= "\u036f":
        return ""  # no letter of its own came of the mark, so it is an ornament
    if character == "ё":
        return "е"
    decomposed = unicodedata.normalize("NFD", character)
    # Latin and Greek only: in other scripts the mark makes another letter
    return decomposed[0] if decomposed[0] < "\u0400" and len(decomposed) > 1 else character


class _Known(dict[str, str]):
    """The terms of each word that was met."""

    def __init__(self, learn: Callable[[str], str]) -> None:
        self._learn = learn
        self.long: list[str] = []
        """Those that are no words but addresses and the like."""

    def __missing__(self, word: str) -> str:
        if len(word) > _LONGEST_IDENTIFIER:
            self.long.append(word)
        self[word] = terms = self._learn(word)
        return terms


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
        self._known = _Known(self._learn)
        self._beside: dict[str, _Beside] = {}

    def words(self, text: str) -> list[str]:
        """The terms of the text in order, one or more a word; no compounds."""
        found: list[str] = []
        for run in _RUN.findall(_normal(text)):
            for _, part in _parts(run):
                found += self._part_terms(part)
        return found

    def compounds(self, text: str) -> list[str]:
        """The compounds of the text as wholes, and the parts hidden inside its words."""
        return list(self.indexed(text).compounds)

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

    def opening(self, typed: str) -> tuple[str, str]:
        """The beginning of a term that a typed word with an open end is, after what precedes it.

        `sp_New*` gives nothing and `sp_new`, `(foo,bar*` gives `(foo,` and `bar`.
        """
        normal = _normal(typed)
        last = list(_RUN.finditer(normal))[-1]
        return normal[: last.start()], fold(last[0])

    def spans(self, text: str) -> Iterator[Span]:
        """Every word of the text with its place and terms; for marking words."""
        for run in _RUN.finditer(text):
            for start, part in _parts(run[0]):
                yield from self._part_spans(part, run.start() + start)

    def found_in(self, text: str, wanted: Set[str]) -> frozenset[str]:
        """Those of the wanted terms under which some word of the text stands."""
        found: set[str] = set()
        for run in set(_RUN.findall(text)):
            if run.isascii() and run.isalnum():  # nearly all, and one term each
                found.add(self._term(run))
                continue
            for _, part in _parts(run):
                found.update(self._part_terms(part))
        return frozenset(found & wanted)

    def is_stop_word(self, word: str) -> bool:
        """Whether the word, as typed, is a function word of one of the languages."""
        return fold(word).translate(_APOSTROPHES) in self._stop_words

    def _learn(self, word: str) -> str:
        if not _is_plain(word):
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
        normal = _normal(word)
        for run in [normal] if normal.isalnum() else _RUN.findall(normal):
            compounds.update(dict.fromkeys(self._compounds(run)))
            for _, part in _parts(run):
                words += self._part_terms(part)
                if not _has_unspaced(part) and len(words[-1]) < len(part):
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

    def _part_terms(self, part: str) -> list[str]:
        if not _has_unspaced(part):
            return [self._term(part)]
        found: list[str] = []
        at = 0
        for run in _unspaced_run().finditer(part):
            found += [self._term(part[at : run.start()])] if run.start() > at else []
            bigrams = [*(one + next_ for one, next_ in itertools.pairwise(run[0])), run[0][-1]]
            found += bigrams if _is_folded(run[0]) else map(fold, bigrams)
            at = run.end()
        return [*found, self._term(part[at:])] if at < len(part) else found

    def _part_spans(self, part: str, offset: int) -> Iterator[Span]:
        at = 0
        for run in _unspaced_run().finditer(part) if _has_unspaced(part) else ():
            if run.start() > at:
                yield self._span(part[at : run.start()], offset + at)
            for first, term in _bigrams(run[0]):
                start = offset + run.start() + first
                yield Span(start, start + len(term), frozenset({fold(term)}))
            at = run.end()
        if at < len(part):
            yield self._span(part[at:], offset + at)

    def _span(self, word: str, start: int) -> Span:
        return Span(start, start + len(word), frozenset({self._term(word)}))

    def _compounds(self, run: str) -> list[str]:
        parts = [part for _, part in _parts(run)]
        found = []
        # one part is a compound too where underscores stand around it: `__init__`
        if parts and parts != [run] and len(run) <= _LONGEST_IDENTIFIER:
            found.append(fold(run))
            if stripped := re.sub(r"^[^\W\d_]+(?=\d)", "", run):
                found += [fold(stripped)] if stripped != run else []
        for part in parts:
            humps = _hump().findall(part) if _may_have_humps(part) else []
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


def is_unspaced(term: str) -> bool:
    """Whether the term is in a script written without spaces, so that it is a bigram or less."""
    return bool(term) and min(term) >= _FIRST_UNSPACED and bool(_unspaced_run().fullmatch(term))


def _has_unspaced(part: str) -> bool:
    if part.isascii() or max(part.replace("’", "'")) < _FIRST_UNSPACED:
        return False
    # between them stand accented letters, arrows and other signs
    if not any(_FIRST_UNSPACED <= sign < "\u1800" or sign >= "\u3040" for sign in part):
        return False
    return _unspaced_run().search(part) is not None


def _is_plain(word: str) -> bool:
    """Whether a word is nothing but letters with spaces around, small ones after the first."""
    if not word.isalpha() or (len(word) > 1 and not word[1:].islower()):
        return False
    return word.isascii() or (max(word) < _FIRST_UNSPACED and _normal(word) == word)


def _may_have_humps(part: str) -> bool:
    """Whether a word is more than small letters, or a capital before them."""
    if not part.isalpha():
        return True
    if max(part) < _FIRST_UNSPACED:
        return len(part) > 1 and not part[1:].islower()
    return not (part.islower() or is_unspaced(part))


def _normal(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _parts(run: str) -> list[tuple[int, str]]:
    """The words of a run of letters and joiners, each with its offset; a symbol is its own."""
    if run.isalnum():
        return [(0, run)]
    return [(part.start(), part[0]) for part in _PART.finditer(run)] or [(0, run)]


def _bigrams(run: str) -> Iterator[tuple[int, str]]:
    """Overlapping pairs with their offsets, and the last character alone.

    The last one makes every single character the beginning of some term, so that a question of
    one character can be answered by prefix.
    """
    for at in range(len(run) - 1):
        yield at, run[at : at + 2]
    yield len(run) - 1, run[-1]
