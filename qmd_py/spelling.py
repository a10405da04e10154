"""A word the index does not contain → the index terms it may have been meant for. Pure."""

from collections.abc import Iterable

from rapidfuzz import process
from rapidfuzz.distance import OSA

_MOST = 4  # a stem and the words it came from are terms, so this is about two words

_LATIN = {
    "а": "a", "б": "b", "в": "v", "г": "g", "д": "d", "е": "e", "ж": "zh", "з": "z", "и": "i",
    "й": "y", "к": "k", "л": "l", "м": "m", "н": "n", "о": "o", "п": "p", "р": "r", "с": "s",
    "т": "t", "у": "u", "ф": "f", "х": "h", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "sch", "ъ": "",
    "ы": "y", "ь": "", "э": "e", "ю": "yu", "я": "ya",
}  # fmt: skip
_CYRILLIC = {
    "sch": "щ", "zh": "ж", "ts": "ц", "ch": "ч", "sh": "ш", "yu": "ю", "ya": "я", "ph": "ф",
    "kh": "х", "a": "а", "b": "б", "c": "к", "d": "д", "e": "е", "f": "ф", "g": "г", "h": "х",
    "i": "и", "j": "дж", "k": "к", "l": "л", "m": "м", "n": "н", "o": "о", "p": "п", "q": "к",
    "r": "р", "s": "с", "t": "т", "u": "у", "v": "в", "w": "в", "x": "кс", "y": "и", "z": "з",
}  # fmt: skip


def other_alphabet(word: str) -> str | None:
    """The word as it sounds in the other alphabet: `plagin` and `плагин`; None for other scripts."""
    if word.isascii():
        return _in_cyrillic(word) if word.isalpha() else None
    letters = [_LATIN.get(letter) for letter in word]
    return None if None in letters else "".join(filter(None, letters))


def nearest(word: str, terms: Iterable[str], *, sounded: bool = False) -> list[str]:
    """The terms with the fewest edits to the word, within what its length allows.

    An edit is an insertion, deletion, substitution or swap of neighbours. Words below five letters
    must be right, words below nine may have one edit, longer ones two: shorter words have too many
    neighbours. A word with many nearest terms is no slip of any of them.

    Args:
        word: folded.
        terms: what the index contains.
        sounded: the word was put into this alphabet by ear, so that short ones prove less.
    """
    most = sum(len(word) >= length for length in ((6, 10) if sounded else (5, 9)))
    found = process.extract(word, list(terms), scorer=OSA.distance, score_cutoff=most, limit=None)
    best = min((distance for _, distance, _ in found), default=0)
    near = sorted(term for term, distance, _ in found if distance == best)
    return near if len(near) <= _MOST else []


def _in_cyrillic(word: str) -> str:
    out, at = [], 0
    while at < len(word):
        size = next(size for size in (3, 2, 1) if word[at : at + size] in _CYRILLIC)
        out.append(_CYRILLIC[word[at : at + size]])
        at += size
    return "".join(out)
