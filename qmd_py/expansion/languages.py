"""In which script and language a short text is; silent where that is unsure.

No model and no tables of frequencies: scripts by their letters, languages by their function words.
"""

import re
import unicodedata
from functools import lru_cache

from qmd_py.letters import fold
from qmd_py.stopwords import stop_words

LATIN = "latin"
_UNSPACED = frozenset({"han", "kana", "thai", "lao", "khmer", "myanmar"})
_SAME_HOME = {"kana": "han"}  # Japanese mixes both
_NAMES = {"cjk": "han", "hiragana": "kana", "katakana": "kana", "katakana-hiragana": "kana"}
_OWN_SHARE = 1 / 4  # of a question's words; Latin names often outnumber the words around them

_TOKEN_ENDS = ".,;:!?()[]{}<>\"'`“”„«»…—–-*_¿¡"
_PLAIN_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")

_LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl")
# Question words and pronouns that the lists of stop-words spare, since they may tell notes apart.
_MORE_WORDS = {
    "en": "every there turn using",
    "de": "alle allen ausschalten gibt jede jeder jedes lassen mehr mich mir wann warum welche "
    "welchen welcher welches wieder",
    "fr": "chaque depuis faire peut pourquoi puis quand sous tous tout toute toutes vers",
    "es": "cada hacer puedo puede todas todo todos",
    "it": "dopo ogni posso puo tutte tutti tutto",
    "pt": "cada fazer onde posso pode todas todos",
    "nl": "alle elke kun moet waar waarom welke",
}
# Function words elsewhere, but English words of content, or parts of names, as well.
_ENGLISH_TOO = """
    ate bin ci com come con den des die door er era ha hat hay man mit pas par per pour sans sin son
    tem ton uit van war wat
    """
# What makes an English line of keywords, which has no function words; no loan-words among them.
_ENGLISH_KEYWORDS = """
    add change create delete disable enable exclude find folder folders hide keep move prevent
    remove rename save search settings share
    """
# Letters of languages that are not among ours, whose short words look like ours.
_STRANGE = frozenset("ąćęłńśźżőűğışåøčďěňřšťůžășțđľĺŕ")
_RUSSIAN, _UKRAINIAN = frozenset("ыэъё"), frozenset("іїєґ")
_CHINESE = frozenset("的吗怎么如何我这们什哪为请让你")
_SURELY_CHINESE = 8  # Han characters in a row of letters without a single Japanese kana
_SURE = 2  # function words more than the other language has
_SHORT = 4  # words; so few that a single function word is telling


def script(text: str) -> str | None:
    """The script a text is at home in, in lower case; None where there is no letter.

    Any other one goes before Latin, since names and commands are Latin in every language.
    Japanese counts as `han`.
    """
    weights: dict[str, float] = {}
    for own, piece in _pieces(text):
        weights[own] = weights.get(own, 0) + _weight(own, piece)
    total = sum(weights.values())
    weights.pop(LATIN, None)
    best = max(weights, key=lambda own: weights[own], default=None)
    if best is None or weights[best] < _OWN_SHARE * total:
        return LATIN if total else None
    asked_about = weights[best] < total / 2 and max(_scores(_words(text)).values()) >= _SURE
    return LATIN if asked_about else best  # `what does привет mean` is English


def other_script(question: str, line: str) -> bool:
    """Whether a line is not in the script of the question.

    Words of the question itself may stand anywhere, Latin names and commands in any line.
    """
    home = script(question)
    if home is None:
        return False
    known = {piece for _, piece in _pieces(question)}
    own = new_latin = 0.0
    for used, piece in _pieces(" ".join(filter(_is_prose, line.split()))):
        if used == home:
            own += _weight(used, piece)
        elif piece not in known and used != LATIN and len(piece) > 1:
            return True
        elif piece not in known:
            new_latin += _weight(used, piece)
    return new_latin > own


def other_language(question: str, line: str) -> bool:
    """Whether a line is surely in another language than the question surely is in."""
    if script(question) != LATIN:
        asked = language(question)
        return asked is not None and language(line) not in (asked, None)
    asked_words, words = _words(question), _words(line)
    possible = _likeliest(asked_words)
    if not possible or _is_strange(question) or _is_strange(line):
        return False
    scores = _scores(words)
    if "en" not in possible:
        scores["en"] += len(set(words).intersection(_ENGLISH_KEYWORDS.split()) - set(asked_words))
    own = max(scores[code] for code in possible)
    lead = max(scores.values()) - own
    return lead >= _SURE or (lead == 1 and own == 0 and len(words) <= _SHORT)


def language(text: str) -> str | None:
    """The language of a short text as an ISO 639-1 code; None where it is unsure."""
    home = script(text)
    if home == LATIN:
        return _latin_language(text)
    if home == "cyrillic":
        return _cyrillic_language(text)
    if home == "han":
        return _east_asian_language(text)
    return {"hangul": "ko", "greek": "el"}.get(home or "")


def _latin_language(text: str) -> str | None:
    best = _likeliest(_words(text))
    return best[0] if len(best) == 1 and not _is_strange(text) else None


def _likeliest(words: list[str]) -> list[str]:
    """The languages with the most function words among these, several when they tie."""
    scores = _scores(words)
    most = max(scores.values())
    return [code for code, score in scores.items() if score == most and most > 0]


def _cyrillic_language(text: str) -> str | None:
    letters = set(unicodedata.normalize("NFC", text.lower()))
    russian, ukrainian = bool(letters & _RUSSIAN), bool(letters & _UKRAINIAN)
    if russian != ukrainian:
        return "ru" if russian else "uk"
    words = set(_words(text))
    only_russian = len(words & (stop_words(["ru"]) - stop_words(["uk"])))
    only_ukrainian = len(words & (stop_words(["uk"]) - stop_words(["ru"])))
    if only_russian == only_ukrainian or russian:
        return None
    return "ru" if only_russian > only_ukrainian else "uk"


def _east_asian_language(text: str) -> str | None:
    if any(_sign_script(sign) == "kana" for sign in text):
        return "ja"
    han = sum(_sign_script(sign) == "han" for sign in text)
    return "zh" if han >= _SURELY_CHINESE or set(text) & _CHINESE else None


def _is_strange(text: str) -> bool:
    return not _STRANGE.isdisjoint(unicodedata.normalize("NFC", text.lower()))


def _scores(words: list[str]) -> dict[str, int]:
    found = set(words)
    return {code: len(found & _function_words(code)) for code in _LANGUAGES}


@lru_cache
def _function_words(code: str) -> frozenset[str]:
    """What tells the language; single letters are names of things too often."""
    words = stop_words([code]) | set(_MORE_WORDS[code].split())
    return frozenset(word for word in words if len(word) > 1 and not _is_lost(word, code))


def _is_lost(word: str, code: str) -> bool:
    return code != "en" and word in _ENGLISH_TOO.split()


def _is_prose(token: str) -> bool:
    """Whether it is no identifier, command or address, which are Latin in any language."""
    return not token.isascii() or bool(_PLAIN_WORD.fullmatch(token.strip(_TOKEN_ENDS)))


def _words(text: str) -> list[str]:
    """Folded words that are nothing but letters, elided ones in parts; no `com` of a web address."""
    found: list[str] = []
    for token in text.split():
        if _PLAIN_WORD.fullmatch(token := token.strip(_TOKEN_ENDS)):
            word = fold(token)
            found += [word, *word.split("'")] if "'" in word else [word]
    return found


def _weight(own: str, piece: str) -> float:
    """How many words a run of letters is; a word of an unspaced script has about two letters."""
    return len(piece) / 2 if own in _UNSPACED else 1


def _pieces(text: str) -> list[tuple[str, str]]:
    """Runs of letters of one script, lower-case, with the script; Japanese counts as Han."""
    pieces: list[tuple[str, str]] = []
    last = None
    for sign in unicodedata.normalize("NFKC", text):
        own = _sign_script(sign)
        own = _SAME_HOME.get(own or "", own)
        if own and own == last:
            pieces[-1] = (own, pieces[-1][1] + sign.lower())
        elif own:
            pieces.append((own, sign.lower()))
        if own or not unicodedata.category(sign).startswith("M"):
            last = own
    return pieces


@lru_cache(maxsize=4096)
def _sign_script(sign: str) -> str | None:
    """The script of a letter, by the first word of its name; None for what is no letter."""
    if not sign.isalpha():
        return None
    name = unicodedata.name(sign, "unknown").split()[0].lower()
    return _NAMES.get(name, name)
