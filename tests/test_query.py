"""What was typed → words, phrases, exclusions."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qmd_py.errors import UsageError
from qmd_py.query import Query, Word, parse, sequence
from qmd_py.terms import Analyzer

ANALYZER = Analyzer(["en", "ru"])


def parsed(text: str) -> Query:
    return parse(text, ANALYZER)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("hello world", [["hello"], ["world"]], id="words"),
        pytest.param("don't panic", [["panic"]], id="an apostrophe is no syntax"),
        pytest.param("don’t panic", [["panic"]], id="nor is a curly one"),
        pytest.param("PIO-1384", [["pio", "1384", "pio-1384"]], id="a ticket: parts and whole"),
        pytest.param("src/store.ts", [["src", "store", "ts", "src/store.ts"]], id="a path"),
        pytest.param("@scope/pkg", [["scope", "pkg", "scope/pkg"]], id="a scoped package"),
        pytest.param("2026.4.10", [["2026", "4", "10", "2026.4.10"]], id="a version"),
        pytest.param("my_variable", [["my", "variabl", "my_variable"]], id="an identifier"),
        pytest.param("title:foo", [["titl", "foo", "title:foo"]], id="a colon is no column"),
        pytest.param("TODO: call", [["todo"], ["call"]], id="nor at the end of a word"),
        pytest.param("grammar::fa", [["grammar", "fa", "grammar::fa"]], id="nor doubled"),
        pytest.param("cat AND dog", [["cat"], ["dog"]], id="AND is a stop-word, no operator"),
        pytest.param("cat NEAR dog", [["cat"], ["near"], ["dog"]], id="NEAR is a word"),
        pytest.param("multi-agent role", [["multi", "agent", "multi-agent"], ["role"]],
                     id="an inner hyphen excludes nothing"),
        pytest.param("cat - dog", [["cat"], ["dog"]], id="nor does a dash between spaces"),
        pytest.param("cat --version", [["cat"], ["version"]], id="nor a flag"),
        pytest.param("C++", [["c++"]], id="C++ is not C"),
        pytest.param("§ 15", [["§"], ["15"]], id="a symbol is looked for"),
        pytest.param("what is the cat", [["cat"]], id="stop-words are dropped"),
        pytest.param("как есть кошка?", [["кошк"]], id="in every language"),
        pytest.param("cat (the, one)", [["cat"], ["one"]], id="punctuation hides no stop-word"),
        pytest.param("to be or not", [["to"], ["be"], ["or"], ["not"]],
                     id="stop-words stay when there is nothing else"),
        pytest.param("中文合約", [["中文", "文合", "合約"]], id="Chinese without the lone last"),
        pytest.param("使用Docker部署", [["使用", "docker", "部署"]], id="in every run of a word"),
        pytest.param('5" disk', [["5"], ["disk"]], id="a lone quote is nothing"),
        pytest.param("(cat*) dog", [["cat"], ["dog"]], id="brackets are nothing, nor is a star in them"),
        pytest.param("cat\0dog", [["cat", "dog"]], id="a NUL is nothing"),
    ],
)  # fmt: skip
def test_words(text: str, words: list[list[str]]):
    query = parsed(text)
    assert [list(word.terms) for word in query.words] == words
    assert not any(word.prefix for word in query.words)
    assert (query.phrases, query.excluded) == ((), ())
    assert query.text == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("sp_new*", [Word("sp_new*", ("sp_new",), True)], id="an identifier"),
        pytest.param("Synchroni*", [Word("synchroni*", ("synchroni",), True)], id="never stemmed"),
        pytest.param("the*", [Word("the*", ("the",), True)], id="never a stop-word"),
        pytest.param("(foo*", [Word("foo*", ("foo",), True)], id="after a bracket"),
        pytest.param(
            "foo,bar*",
            [Word("foo,", ("foo",)), Word("bar*", ("bar",), True)],
            id="only the last of several words is open",
        ),
        pytest.param(
            "foo*bar*",
            [Word("foo", ("foo",)), Word("bar*", ("bar",), True)],
            id="a star inside loses no word",
        ),
        pytest.param("日", [Word("日", ("日",), True)], id="one Chinese character begins bigrams"),
        pytest.param("日本*", [Word("日本*", ("日本",))], id="a bigram needs no open end"),
    ],
)
def test_prefixes(text: str, words: list[Word]):
    assert list(parsed(text).words) == words


def test_a_very_long_row_of_stars_is_understood():
    assert parsed("a*" * 4999).words[-1] == Word("a*", ("a",), True)


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        pytest.param('"hello world"', [("hello", "world")], id="a phrase"),
        pytest.param("“hello world”", [("hello", "world")], id="curly quotes"),
        pytest.param("«привет мир»", [("привет", "мир")], id="angle quotes"),
        pytest.param('"of the school"', [("of", "the", "school")], id="stop-words stay in it"),
        pytest.param('"PIO-1384"', [("pio", "1384")], id="a ticket"),
        pytest.param('"gcloud --version"', [("gcloud", "version")], id="a dash inside is text"),
        pytest.param('"--error-on-warnings"', [("error", "on", "warn")], id="so is the first one"),
        pytest.param('a-"b c"', [("b", "c")], id="a dash after a word excludes nothing"),
        pytest.param('"中文合"', [("中文", "文合")], id="Chinese without the lone last character"),
        pytest.param(
            '"使用 Docker 部署"',
            [("使用", "用", "docker", "部署")],
            id="Chinese in the middle with it, as the index has it",
        ),
    ],
)
def test_phrases(text: str, phrases: list[tuple[str, ...]]):
    query = parsed(text)
    assert [phrase.terms for phrase in query.phrases] == phrases
    assert query.excluded == ()


@pytest.mark.parametrize(
    ("text", "excluded"),
    [
        pytest.param("AMF -band", [("band",)], id="a word"),
        pytest.param("-sports performance", [("sport",)], id="the first word"),
        pytest.param('note -"cloud-init"', [("cloud", "init")], id="a quoted compound"),
        pytest.param("note -cloud-init", [("cloud", "init")], id="a bare compound is a phrase"),
        pytest.param("note -C++", [("c++",)], id="C++ only"),
        pytest.param("note -the", [("the",)], id="a stop-word"),
        pytest.param('note -"!!!"', [], id="nothing to exclude"),
    ],
)
def test_exclusions(text: str, excluded: list[tuple[str, ...]]):
    query = parsed(text)
    assert [phrase.terms for phrase in query.excluded] == excluded
    assert len(query.words) == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("", "nothing to look for", id="empty"),
        pytest.param("   ", "nothing to look for", id="blank"),
        pytest.param('""', "nothing to look for", id="an empty phrase"),
        pytest.param('"', "nothing to look for", id="a lone quote"),
        pytest.param("!!! …", "nothing to look for", id="punctuation only"),
        pytest.param("-band", r"only words to leave out \(-band\)", id="exclusions only"),
        pytest.param("x" * 10_001, "10001 characters", id="a document for a question"),
    ],
)
def test_questions_that_cannot_be_answered_are_explained(text: str, says: str):
    with pytest.raises(UsageError, match=says):
        parsed(text)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        pytest.param("what is the cat?", "what is the cat?", id="words stay as typed"),
        pytest.param('cat "hot dog" -bird', "hot dog cat", id="operators go, exclusions with them"),
    ],
)
def test_plain_is_the_question_for_a_model(text: str, plain: str):
    assert parsed(text).plain == plain


@pytest.mark.parametrize(
    "phrase",
    [
        pytest.param("使用 Docker 部署", id="scripts mixed"),
        pytest.param("合約轉", id="inside a Chinese run"),
        pytest.param("日本 語", id="a run of one character at the end"),
        pytest.param("don't panic", id="an apostrophe"),
        pytest.param("C++ and C#", id="symbols"),
    ],
)
def test_a_phrase_stands_in_the_index_as_in_the_question(phrase: str):
    indexed = ANALYZER.words(f"看 合約轉換 {phrase} 看")
    wanted = sequence(phrase, ANALYZER)
    places = range(len(indexed) - len(wanted) + 1)
    assert any(indexed[at : at + len(wanted)] == wanted for at in places)


_TYPED = st.text(st.sampled_from("ab C+#*\"'-_.:/()“»§日本ё\u0301\0 ")) | st.text()


@settings(deadline=None, max_examples=300)
@given(_TYPED)
def test_no_text_raises_anything_but_a_usage_error(text: str):
    try:
        query = parsed(text)
    except UsageError:
        return
    assert query.words or query.phrases
    terms = [word.terms for word in query.words]
    terms += [phrase.terms for phrase in (*query.phrases, *query.excluded)]
    assert all(found and all(found) for found in terms)
