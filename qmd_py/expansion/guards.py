"""Variants of a question → those that may be searched, and why the others may not.

Small models drift: into English, into loops, into the wording of their instructions. A variant that
drifted does harm, one that is missing does none, since the question itself is always searched.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from qmd_py.expansion import drift
from qmd_py.expansion.entities import entities, keeps
from qmd_py.expansion.languages import language, other_language, other_script
from qmd_py.expansion.lines import KINDS
from qmd_py.letters import fold, is_unspaced
from qmd_py.records.values import Value
from qmd_py.records.wordings import Variant
from qmd_py.stopwords import stop_words
from qmd_py.terms import Analyzer

FLOOR = 0.84
"""Least cosine to the question under multilingual-e5-small; removed most harm of small models on
the English help pages (nDCG@5 .749 unguarded, .772 to .779 with it; .776 without expansion)."""

UNKNOWN = "of a kind that no search takes"
EMPTY = "holds no word"
TOO_SHORT = "too short to say anything"
TOO_LONG = "too long"
TALK = "talk, not a search"
COPIED = "copied from the instructions"
LOOP = "repeats itself"
IDLE = "only words that any note has"
SAME = "the question again"
AGAIN = "the same text as another kind"
SCRIPT = "in another script than the question"
LANGUAGE = "in another language than the question"
LOST = "lacks a name or technical word of the question"
UNRELATED = "shares no word with the question"
FAR = "too far from the question in meaning"

# For each kind the least words that say something, the most words, the most characters: about what
# the grammar allows, with room for models that write without it.
_BOUNDS = {"lex": (1, 4, 80), "vec": (2, 30, 240), "hyde": (4, 60, 480)}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Dropped(Value):
    """A variant that is not searched."""

    variant: Variant
    reason: str
    """In words, one of this module's constants."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Guarded(Value):
    """What may be searched and what may not, each in the order in which it was written."""

    kept: tuple[Variant, ...]
    dropped: tuple[Dropped, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Asked(Value):
    """A question and what all its variants are compared with."""

    text: str
    analyzer: Analyzer
    content: frozenset[str]
    entities: tuple[str, ...]

    def misses(self, line: str) -> bool:
        return not all(keeps(line, entity, self.analyzer) for entity in self.entities)

    def shares(self, line: str) -> bool:
        if not self.content.isdisjoint(_content(line, self.analyzer)):
            return True
        return any(keeps(line, entity, self.analyzer) for entity in self.entities)


def guard(
    question: str,
    variants: Sequence[Variant],
    analyzer: Analyzer,
    closeness: Callable[[Sequence[str]], Sequence[float]] | None = None,
    *,
    floor: float = FLOOR,
) -> Guarded:
    """Sort out what drifted from the question; never raises, whatever a model wrote.

    Args:
        question: As typed.
        variants: As the model wrote them.
        analyzer: Makes the terms by which wordings are compared.
        closeness: Gives each of some texts its cosine to the question, all in one call; without it
            nothing is known of meaning, and a lex line must share a word with the question.
        floor: Least cosine; NaN is below any.
    """
    asked = _Asked(question, analyzer, _content(question, analyzer), entities(question, analyzer))
    reasons = [_fault(asked, variant) for variant in variants]
    for at, variant in enumerate(variants):
        # a model that has lost the thread writes one line under all the labels
        if reasons[at] is None and variant.text in {other.text for other in variants[:at]}:
            reasons[at] = AGAIN
    sound = [at for at, reason in enumerate(reasons) if reason is None]
    if closeness and sound:
        cosines = closeness([variants[at].text for at in sound])
        for at, cosine in zip(sound, cosines, strict=True):
            reasons[at] = None if cosine >= floor else FAR
    elif sound:
        for at in sound:
            reasons[at] = UNRELATED if _is_unrelated(asked, variants[at]) else None
    judged = list(zip(variants, reasons, strict=True))
    return Guarded(
        tuple(variant for variant, reason in judged if reason is None),
        tuple(Dropped(variant, reason) for variant, reason in judged if reason is not None),
    )


def _fault(asked: _Asked, variant: Variant) -> str | None:
    """The first reason against a variant that can be seen without a model."""
    return next((reason for reason, applies in _FAULTS if applies(asked, variant)), None)


def _is_unrelated(asked: _Asked, variant: Variant) -> bool:
    return variant.kind == "lex" and not asked.shares(variant.text)


def _is_empty(asked: _Asked, variant: Variant) -> bool:
    """Whether there is no letter; the numbers of the question say something."""
    return not any(map(str.isalpha, variant.text)) and not asked.shares(variant.text)


def _is_short(asked: _Asked, variant: Variant) -> bool:
    """Whether a sentence is none; two signs of an unspaced script count as a word."""
    unspaced = sum(map(is_unspaced, variant.text))
    return len(variant.text.split()) + unspaced // 2 < _BOUNDS[variant.kind][0]


def _is_long(asked: _Asked, variant: Variant) -> bool:
    _, words, characters = _BOUNDS[variant.kind]
    return len(variant.text.split()) > words or len(variant.text) > characters


def _is_same(asked: _Asked, variant: Variant) -> bool:
    return _content(variant.text, asked.analyzer) == asked.content


def _content(text: str, analyzer: Analyzer) -> frozenset[str]:
    """The terms of the words that are no function words; of all words when there are no others."""
    idle = stop_words([language(text) or ""])
    words = [
        token
        for token in text.split()
        if not (
            analyzer.is_stop_word(word := token.strip(".,;:!?()[]…\"'—–-¿¡")) or fold(word) in idle
        )
    ]
    return frozenset(analyzer.words(" ".join(words)) or analyzer.words(text))


# In this order: what is cheap and certain first, so that the reason shown is the plainest one.
_FAULTS: tuple[tuple[str, Callable[[_Asked, Variant], bool]], ...] = (
    (UNKNOWN, lambda asked, variant: variant.kind not in KINDS),
    (EMPTY, _is_empty),
    (TOO_LONG, _is_long),
    (COPIED, lambda asked, variant: drift.is_copied(asked.text, variant.text)),
    (TALK, lambda asked, variant: drift.is_talk(asked.text, variant.text)),
    (LOOP, lambda asked, variant: drift.is_loop(asked.text, variant.text, variant.kind)),
    (SCRIPT, lambda asked, variant: other_script(asked.text, variant.text)),
    (LANGUAGE, lambda asked, variant: other_language(asked.text, variant.text)),
    (IDLE, lambda asked, variant: variant.kind == "lex" and drift.is_idle(variant.text)),
    (SAME, _is_same),
    (TOO_SHORT, _is_short),
    (LOST, lambda asked, variant: variant.kind != "lex" and asked.misses(variant.text)),
)
