"""What was typed → words, phrases, exclusions.

The whole syntax: `word`, `word*` (prefix), `"a phrase"` (must occur), `-word` and `-"a phrase"`
(must not occur). Everything else is literal text: `title:x`, `a/b`, `C++`, `don't`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from qmd_py.errors import UsageError
from qmd_py.letters import is_unspaced
from qmd_py.records.values import Value
from qmd_py.terms import Analyzer

_LONGEST = 10_000  # characters; a question is not a document
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"'})
_TOKEN = re.compile(r'(?P<minus>-)?"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+|")')


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Word(Value):
    """One typed word and the index terms it is looked for under."""

    typed: str
    terms: tuple[str, ...]
    """Alternatives: the word, its parts, the compound as a whole."""
    prefix: bool = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Phrase(Value):
    """Terms that must stand side by side."""

    typed: str
    terms: tuple[str, ...]
    prefix: bool = False
    """Whether the last term is only the beginning of one."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Query(Value):
    """A question, ready for the index."""

    text: str
    """As typed."""
    words: tuple[Word, ...] = ()
    """Any of them may occur; the more and the rarer, the better."""
    phrases: tuple[Phrase, ...] = ()
    """Each must occur in the note."""
    excluded: tuple[Phrase, ...] = ()
    """None may occur in the note."""
    required: tuple[Phrase, ...] = ()
    """Each must occur in the note, like `phrases`, but says nothing about how well it answers."""

    @property
    def looks(self) -> bool:
        """Whether it holds anything to look for."""
        return bool(self.words or self.phrases)

    @property
    def plain(self) -> str:
        """The question without its operators, for a model."""
        typed = [phrase.typed for phrase in self.phrases] + [word.typed for word in self.words]
        return " ".join(typed) if self.phrases or self.excluded else self.text.strip()


def parse(text: str, analyzer: Analyzer) -> Query:
    """Understand a question; stop-words are dropped unless there is nothing else.

    Raises:
        UsageError: nothing to look for, only exclusions, or longer than a question can be.
    """
    _check_length(text)
    words: list[Word] = []
    phrases: list[Phrase] = []
    excluded: list[Phrase] = []
    for kind, typed in _tokens(text):
        if kind == "word":
            words += _word(typed, analyzer)
            continue
        if phrase := _phrase(typed, analyzer, literal=kind == "phrase"):
            (phrases if kind == "phrase" else excluded).append(phrase)
    kept = [word for word in words if not _is_idle(word, analyzer)]
    if not kept and not phrases:
        kept = words
    if not kept and not phrases:
        raise UsageError(_nothing_to_look_for(excluded))
    return Query(text, tuple(kept), tuple(phrases), tuple(excluded))


def _phrase(typed: str, analyzer: Analyzer, *, literal: bool) -> Phrase | None:
    terms = sequence(typed, analyzer)
    if not terms:
        return None
    if not literal and typed.endswith("*") and not is_unspaced(terms[-1]):
        before, opening = analyzer.opening(typed)
        return Phrase(typed, (*sequence(before, analyzer), opening), prefix=True)
    return Phrase(typed, tuple(terms))


def sequence(text: str, analyzer: Analyzer) -> list[str]:
    """The terms of a phrase in the order in which the index holds them."""
    terms = analyzer.words(text)
    # the text may go on where the phrase ends, and then the index holds no such term there
    return terms[:-1] if terms and _is_tail(terms, len(terms) - 1) else terms


def _is_tail(terms: Sequence[str], at: int) -> bool:
    """Whether the term is the lone last character that ends a run in an unspaced script."""
    term, before = terms[at], terms[at - 1] if at else ""
    return len(term) == 1 and len(before) == 2 and before[1] == term and is_unspaced(before)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    for token in _TOKEN.finditer(text.translate(_QUOTES)):
        if token["phrase"] is not None:
            yield ("excluded" if token["minus"] else "phrase"), token["phrase"]
        elif re.match(r"-[^\W_]", token["word"]):
            yield "excluded", token["word"][1:]
        else:
            yield "word", token["word"]


def _word(typed: str, analyzer: Analyzer) -> list[Word]:
    found = analyzer.words(typed)
    parts = [term for at, term in enumerate(found) if not _is_tail(found, at)]
    if not parts:
        return []
    if typed.endswith("*") and not is_unspaced(parts[-1]):
        # the end is open, so it is looked for as typed, not as a stem
        before, opening = analyzer.opening(typed)
        return [*_word(before.rstrip("*"), analyzer), Word(f"{opening}*", (opening,), prefix=True)]
    lone = len(parts) == 1 and len(parts[0]) == 1 and is_unspaced(parts[0])
    terms = dict.fromkeys([*parts, *analyzer.compounds(typed)])
    return [Word(typed, tuple(terms), prefix=lone)]


def _is_idle(word: Word, analyzer: Analyzer) -> bool:
    return not word.prefix and analyzer.is_stop_word(word.typed.strip(".,;:!?()[]…—–-"))


def _check_length(text: str) -> None:
    if len(text) > _LONGEST:
        raise UsageError(f"the question has {len(text)} characters: ask with at most {_LONGEST}")


def _nothing_to_look_for(excluded: list[Phrase]) -> str:
    if excluded:
        return f"only words to leave out (-{excluded[0].typed}): add a word to look for"
    return "nothing to look for: type a word with a letter or digit in it"
