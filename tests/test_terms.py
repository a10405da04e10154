"""Text → index terms."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qmd_py import terms
from qmd_py.letters import fold, is_unspaced
from qmd_py.lexicon import Lexicon
from qmd_py.stopwords import stop_words
from qmd_py.terms import Analyzer, Span

ANALYZER = Analyzer(["en", "ru"])
LEXICON = Lexicon(["en", "ru"])
BOUNDED = settings(deadline=None, max_examples=150)


@pytest.mark.parametrize(
    ("word", "folded"),
    [
        pytest.param("Hello", "hello", id="case goes"),
        pytest.param("Straße", "strasse", id="case-folding, not just lower case"),
        pytest.param("Châtelier", "chatelier", id="accents on Latin letters go"),
        pytest.param("Cha\u0302telier", "chatelier", id="decomposed accents go as well"),
        pytest.param("Ёлка", "елка", id="yo is ye"),
        pytest.param("е\u0308лка", "елка", id="decomposed yo is ye"),
        pytest.param("ИОД", "иод", id="Russian i stays"),
        pytest.param("йод", "йод", id="short i is another letter than i"),
        pytest.param("и\u0306од", "йод", id="decomposed short i is composed"),
        pytest.param("їжак", "їжак", id="Ukrainian yi is another letter than i"),
        pytest.param("за\u0301мок", "замок", id="stress marks go"),
        pytest.param("İstanbul", "istanbul", id="the dot that folding splits off a Turkish I goes"),
        pytest.param("Λόγος", "λογοσ", id="Greek accents and final sigma go"),
        pytest.param("ﬁne", "fine", id="ligatures are letters"),
        pytest.param("ＡＢＣ１", "abc1", id="full width is plain"),
        pytest.param("don’t", "don't", id="curly apostrophe is straight"),
        pytest.param("が", "が", id="Japanese voicing marks stay"),
        pytest.param("हिन्दी", "हिन्दी", id="vowel signs stay"),
        pytest.param("\u0301", "\u0301", id="a lone mark does not vanish"),
    ],
)
def test_fold(word: str, folded: str):
    assert fold(word) == folded


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        pytest.param("searching Searches", ["search", "search"], id="English stems"),
        pytest.param("заметки заметок", ["заметк", "заметок"], id="Russian stems"),
        pytest.param("the cat", ["the", "cat"], id="stop-words stay, for phrases"),
        pytest.param("don't panic", ["don't", "panic"], id="an apostrophe does not split"),
        pytest.param("don’t panic", ["don't", "panic"], id="a curly apostrophe is the same"),
        pytest.param("my-app.config.ts", ["my", "app", "config", "ts"], id="joiners split"),
        pytest.param("my_variable", ["my", "variabl"], id="underscores split"),
        pytest.param("C++, C# and plan C", ["c++", "c#", "and", "plan", "c"], id="C++ C# C differ"),
        pytest.param("F##", ["f#"], id="more hashes are one"),
        pytest.param("Objective-C++/CLI", ["object", "c++", "cli"], id="C++ inside a compound"),
        pytest.param("C++11", ["c", "11"], id="a plus before a digit joins"),
        pytest.param("§ 15", ["§", "15"], id="a symbol is a term"),
        pytest.param("§15", ["§", "15"], id="a symbol needs no space after it"),
        pytest.param("a → b", ["a", "→", "b"], id="arrows are terms"),
        pytest.param(
            "中文合約", ["中文", "文合", "合約", "約"], id="Chinese gives bigrams and the last"
        ),
        pytest.param("日", ["日"], id="one character is itself"),
        pytest.param(
            "안녕하세요", ["안녕", "녕하", "하세", "세요", "요"], id="Hangul gives bigrams"
        ),
        pytest.param("使用Docker", ["使用", "用", "docker"], id="scripts part without a space"),
        pytest.param("и\u0306од", ["йод"], id="decomposed text is composed first"),
        pytest.param("👨\u200d👩\u200d👧 …!", [], id="emoji and punctuation are no terms"),
        pytest.param("a\0b", ["a", "b"], id="a NUL parts words"),
        pytest.param("", [], id="nothing gives nothing"),
    ],
)
def test_words(text: str, terms: list[str]):
    assert ANALYZER.words(text) == terms


@pytest.mark.parametrize(
    ("text", "compounds"),
    [
        pytest.param("PIO-1384", {"pio-1384"}, id="a ticket"),
        pytest.param("my-app.config.ts", {"my-app.config.ts"}, id="a file name"),
        pytest.param("my_variable", {"my_variable"}, id="an identifier with underscores"),
        pytest.param("src/store.ts", {"src/store.ts"}, id="a path"),
        pytest.param("@scope/pkg", {"scope/pkg"}, id="a scoped package"),
        pytest.param("qmd://notes/a.md", {"qmd://notes/a.md"}, id="an address"),
        pytest.param("http://x.y/z?a=b", {"http://x.y/z?a=b"}, id="an address with a question"),
        pytest.param(
            "v2026.4.10", {"v2026.4.10", "2026.4.10", "2026"}, id="a version without its v as well"
        ),
        pytest.param("getUserName", {"get", "user", "name"}, id="humps of a camel"),
        pytest.param("HTTPServer", {"http", "server"}, id="capitals before a word"),
        pytest.param("ПоискЗаметок", {"поиск", "заметок"}, id="Russian humps"),
        pytest.param("l'avion", {"avion"}, id="what follows an apostrophe"),
        pytest.param("plain words only.", set(), id="plain words have none"),
        pytest.param("бо\u0301льшая नमस्ते", set(), id="nor do words with stress or vowel signs"),
        pytest.param("使用Docker部署", set(), id="nor does a word between Chinese ones"),
        pytest.param("中文合約", set(), id="bigrams are no compounds"),
        pytest.param("x-" * 32 + "x", set(), id="more than 64 characters: nobody types them"),
    ],
)
def test_compounds(text: str, compounds: set[str]):
    assert set(ANALYZER.compounds(text)) == compounds


def test_a_text_is_indexed_under_compounds_and_unstemmed_words_each_once():
    found = LEXICON.indexed("sp_new1 synchronizing sp_new1 cat")
    assert found.words == "sp new1 synchron sp new1 cat"
    assert found.compounds == ("sp_new1", "new")
    assert found.shortened == ("synchronizing",)


def test_what_is_remembered_of_words_changes_nothing(monkeypatch: pytest.MonkeyPatch):
    texts = ["sp_new1 searches", "中文 searches getUserName", "searches", "don’t"]
    fresh = [Lexicon(("en", "ru")).indexed(text) for text in texts]
    used = Lexicon(("en", "ru"))
    assert [used.indexed(text) for text in texts * 2] == fresh * 2
    monkeypatch.setattr("qmd_py.lexicon._MOST_KNOWN", 1)
    assert [used.indexed(text) for text in texts * 2] == fresh * 2


@pytest.mark.parametrize(
    ("typed", "opening"),
    [
        pytest.param("sp_New*", ("", "sp_new"), id="an identifier stays whole"),
        pytest.param("synchroni*", ("", "synchroni"), id="no stem is taken"),
        pytest.param("(foo,bar*", ("(foo,", "bar"), id="what stands before is another word"),
    ],
)
def test_opening(typed: str, opening: tuple[str, str]):
    assert ANALYZER.opening(typed) == opening


@pytest.mark.parametrize(
    ("languages", "text", "terms"),
    [
        pytest.param(["de"], "Häuser", ["haus"], id="German stems when German comes first"),
        pytest.param(["en", "de"], "Häuser", ["hauser"], id="the first language has the script"),
        pytest.param(["de"], "заметками", ["заметк"], id="another script keeps its own stemmer"),
        pytest.param(["xx"], "searches", ["search"], id="an unknown language changes nothing"),
        pytest.param([], "searches", ["search"], id="no language means the usual ones"),
    ],
)
def test_languages_choose_stemmers(languages: list[str], text: str, terms: list[str]):
    assert Analyzer(languages).words(text) == terms


@pytest.mark.parametrize(
    ("indexed", "asked"),
    [
        pytest.param("елка", "Ёлка", id="ye for yo"),
        pytest.param("Ёлка", "елка", id="yo for ye"),
        pytest.param("Châtelier", "chatelier", id="no accent typed"),
        pytest.param("мой и\u0306од", "йод", id="composed question, decomposed text"),
        pytest.param("a§15", "§ 15", id="a space after the symbol"),
        pytest.param("中文合約轉換體驗課問題", "中文合約", id="the beginning of a Chinese run"),
        pytest.param("我的生日快樂", "生日", id="two characters inside a Chinese run"),
    ],
)
def test_what_is_asked_is_among_what_is_indexed(indexed: str, asked: str):
    asked_terms = ANALYZER.words(asked)
    if is_unspaced(asked_terms[-1]):
        asked_terms.pop()
    assert set(asked_terms) <= set(ANALYZER.words(indexed))


def test_spans_say_where_words_stand():
    found = list(ANALYZER.spans("The Searches, 中文合"))
    assert found == [
        Span(0, 3, frozenset({"the"})),
        Span(4, 12, frozenset({"search"})),
        Span(14, 16, frozenset({"中文"})),
        Span(15, 17, frozenset({"文合"})),
        Span(16, 17, frozenset({"合"})),
    ]


@pytest.mark.parametrize(
    ("word", "is_stop_word"),
    [
        pytest.param("The", True, id="English"),
        pytest.param("ещё", True, id="Russian, with yo"),
        pytest.param("don’t", True, id="with a curly apostrophe"),
        pytest.param("cat", False, id="a noun"),
        pytest.param("und", False, id="of a language that was not chosen"),
    ],
)
def test_stop_words(word: str, is_stop_word: bool):
    assert ANALYZER.is_stop_word(word) is is_stop_word


def test_stop_words_are_written_as_folding_leaves_them():
    languages = ["en", "ru", "uk", "de", "fr", "es", "it", "pt", "nl", "sv", "pl", "tr"]
    assert [word for word in stop_words(languages) if fold(word) != word] == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a" + "-" * 1_000_000, id="a million joiners"),
        pytest.param("a-" * 300_000, id="one compound of 300,000 parts"),
        pytest.param("a'" * 300_000, id="as many apostrophes"),
        pytest.param("aB" * 300_000, id="as many humps"),
        pytest.param("A" * 1_000_000, id="a million capitals"),
        pytest.param("e" + "\u0301" * 100_000, id="a tower of accents"),
        pytest.param("中" * 100_000, id="a Chinese run"),
        pytest.param("\ud800 x", id="a lone surrogate"),
    ],
)
def test_hostile_text_is_read(text: str):
    assert ANALYZER.words(text) or ANALYZER.compounds(text)


@BOUNDED
@given(st.text())
def test_any_text_gives_terms_that_are_whole_and_folded(text: str):
    found = LEXICON.indexed(text)
    assert found.words.split(" ") == (ANALYZER.words(text) or [""])
    for term in [*ANALYZER.words(text), *found.compounds, *found.shortened]:
        assert term.split() == [term]
        assert fold(term) == term


@BOUNDED
@given(st.text())
def test_spans_lie_inside_the_text_in_order(text: str):
    spans = list(ANALYZER.spans(text))
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert [span.start for span in spans] == sorted(span.start for span in spans)


def test_every_thread_has_an_analyzer_of_its_own() -> None:
    from concurrent.futures import ThreadPoolExecutor

    own = terms.analyzer_for(("en", "ru"))
    assert terms.analyzer_for(["en", "ru"]) is own
    assert terms.analyzer_for(["ru"]) is not own
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(terms.analyzer_for, ("en", "ru")).result() is not own


def test_an_analyzer_forgets_words_before_they_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(terms, "_MOST_WORDS", 3)
    analyzer = terms.Analyzer(["en"])
    assert analyzer.words("one two three four loaves") == ["one", "two", "three", "four", "loav"]
    assert len(analyzer._terms) <= 3


@pytest.mark.parametrize(("first", "last"), [("а", "я"), ("一", "鿿")])
def test_letters_that_are_not_folded_would_fold_to_themselves(first: str, last: str) -> None:
    letters = "".join(map(chr, range(ord(first), ord(last) + 1)))
    assert fold(f"{letters}É").removesuffix("e") == letters


@pytest.mark.parametrize(
    "word", ["Notes", "synchronizing", "Заметками", "ёлки", "façades", "ﬁsh", "ΑΣ", "İstanbul"]
)
def test_a_plain_word_is_indexed_like_one_among_marks(word: str) -> None:
    lexicon = Lexicon(("en", "ru"))
    assert lexicon.indexed(word) == lexicon.indexed(f"({word})")
