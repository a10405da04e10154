"""A question in other words: what a model is asked, what it wrote, what a caller hands in."""

import hashlib
import json
import math
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qmd_py.embedded import BuiltIn
from qmd_py.errors import UsageError
from qmd_py.expansion import callers, guards, prompts
from qmd_py.expansion.callers import Handed, from_document, from_options
from qmd_py.expansion.entities import entities, keeps
from qmd_py.expansion.guards import FLOOR, guard
from qmd_py.expansion.languages import language, other_language, other_script, script
from qmd_py.expansion.lines import variants
from qmd_py.records.wordings import Variant
from qmd_py.terms import Analyzer

ANALYZER = Analyzer(["en", "ru"])
DATA = Path(__file__).parent / "data"
QUESTION = "how do I stop notes from syncing"

FAULTS = {
    "copied": {guards.COPIED},
    "empty": {guards.EMPTY},
    "far": {guards.FAR},
    "idle": {guards.IDLE},
    "language": {guards.LANGUAGE},
    "long": {guards.TOO_LONG},
    "loop": {guards.LOOP},
    "lost": {guards.LOST},
    "same": {guards.SAME},
    "script": {guards.SCRIPT},
    "short": {guards.TOO_SHORT, guards.SAME},
    "talk": {guards.TALK},
}


def expansions(name: str) -> list[dict[str, str | float]]:
    cases: list[dict[str, str | float]]
    cases = tomllib.loads((DATA / name).read_text(encoding="utf-8"))["expansion"]
    return cases


GOOD, BAD = expansions("expansions_good.toml"), expansions("expansions_bad.toml")


def by_text(case: object) -> str | None:
    return f"{case['kind']}: {case['text']}"[:60] if isinstance(case, dict) else None


def judged(case: dict[str, str | float], **given: float) -> guards.Guarded:
    variant = Variant(str(case["kind"]), str(case["text"]))
    cosine = float(case["cosine"])
    return guard(
        str(case["question"]), [variant], ANALYZER, lambda texts: [cosine] * len(texts), **given
    )


def reasons(question: str, *written: tuple[str, str]) -> list[str]:
    found = guard(question, [Variant(kind, text) for kind, text in written], ANALYZER)
    return [dropped.reason for dropped in found.dropped]


# The fixtures


@pytest.mark.parametrize("case", BAD, ids=by_text)
def test_every_bad_expansion_is_rejected_for_its_fault(case: dict[str, str | float]):
    found = judged(case)
    assert found.kept == ()
    assert found.dropped[0].reason in FAULTS[str(case["fault"])]


@pytest.mark.parametrize("case", GOOD, ids=by_text)
def test_every_good_expansion_passes(case: dict[str, str | float]):
    assert judged(case).dropped == ()


def test_there_are_enough_of_both():
    assert len(BAD) >= 45
    assert {case["fault"] for case in BAD} == set(FAULTS)
    assert len(GOOD) >= 48
    assert len({case["language"] for case in GOOD}) >= 6


def test_the_cosines_of_the_good_ones_are_those_of_the_built_in_embedder():
    model = BuiltIn(2)
    texts = [str(case[part]) for case in GOOD for part in ("question", "text")]
    place = {text: at for at, text in enumerate(dict.fromkeys(texts))}
    matrix = model.queries(list(place))
    for case in GOOD:
        cosine = matrix[place[str(case["question"])]] @ matrix[place[str(case["text"])]]
        assert cosine == pytest.approx(case["cosine"], abs=0.01)
        assert float(case["cosine"]) >= FLOOR


def test_the_languages_of_the_index_do_not_matter():
    for languages in (["de"], ["fr", "es"], []):
        analyzer = Analyzer(languages)
        for case in GOOD:
            variant = Variant(str(case["kind"]), str(case["text"]))
            found = guard(str(case["question"]), [variant], analyzer, lambda texts: [1.0])
            assert found.kept == (variant,)


# Guards


def test_kept_and_dropped_stay_in_order():
    written = [
        Variant("lex", "sync settings"),
        Variant("lex", "how to"),
        Variant("vec", "keep notes out of sync"),
        Variant("hyde", "Sure, I can explain how syncing works."),
    ]
    found = guard(QUESTION, written, ANALYZER)
    assert found.kept == (written[0], written[2])
    assert [dropped.variant for dropped in found.dropped] == [written[1], written[3]]
    assert [dropped.reason for dropped in found.dropped] == [guards.IDLE, guards.TALK]


def test_meaning_is_asked_once_and_only_for_what_is_left():
    calls: list[Sequence[str]] = []

    def closeness(texts: Sequence[str]) -> list[float]:
        calls.append(texts)
        return [0.9] * len(texts)

    written = [
        Variant("lex", "how to"),
        Variant("lex", "sync pause"),
        Variant("vec", "pause syncing"),
    ]
    guard(QUESTION, written, ANALYZER, closeness)
    assert calls == [["sync pause", "pause syncing"]]
    guard(QUESTION, written[:1], ANALYZER, closeness)
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("cosine", "floor", "kept"),
    [
        pytest.param(0.84, 0.84, True, id="at the floor"),
        pytest.param(0.839, 0.84, False, id="below it"),
        pytest.param(0.839, 0.8, True, id="above another floor"),
        pytest.param(math.nan, -1.0, False, id="NaN is below any floor"),
    ],
)
def test_floor(cosine: float, floor: float, kept: bool):
    variant = Variant("vec", "keep notes out of sync")
    found = guard(QUESTION, [variant], ANALYZER, lambda texts: [cosine], floor=floor)
    assert bool(found.kept) is kept


def test_a_lex_line_needs_a_word_of_the_question_or_its_meaning():
    lex = [Variant("lex", "offline mode")]
    assert guard(QUESTION, lex, ANALYZER).dropped[0].reason == guards.UNRELATED
    assert guard(QUESTION, lex, ANALYZER, lambda texts: [0.9]).kept == tuple(lex)
    assert guard(QUESTION, lex, ANALYZER, lambda texts: [0.8]).dropped[0].reason == guards.FAR


def test_a_kind_no_search_takes():
    assert reasons(QUESTION, ("fts", "sync settings")) == [guards.UNKNOWN]


@pytest.mark.parametrize(
    ("question", "kind", "text"),
    [
        pytest.param("что такое git rebase", "lex", "git rebase", id="Latin words of the question"),
        pytest.param("как настроить git", "vec", "настройка git config user.name", id="a command"),
        pytest.param("what does ёжик mean", "vec", "the meaning of the word ёжик", id="a word asked for"),
        pytest.param("New York New York lyrics", "vec", "words of the song New York New York",
                     id="a name that repeats itself"),
        pytest.param("what is a search query language", "vec", "a language for search queries such as those of SQL",
                     id="words like the instructions'"),
        pytest.param("how do I say here is your order", "vec", "here is your order as a phrase to say",
                     id="words like a model's"),
        pytest.param("jak zrobić kopię do chmury", "vec", "jak zapisać kopię w chmurze",
                     id="a language nothing is known of"),
        pytest.param("Comment vous vous connectez", "vec", "la façon dont vous vous connectez au site",
                     id="function words may stand twice"),
        pytest.param("2026.4.10", "lex", "2026.4.10 changes", id="a version"),
        pytest.param("stop -sync notes", "vec", "how to halt all notes", id="what is excluded need not be kept"),
    ],
)  # fmt: skip
def test_no_false_alarm(question: str, kind: str, text: str):
    assert reasons(question, (kind, text)) == []


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        pytest.param("how do I stop notes from syncing", [], id="none"),
        pytest.param("How does Obsidian sync with iCloud?", ["iCloud", "Obsidian"], id="names"),
        pytest.param("Obsidian crashes. Why does it?", [], id="a capital that begins a sentence"),
        pytest.param("Setting Up The Worker Pool", [], id="capitals of a title"),
        pytest.param("WHY DOES IT CRASH", [], id="shouting"),
        pytest.param("why does the GPU overheat", ["GPU"], id="an abbreviation"),
        pytest.param("PIO-1384 in build 7", ["PIO-1384", "7"], id="digits"),
        pytest.param("edit .gitignore or src/main.rs", [".gitignore", "src/main.rs"], id="files"),
        pytest.param("getUserName in C++ and/or", ["getUserName", "C++", "and/or"], id="identifiers"),
        pytest.param('what is "slow start"', ["slow start"], id="a quoted part"),
        pytest.param('notes -"slow start" -Docker', [], id="but no excluded one"),
        pytest.param("Wie öffne ich die Einstellungen im Browser", [], id="German nouns"),
        pytest.param("Wie öffne ich eine PDF-Datei", ["PDF"], id="a part of a compound"),
        pytest.param("как открыть PDF-файл в obsidian", ["PDF", "obsidian"], id="Latin in Russian"),
        pytest.param("кто такой Пётр Первый", ["Пётр", "Первый"], id="Russian names"),
        pytest.param("怎么用docker部署", ["docker"], id="Latin in Chinese"),
    ],
)  # fmt: skip
def test_entities(question: str, expected: list[str]):
    assert list(entities(question, ANALYZER)) == expected


@pytest.mark.parametrize(
    ("line", "entity", "kept"),
    [
        ("в Москве идёт дождь", "Москва", True),
        ("WiFi is slow", "Wi-Fi", True),
        ("wi fi is slow", "WiFi", True),
        ("Obsidian's settings", "Obsidian", True),
        ("使用Docker部署博客", "Docker", True),
        ("Python 3.13 is out", "3.12", False),
        ("the start is slow", "slow start", False),
    ],
)
def test_keeps(line: str, entity: str, kept: bool):
    assert keeps(line, entity, ANALYZER) is kept


# Languages


@pytest.mark.parametrize(
    ("text", "written_in", "spoken"),
    [
        ("how do I stop this", "latin", "en"),
        ("Wie verhindere ich das", "latin", "de"),
        ("comment faire pour exclure un dossier", "latin", "fr"),
        ("cómo evitar que se sincronice el archivo", "latin", "es"),
        ("come posso evitare che si veda", "latin", "it"),
        ("como posso evitar que isso aconteça", "latin", "pt"),
        ("hoe kan ik dit niet zien", "latin", "nl"),
        ("what does привет mean", "latin", "en"),
        ("sync docker", "latin", None),
        ("cómo sincronizar", "latin", None),
        ("jak to zrobić", "latin", None),
        ("как это выключить", "cyrillic", "ru"),
        ("як це вимкнути і чому", "cyrillic", "uk"),
        ("синхронизация папки", "cyrillic", None),
        ("git rebase как", "cyrillic", "ru"),
        ("如何停止同步", "han", "zh"),
        ("同期を止める", "han", "ja"),
        ("동기화 중지", "hangul", "ko"),
        ("2026 §15", None, None),
    ],
)
def test_language(text: str, written_in: str | None, spoken: str | None):
    assert (script(text), language(text)) == (written_in, spoken)


def test_a_web_address_is_no_portuguese():
    assert not other_language("how do I open it", "see example.com and sem.com for more")
    assert not other_script("2026", "что угодно")


# Prompts


def test_a_changed_prompt_has_a_new_version():
    """Kept expansions are found by the version, so no wording changes without it."""
    texts = (prompts.SYSTEM, prompts.GRAMMAR, prompts.chat("x").user, prompts.qmd("x").user)
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
    assert (prompts.PROMPT_VERSION, digest) == (1, "e05df2d02507301c")


def test_prompts():
    assert prompts.qmd(" a \n b ").user == "/no_think Expand this search query: a b"
    assert prompts.chat("как это\nвыключить").user == (
        "Question: как это выключить\nAll lines in Russian."
    )
    assert prompts.chat("docker").user == "Question: docker"
    assert prompts.chat("a").system == prompts.chat("как").system


GRAMMAR_PART = re.compile(r'"[^"]*"|\[[^\]]*\]|[a-z]+|\{[\d,]+\}|[()|?]| ')


def grammar_as_regex() -> str:
    """The GBNF rules put into one another; those in use here are written as regular ones are."""
    rules = dict(line.split(" ::= ") for line in prompts.GRAMMAR.strip().splitlines())

    def resolved(body: str) -> str:
        return GRAMMAR_PART.sub(part, body)

    def part(match: re.Match[str]) -> str:
        text = match[0]
        if text in rules:
            return f"(?:{resolved(rules[text])})"
        return text[1:-1] if text.startswith('"') else text.removeprefix(" ")

    return resolved(rules["root"])


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        pytest.param("lex: a b\nvec: how is it\n", True, id="without hyde"),
        pytest.param("lex: a\nlex: b\nlex: c d e f\nvec: how is it\nvec: как это\nhyde: It is done so.\n",
                     True, id="all it may have"),
        pytest.param("hyde: It is done so, here.\nlex: 同步\nvec: 如何停止同步\n", True, id="hyde first"),
        pytest.param("lex: a b c d e\nvec: how is it\n", False, id="five words"),
        pytest.param("lex: a\n" * 4 + "vec: how is it\n", False, id="four lex lines"),
        pytest.param("lex: a\n" + "vec: how is it\n" * 3, False, id="three vec lines"),
        pytest.param("lex: a\nvec: how is it\nhyde: " + "x" * 281 + "\n", False, id="a hyde without end"),
        pytest.param("lex: " + "x" * 25 + "\nvec: how is it\n", False, id="a word without end"),
        pytest.param("lex: a\nvec: how is it", False, id="no end of line"),
        pytest.param("Sure!\nlex: a\nvec: how is it\n", False, id="talk"),
    ],
)  # fmt: skip
def test_grammar(text: str, fits: bool):
    assert bool(re.fullmatch(grammar_as_regex(), text)) is fits
    assert not fits or len(variants(text)) == text.count("\n")


# Lines


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        pytest.param("lex: a b\nvec: c\nhyde: d.", [("lex", "a b"), ("vec", "c"), ("hyde", "d.")],
                     id="as asked for"),
        pytest.param("  LEX :  a   b \r\nVec:c", [("lex", "a b"), ("vec", "c")], id="spacing and case"),
        pytest.param("- lex: a\n* **vec:** b\n2. `hyde`: c", [("lex", "a"), ("vec", "b"), ("hyde", "c")],
                     id="a Markdown list"),
        pytest.param("vec：如何", [("vec", "如何")], id="a wide colon"),
        pytest.param("Sure!\nlex: a\nkeywords: b\nlexical: c\n", [("lex", "a")], id="other lines"),
        pytest.param("lex: a\nlex: A\nvec: a", [("lex", "a"), ("vec", "a")], id="each once"),
        pytest.param("lex:\nvec:   \nhyde: ", [], id="nothing after the label"),
        pytest.param('vec: "how is it"', [("vec", "how is it")], id="quotes around all"),
        pytest.param('lex: "slow start" tcp', [("lex", '"slow start" tcp')], id="quotes around a part"),
        pytest.param("<think>\nlex: a\n</think>\nlex: b", [("lex", "b")], id="a thought"),
        pytest.param("<think>\nlex: a", [], id="a thought without end"),
        pytest.param("lex: a\0b\x1b[31m", [("lex", "a b [31m")], id="control characters"),
        pytest.param("", [], id="nothing"),
    ],
)  # fmt: skip
def test_lines(output: str, expected: list[tuple[str, str]]):
    assert [(found.kind, found.text) for found in variants(output)] == expected


def test_a_runaway_is_cut():
    assert len(variants("\n".join(f"lex: word{at}" for at in range(10_000)))) <= 12
    assert sum(len(found.text) for found in variants("hyde: " + "x " * 100_000)) <= 4_000


# Callers


def test_options():
    handed = from_options(
        lex=["worker pool"], vec=["bound goroutines"], hyde=["A channel is a limit."],
        short_query="rate limit", rephrased_query="how to bound it", expected_answer="Use a pool.",
        queries=["go pool", "go  limit"], intent="programming",
    )  # fmt: skip
    assert handed == Handed(
        variants=(
            Variant("lex", "worker pool"), Variant("vec", "bound goroutines"),
            Variant("hyde", "A channel is a limit."), Variant("lex", "rate limit"),
            Variant("vec", "how to bound it"), Variant("hyde", "Use a pool."),
        ),
        queries=("go pool", "go limit"),
        intent="programming",
    )  # fmt: skip


def test_all_options_may_be_left_out():
    assert from_options() == Handed()
    assert from_options(lex=["", " "], short_query=" ", searches_json="", intent="") == Handed()
    assert from_options(searches_json="[]") == Handed()


@pytest.mark.parametrize(
    ("short_query", "count"),
    [("worker pool", 0), ("go worker pool", 0), ("limit the worker pool", 1), ("pool, go", 1),
     ("pool, go, limit, worker", 2), ("池，限制", 1)],
)  # fmt: skip
def test_a_long_short_query_draws_a_warning(short_query: str, count: int):
    handed = from_options(short_query=short_query)
    assert len(handed.warnings) == count
    assert handed.variants == (Variant("lex", short_query),)


def test_searches_as_json():
    searches = [{"type": "lex", "query": "pool"}, {"type": "hyde", "query": "Use a pool."}]
    expected = (Variant("lex", "pool"), Variant("hyde", "Use a pool."))
    assert from_options(searches_json=json.dumps(searches)).variants == expected
    handed = from_options(searches_json=json.dumps({"searches": searches, "intent": "go"}))
    assert (handed.variants, handed.intent) == (expected, "go")
    assert from_options(searches_json='{"searches": [], "intent": "go"}', intent="c").intent == "c"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "the searches are no valid JSON at character 2: write"),
        ("[" * 100_000, "the searches are no valid JSON: write"),
        ("1", "the searches must be a JSON array or an object"),
        ('{"searches": "lex"}', '"searches" must be a JSON array'),
        ('["lex"]', 'each search must have just "type" and "query"'),
        ('[{"type": "lex"}]', 'each search must have just "type" and "query"'),
        ('[{"type": "fts", "query": "a"}]', "unknown search type 'fts': use lex, vec or hyde"),
        ('[{"type": ["lex"], "query": "a"}]', r"unknown search type \['lex'\]"),
        ('[{"type": "lex", "query": 1}]', '"query" must be a text'),
        ('{"queries": [1]}', 'each of "queries" must be a text'),
        (
            '{"searches": [], "intnet": "a"}',
            "unknown field 'intnet' beside the searches: use intent",
        ),
    ],
)
def test_json_of_another_shape_is_told_in_one_line(text: str, message: str):
    with pytest.raises(UsageError, match=f"^{message}") as caught:
        from_options(searches_json=text)
    assert "\n" not in str(caught.value)


def test_too_much_is_told():
    with pytest.raises(UsageError, match=r"^40 searches for one question: hand in at most 32"):
        from_options(lex=[f"word{at}" for at in range(40)])
    with pytest.raises(UsageError, match=r"^the hyde text has 10001 characters"):
        from_options(hyde=["x" * 10_001])


def test_document():
    question, handed = from_document(
        "query: limit concurrency\n\n  LEX: worker pool\nvec:bound goroutines\n"
        "hyde: A pool is a limit.\r\nintent: go\nquery: bounded pool\nshort_query: a, b\n"
    )
    assert question == "limit concurrency"
    assert handed.variants == (
        Variant("lex", "worker pool"),
        Variant("vec", "bound goroutines"),
        Variant("hyde", "A pool is a limit."),
        Variant("lex", "a, b"),
    )
    assert (handed.queries, handed.intent) == (("bounded pool",), "go")
    assert len(handed.warnings) == 1


def test_a_document_without_a_question():
    assert from_document("lex: pool") == (None, Handed((Variant("lex", "pool"),)))


def test_a_json_document():
    text = '{"query": "q", "searches": [{"type": "vec", "query": "v"}], "intent": "i"}'
    assert from_document(text) == ("q", Handed((Variant("vec", "v"),), intent="i"))
    with pytest.raises(UsageError, match=r"^the searches are empty"):
        from_document('{"searches": []}')
    with pytest.raises(UsageError, match=r"^the searches are no valid JSON"):
        from_document('{"searches": [')


@pytest.mark.parametrize(
    "text",
    [
        "how do I stop this", "TODO: call", "title:x", "what is lex: a parser?", "lexical: scope",
        "lex: pool\nand what else", "intent: what is it", "vec:", "", "  two\n\n lines ",
        '{"a": 1}', "{{date}} in a template", "[1, 2]", "https://example.com",
    ],
)  # fmt: skip
def test_a_plain_question_comes_back_unchanged(text: str):
    assert from_document(text) == (text, Handed())


# Whatever comes


LINES = st.lists(
    st.builds(Variant, st.sampled_from(["lex", "vec", "hyde", "x"]), st.text(max_size=80)),
    max_size=4,
)


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=80), LINES, st.sampled_from([None, 0.9, 0.1, math.nan]))
def test_guards_keep_a_part_in_order_whatever_comes(
    question: str, written: list[Variant], cosine: float | None
):
    closeness = None if cosine is None else lambda texts: [cosine] * len(texts)
    found = guard(question, written, ANALYZER, closeness)
    rest = iter(written)
    assert all(variant in rest for variant in found.kept)
    assert len(found.kept) + len(found.dropped) == len(written)


@settings(max_examples=80, deadline=None)
@given(
    st.text(alphabet=st.sampled_from("lexvchyd:：\n <>/think'\"*-1я同"), max_size=200) | st.text()
)
def test_lines_never_fail(output: str):
    for found in variants(output):
        assert found.kind in ("lex", "vec", "hyde")
        assert found.text == " ".join(found.text.split()) != ""


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=80) | st.from_regex(r"(query|lex|vec|intent): \w{0,5}(\n|\Z)"))
def test_documents_never_fail(text: str):
    question, handed = from_document(text)
    assert question is not None or handed.variants
    assert callers.from_options(queries=[text]).variants == ()


def test_one_text_under_several_kinds_is_searched_once() -> None:
    text = "bread that turned out dense"
    variants = [Variant(kind, text) for kind in ("vec", "hyde")]
    guarded = guards.guard("why is my bread so dense", variants, Analyzer(("en",)))
    assert guarded.kept == (variants[0],)
    assert [dropped.reason for dropped in guarded.dropped] == [guards.AGAIN]
