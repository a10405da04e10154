"""What was typed and is not there → what it may have been meant for. Pure."""

from collections.abc import Iterable, Sequence, Set

from rapidfuzz import process
from rapidfuzz.distance import OSA, Indel

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


def alike(typed: str, names: Sequence[str], most: int = 1, least: float = 0.6) -> list[str]:
    """The names that are most like what was typed, the likest first, in any case of letters; of equal ones that in the case typed.

    Args:
        typed: a name that there is not.
        names: those that there are.
        most: so many at most.
        least: share of the letters of both that has to be the same, in order.
    """
    found = process.extract(
        typed, names, scorer=Indel.normalized_similarity, processor=str.casefold,
        score_cutoff=least, limit=None,
    )  # fmt: skip
    found.sort(key=lambda one: (-one[1], -Indel.normalized_similarity(typed, one[0])))
    return [name for name, _, _ in found[:most]]


def suggestion(typed: str, names: Iterable[str]) -> str:
    """What an error adds about the name that may have been meant; empty where none is near."""
    near = alike(typed, sorted(names))
    return f" (did you mean '{near[0]}'?)" if near else ""


def suggested_path(typed: str, paths: Set[str]) -> str:
    """The same for a path; the folders of it that there are make no other one more like it."""
    right = typed.rpartition("/")[0]
    while right and right not in paths:
        right = right.rpartition("/")[0]
    start = f"{right}/" if right else ""
    inside = sorted(path.removeprefix(start) for path in paths if path.startswith(start))
    near = alike(typed.removeprefix(start), inside)
    return f" (did you mean '{start}{near[0]}'?)" if near else ""


def _in_cyrillic(word: str) -> str:
    out, at = [], 0
    while at < len(word):
        size = next(size for size in (3, 2, 1) if word[at : at + size] in _CYRILLIC)
        out.append(_CYRILLIC[word[at : at + size]])
        at += size
    return "".join(out)
