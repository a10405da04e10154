"""The names and technical words of a question: what no other wording may leave out."""

import re
import unicodedata
from itertools import pairwise

from qmd_py.expansion.languages import LATIN, language, script
from qmd_py.letters import fold
from qmd_py.query import sequence
from qmd_py.stopwords import stop_words
from qmd_py.terms import Analyzer

_QUOTED = re.compile(r'(?P<out>(?<!\S)-)?["“„«](?P<text>[^"“”„«»]+)["”“»]')
_EXCLUDED = re.compile(r"(?<!\S)-[^\W_]\S*")
_ENDS = ".,;:!?()[]{}<>\"'`“”„«»…—–*_¿¡、。，？！：；（）「」『』"
_SENTENCE_END = (".", "!", "?", "…", "。", "？", "！")
_LATIN_RUN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/\\@:=+#&-]*[A-Za-z0-9+#])?")
_CAMEL = re.compile(r"[a-zа-яё][A-ZА-ЯЁ]")
# joiners inside a word, or a sign before or after it: `a/b.md`, `.gitignore`, `@scope`, `C++`
_IDENTIFIER = re.compile(r"\w{2,}[_/\\@:.=&~]+\w{2,}|(?:--|[.@#/~])\w{2,}|\w(?:\+\+|#)")
_SHOUTED = 2  # words; a question of more, all of them in capitals, only shouts


def entities(question: str, analyzer: Analyzer) -> tuple[str, ...]:
    """What must be kept of a question, each once: quoted parts, technical words, names."""
    quoted = [part["text"] for part in _QUOTED.finditer(question) if not part["out"]]
    rest = _EXCLUDED.sub(" ", _QUOTED.sub(" ", question))
    found = dict.fromkeys([*quoted, *_technical_words(rest), *_names(rest)])
    return tuple(entity for entity in found if sequence(entity, analyzer))


def keeps(line: str, entity: str, analyzer: Analyzer) -> bool:
    """Whether the line has the words of an entity side by side, in any inflection or spelling."""
    wanted, terms = sequence(entity, analyzer), analyzer.words(line)
    size = len(wanted)
    if any(terms[at : at + size] == wanted for at in range(len(terms) - size + 1)):
        return True
    return _squashed(entity) in _spellings(line)


def _technical_words(text: str) -> list[str]:
    """Words with digits, signs or capitals inside; Latin words among those of another script."""
    shouted, latin = _is_shouted(text), script(text) == LATIN
    found: list[str] = []
    for token in text.split():
        if not latin and (runs := _LATIN_RUN.findall(token)):
            found += runs
        elif word := token.rstrip(_ENDS).lstrip(_ENDS.replace(".", "")):
            found += _technical_parts(word, shouted=shouted)
    return found


def _technical_parts(word: str, *, shouted: bool) -> list[str]:
    """The whole of `PIO-1384`, but of `PDF-Datei` only what is technical in it."""
    parts = [part for part in re.split(r"[-‑]", word) if part] if word[0] not in "-." else [word]
    technical = [part for part in parts if _is_technical(part, shouted=shouted)]
    return [word] if technical == parts else technical


def _is_technical(word: str, *, shouted: bool) -> bool:
    if any(sign.isdigit() for sign in word) or _IDENTIFIER.search(word):
        return True
    if shouted:
        return False
    return bool(_CAMEL.search(word)) or (len(word) > 1 and word.isupper())


def _names(text: str) -> list[str]:
    """Capitalised words inside a sentence, where capitals tell names."""
    if language(text) == "de" or _is_shouted(text):  # all German nouns are capitalised
        return []
    names: list[str] = []
    inside = False
    tokens = text.split()
    for token in tokens:
        word = token.strip(_ENDS)
        if inside and _is_capitalised(word):
            names.append(word)
        inside = not token.endswith(_SENTENCE_END)
    return [] if _is_title(tokens) else names


def _is_capitalised(word: str) -> bool:
    if not word[:1].isupper() or _technical_parts(word, shouted=False):
        return False
    return fold(word) not in stop_words(("en", "ru", "fr", "es", "it", "pt"))


def _is_title(tokens: list[str]) -> bool:
    """Whether the question is written Like a Title, so that capitals say nothing."""
    words = [word for token in tokens if (word := token.strip(_ENDS))]
    content = [word for word in words if fold(word) not in stop_words(("en",))]
    return len(content) > _SHOUTED and all(word[0].isupper() for word in content)


def _is_shouted(text: str) -> bool:
    return len(text.split()) > _SHOUTED and text.isupper()


def _spellings(line: str) -> set[str]:
    """Each word, and each two neighbours as one: `Wi-Fi`, `WiFi` and `Wi Fi` are the same."""
    words = [word for token in line.split() if (word := _squashed(token))]
    return {*words, *(one + two for one, two in pairwise(words))}


def _squashed(text: str) -> str:
    return "".join(sign for sign in unicodedata.normalize("NFKC", fold(text)) if sign.isalnum())
