"""How small models go astray: talk, copied instructions, loops, words that say nothing."""

import re
from functools import lru_cache

from qmd_py.expansion.prompts import INSTRUCTIONS
from qmd_py.letters import fold, is_unspaced
from qmd_py.stopwords import stop_words

# Everything below is compared in the form in which `letters.fold` leaves a text.
_OPENINGS = re.compile(
    r"""\W*(?:
        here(?:\ is|\ are|'s)\b | (?:sure|certainly|of\ course|absolutely)[\s,!.:] | i'm\ sorry
        | вот\ (?:несколько|пример|вариант|список|как|что) | конечно[\s,!.:] | извините\b
        | hier\ (?:ist|sind|zijn)\b | (?:gerne|naturlich|selbstverstandlich)[\s,!.:]
        | voici\b | bien\ sur[\s,!.:] | aqui\ (?:esta|estan|tiene|tienes)\b | claro[\s,!.:]
        | por\ supuesto\b | ecco\b | certo[\s,!.:] | natuurlijk[\s,!.:]
        | 以下是 | 以下は | 当然 | 好的[,，。! ] | もちろん | はい[、,。!] | 다음은
    )""",
    re.VERBOSE,
)
_TALK = re.compile(
    r"""\bas\ an?\ (?:ai|language\ model|assistant)\b | \bi\ (?:cannot|can't)\ (?:help|assist|provide)
    | \bi(?:'d\ be|\ am)\ happy\ to\ help | \blet\ me\ know\ if | \bhope\ this\ helps
    | \bкак\ (?:языковая\ модель|искусственный\ интеллект|ии[\s,]) | \bне\ могу\ помочь
    | \bals\ (?:ki|ai|sprachmodell|taalmodel)\b
    | \ben\ tant\ qu(?:'ia|e\ modele|'assistant) | \bcom[eo]\ (?:un\ )?model[lo]*\ (?:de\ |di\ )?lingu
    | \bcomo\ (?:un\ )?modelo\ de\ lenguaje | 作为一?个?(?:ai|人工智能|语言模型|助手)
    | (?:ai|言語モデル)として""",
    re.VERBOSE,
)
_MACHINERY = re.compile(
    r"""\b(?:lex|vec|hyde)\s?[:：] | /no_think | </?think> | <\|
    | \bsearch\ quer | \b(?:re)?(?:word|write|phrase)[a-z]*\ (?:the|this|of\ the)\ question
    | ^\W*(?:question|answer|keywords|query|вопрос|ответ|ключевые\ слова|frage|antwort|pregunta
    |respuesta|reponse|问题|关键词|質問|キーワード)\s?[:：] | ^\s*[<\[{]+[\w\s]+[>\]}]+\s*$""",
    re.VERBOSE,
)
_COPIED_WORDS = 4  # in a row: chance gives three ("the name of"), never four with two of content

_FILLER_WORDS = """
    advice answer basics best examples explained explanation guide guides help howto information
    instructions introduction issue keyword keywords method methods overview problem question
    solution steps tip tips tricks tutorial tutorials use using way ways
    вопрос вопросы гайд данные информация инструкции инструкция ключевые лучшие лучший метод
    методы обзор ответ ответы помощь пример примеры проблема решение рекомендации руководство слова
    совет советы способ способы туториал шаги
    поради порада інструкція спосіб способи допомога приклад приклади
    anleitung anleitungen antwort beispiel beispiele hilfe hinweise infos informationen losung
    methode moglichkeiten problem tipps tricks ubersicht
    aide astuces conseil conseils exemple exemples explication informations methode moyens tutoriel
    ayuda consejo consejos ejemplo ejemplos guia informacion manera metodo pasos solucion trucos
    aiuto consigli consiglio esempi esempio guida informazioni modo modi soluzione
    ajuda conselhos dicas exemplo exemplos informacoes maneira passos solucao
    handleiding informatie tips uitleg voorbeeld voorbeelden
    """
_FILLERS = frozenset(_FILLER_WORDS.split())
_UNSPACED_FILLERS = re.compile(
    "方法|教程|技巧|指南|信息|如何|怎么|什么|建议|步骤|帮助|问题|介绍|的|了|和|与|在|关于|"
    "使い方|やり方|情報|ヒント|手順|解説|ガイド|コツ|について|ため|する|の|を|に|は|が|と|で|へ"
)

_SAME_SIGN = re.compile(r"([^\W\d])\1{4,}|([^\w\s])\2{5,}")
_SAME_BIT = re.compile(r"([^\W\d_].{1,40}?)\1{2}")
_SAME_LENGTH = 12  # characters of an unspaced script that no sentence has twice
_SAME_WORDS = 4  # words in a row that no sentence has twice
_MOST_OFTEN = {"lex": 1, "vec": 2, "hyde": 4}  # times one word of content may occur
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_EVERY_STOP_WORD = stop_words(("en", "ru", "uk", "de", "fr", "es", "it", "pt", "nl"))


def is_talk(question: str, line: str) -> bool:
    """Whether the model talks to the person instead of wording a search."""
    folded = fold(line)
    found = _OPENINGS.match(folded) or _TALK.search(folded)
    return found is not None and found[0].strip() not in fold(question)


def is_copied(question: str, line: str) -> bool:
    """Whether the line holds labels or a piece of the instructions that the question has not."""
    asked, folded = fold(question), fold(line)
    if any(found[0].strip() not in asked for found in _MACHINERY.finditer(folded)):
        return True
    words = words_of(line)
    size = min(_COPIED_WORDS, len(words))
    if size < 2:
        return False
    ours = _grams(tuple(words_of(question)), size)
    grams = _grams(tuple(words), size) & _copied_grams(size) - ours
    least = 1 if size == len(words) else 2  # a line that is all copied needs no more proof
    return any(len(set(gram) - _EVERY_STOP_WORD) >= least for gram in grams)


def is_loop(question: str, line: str, kind: str) -> bool:
    """Whether characters, words or parts of the line come again and again."""
    asked, folded = fold(question), fold(line)
    bits = (*_SAME_SIGN.finditer(folded), *_SAME_BIT.finditer(folded))
    if any(bit[0].strip() not in asked for bit in bits):
        return True
    words, ours = words_of(line), tuple(words_of(question))
    return _stutters(words, ours) or _insists(words, ours, kind) or _recites(folded, words, ours)


def is_idle(line: str) -> bool:
    """Whether only function words and words like "tips" are in the line, so that all notes fit."""
    return all(
        word in _EVERY_STOP_WORD or word in _FILLERS or not _UNSPACED_FILLERS.sub("", word)
        for word in words_of(line)
    )


def words_of(text: str) -> list[str]:
    """Folded words; a run of an unspaced script is one."""
    return _WORD.findall(fold(text))


def _stutters(words: list[str], asked: tuple[str, ...]) -> bool:
    """Whether a word of content stands twice side by side."""
    pairs = _grams(tuple(words), 2) - _grams(asked, 2)
    return any(one == two and one not in _EVERY_STOP_WORD for one, two in pairs if len(one) > 1)


def _insists(words: list[str], asked: tuple[str, ...], kind: str) -> bool:
    """Whether a word of content occurs too often."""
    most = _MOST_OFTEN.get(kind, 1)
    return any(
        words.count(word) > max(most, asked.count(word))
        for word in set(words) - _EVERY_STOP_WORD
        if not word.isdigit()
    )


def _recites(folded: str, words: list[str], asked: tuple[str, ...]) -> bool:
    """Whether several words, or many signs of an unspaced script, come twice in the same order."""
    grams = [tuple(words[at : at + _SAME_WORDS]) for at in range(len(words) - _SAME_WORDS + 1)]
    again = {gram for gram in grams if grams.count(gram) > 1} - _grams(asked, _SAME_WORDS)
    if any(len(set(gram) - _EVERY_STOP_WORD) > 1 for gram in again):
        return True
    unspaced = "".join(filter(is_unspaced, folded))
    bits = [unspaced[at : at + _SAME_LENGTH] for at in range(len(unspaced) - _SAME_LENGTH + 1)]
    return len(set(bits)) < len(bits)


def _grams(words: tuple[str, ...], size: int) -> set[tuple[str, ...]]:
    return {words[at : at + size] for at in range(len(words) - size + 1)}


@lru_cache
def _copied_grams(size: int) -> frozenset[tuple[str, ...]]:
    return frozenset(_grams(tuple(words_of(INSTRUCTIONS)), size))
