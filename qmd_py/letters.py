"""Text → words: which signs belong to one, where it parts, and the form in which words are compared.

Terms are made of these: where one comes out otherwise, `terms.VERSION` is raised.
"""

import functools
import re
import unicodedata
from collections.abc import Iterator

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
RUN = re.compile(rf"[{_LETTER}]+(?:[{_JOINER}]+[{_LETTER}]+)*(?:\+\+|#)?|[§¶†‡©®™←-⇿∀-⋿$€£¥₽№]")
"""Letters and what joins them, or a lone symbol."""
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


# Compiling these two takes longer than a search by words, and few texts need them.


@functools.cache
def _hump() -> re.Pattern[str]:
    return re.compile(rf"[{_UPPER}]?{_LOWER}+|[{_UPPER}]+(?!{_LOWER})|\d+")


@functools.cache
def unspaced_run() -> re.Pattern[str]:
    """Finds what is in scripts written without spaces."""
    return re.compile(rf"[{_UNSPACED}]+")


def fold(word: str) -> str:
    """The word in NFKC, case-folded, without accents on Latin letters, `ё` as `е`.

    Stress marks go too, whatever the script (`за́мок`): they help to read, not to tell apart.
    """
    if word.isascii():
        return word.lower()
    if is_folded(word):
        return word
    folded = unicodedata.normalize("NFKC", word).casefold().translate(_APOSTROPHES)
    return unicodedata.normalize("NFC", folded).translate(_BASES) or folded


def is_folded(word: str) -> bool:
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


def is_unspaced(term: str) -> bool:
    """Whether the term is in a script written without spaces, so that it is a bigram or less."""
    return bool(term) and min(term) >= _FIRST_UNSPACED and bool(unspaced_run().fullmatch(term))


def has_unspaced(part: str) -> bool:
    """Whether a script written without spaces stands in a part of a run."""
    if part.isascii() or max(part.replace("’", "'")) < _FIRST_UNSPACED:
        return False
    # between them stand accented letters, arrows and other signs
    if not any(_FIRST_UNSPACED <= sign < "\u1800" or sign >= "\u3040" for sign in part):
        return False
    return unspaced_run().search(part) is not None


def is_plain(word: str) -> bool:
    """Whether a word is nothing but letters with spaces around, small ones after the first."""
    if not word.isalpha() or (len(word) > 1 and not word[1:].islower()):
        return False
    return word.isascii() or (max(word) < _FIRST_UNSPACED and normal_form(word) == word)


def humps_of(part: str) -> list[str]:
    """The humps of a word such as `getUserName`; none where it cannot have any."""
    return _hump().findall(part) if _may_have_humps(part) else []


def _may_have_humps(part: str) -> bool:
    """Whether a word is more than small letters, or a capital before them."""
    if not part.isalpha():
        return True
    if max(part) < _FIRST_UNSPACED:
        return len(part) > 1 and not part[1:].islower()
    return not (part.islower() or is_unspaced(part))


def normal_form(text: str) -> str:
    """The text in NFKC, in which words are looked for."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def parts_of(run: str) -> list[tuple[int, str]]:
    """The words of a run of letters and joiners, each with its offset; a symbol is its own."""
    if run.isalnum():
        return [(0, run)]
    return [(part.start(), part[0]) for part in _PART.finditer(run)] or [(0, run)]


def bigrams(run: str) -> Iterator[tuple[int, str]]:
    """Overlapping pairs with their offsets, and the last character alone.

    The last one makes every single character the beginning of some term, so that a question of
    one character can be answered by prefix.
    """
    for at in range(len(run) - 1):
        yield at, run[at : at + 2]
    yield len(run) - 1, run[-1]
