"""Words of any language and script are found however they are written."""

import datetime
import re
import unicodedata
from pathlib import Path
from typing import Final

import pytest

from qmd_py.models import Models
from qmd_py.render import people
from qmd_py.search.asking import Ask
from qmd_py.search.simple import by_words
from qmd_py.store.reader import Reader
from qmd_py.terms import Analyzer
from tests.faults.shelf import Shelf

NFD: Final = "NFD"
LONG = "\n\n".join(
    f"Paragraph {at} tells of this and that and of much besides." for at in range(350)
)

NOTES = {
    "chinese.md": "學員問：中文合約轉換體驗課問題。",
    "search.md": "请搜索我 x",
    "birthday.md": "她的生日在五月。",
    "japanese.md": "東京タワーの高さは三百三十三メートルです。",
    "halfwidth.md": "ｶﾀｶﾅで書く。",
    "korean.md": "안녕하세요, 서울에서 만나요.",
    "thai.md": "ภาษาไทยไม่มีช่องว่างระหว่างคำ",
    "yod.md": unicodedata.normalize(NFD, "Где мой йод?"),
    "tree.md": "Наряжена ёлка.",
    "spruce.md": "Елена видит ели.",
    "chatelier.md": "Le Châtelier on équilibre.",
    "cafe.md": unicodedata.normalize(NFD, "Un café à Zürich."),
    "street.md": "Die Straße in Köln.",
    "turkish.md": "İstanbul ve Iğdır.",
    "greek.md": "Ο Οδυσσέας και η Ιθάκη.",
    "arabic.md": "كِتَابٌ جديد",
    "hebrew.md": "שָׁלוֹם לכולם",
    "hindi.md": "हिन्दी की किताब",
    "soft.md": "A do\u00adnau\u00addampf of soft hyphens.",
    "joiner.md": "می\u200cخواهم بروم; a zero\u200bwidth space.",
    "cpp.md": "Templates in C++ are Turing complete.",
    "csharp.md": "Delegates in C# are typed.",
    "planc.md": "Plan C is to go home.",
    "law.md": "Nach §15 des Gesetzes.",
    "arrow.md": "State A → state B.",
    "long.md": f"# Long\n\n{LONG}\n\nAt the very end stands quincunx.",
    "near.md": "hyperglycemia " * 20,
    "exact.md": "One case of hypercalcemia among many words of other kinds.",
    "stress.md": "Старый за\u0301мок на горе.",
    "full.md": "Ｆｕｌｌ　ｗｉｄｔｈ　１２３",
    "ligature.md": "The ﬁrst oﬃce.",
}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return Shelf.of(tmp_path_factory.mktemp("languages"), NOTES)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        pytest.param("中文合約", "chinese.md", id="a beginning in Chinese"),
        pytest.param("合約", "chinese.md", id="two characters inside"),
        pytest.param("問題", "chinese.md", id="two at the end"),
        pytest.param("生日", "birthday.md", id="two of a short line"),
        pytest.param("搜索", "search.md", id="in the middle of a line"),
        pytest.param("索", "search.md", id="one character"),
        pytest.param('"合約轉換"', "chinese.md", id="a phrase inside"),
        pytest.param("タワー", "japanese.md", id="Katakana between Kanji"),
        pytest.param("高さ", "japanese.md", id="Kanji with Hiragana"),
        pytest.param("カタカナ", "halfwidth.md", id="half width"),
        pytest.param("서울", "korean.md", id="Korean without its particle"),
        pytest.param(unicodedata.normalize(NFD, "서울"), "korean.md", id="Korean in parts"),
        pytest.param("ช่องว่าง", "thai.md", id="Thai"),
        pytest.param("йод", "yod.md", id="composed asked, decomposed written"),
        pytest.param(unicodedata.normalize(NFD, "йод"), "yod.md", id="decomposed both"),
        pytest.param("елка", "tree.md", id="without its dots"),
        pytest.param("ЁЛКА", "tree.md", id="with them, in capitals"),
        pytest.param("ёлена", "spruce.md", id="dots too many"),
        pytest.param("chatelier", "chatelier.md", id="no accent asked"),
        pytest.param("EQUILIBRE", "chatelier.md", id="in capitals"),
        pytest.param("cafe zurich", "cafe.md", id="none asked, decomposed written"),
        pytest.param("café", "cafe.md", id="composed asked, decomposed in the note"),
        pytest.param("strasse", "street.md", id="ss for sharp s"),
        pytest.param("koln", "street.md", id="no umlaut"),
        pytest.param("istanbul", "turkish.md", id="the Turkish capital i"),
        pytest.param("Οδυσσεας", "greek.md", id="Greek without its accent"),
        pytest.param("ΟΔΥΣΣΕΑΣ", "greek.md", id="Greek in capitals"),
        pytest.param("كتاب", "arabic.md", id="Arabic without vowel signs"),
        pytest.param("שלום", "hebrew.md", id="Hebrew without points"),
        pytest.param("किताब", "hindi.md", id="Hindi"),
        pytest.param("donaudampf", "soft.md", id="soft hyphens in the note"),
        pytest.param("do\u00adnaudampf", "soft.md", id="one in the question"),
        pytest.param("می‌خواهم", "joiner.md", id="a joiner asked and written"),
        pytest.param("zero width", "joiner.md", id="a space of no width"),
        pytest.param("замок", "stress.md", id="without the stress mark"),
        pytest.param("full width 123", "full.md", id="full width"),
        pytest.param("first office", "ligature.md", id="ligatures"),
        pytest.param("C++", "cpp.md", id="a name ending in signs"),
        pytest.param("c#", "csharp.md", id="a name ending in a hash"),
        pytest.param("plan C", "planc.md", id="the letter alone"),
        pytest.param("§ 15", "law.md", id="a sign with a space"),
        pytest.param("§15", "law.md", id="a sign without"),
        pytest.param("§", "law.md", id="a sign alone"),
        pytest.param("→", "arrow.md", id="an arrow"),
        pytest.param("quincunx", "long.md", id="the last word of a long note"),
        pytest.param("hypercalcemia", "exact.md", id="the very word before its neighbour"),
    ],
)
@pytest.mark.parametrize("mode", ["search", "query"])
def test_a_word_is_found(shelf: Shelf, mode: str, question: str, first: str) -> None:
    assert shelf.hits(question, mode=mode)[0] == first


@pytest.mark.parametrize("question", ["C++", "C#"])
def test_a_name_with_signs_is_not_the_letter(shelf: Shelf, question: str) -> None:
    assert len(shelf.hits(question)) == 1


def test_a_sign_that_no_note_holds_is_no_error(shelf: Shelf) -> None:
    assert shelf("search", "¶").exit_code == 1


def test_a_hit_of_a_long_note_leads_to_its_end(shelf: Shelf) -> None:
    (hit,) = shelf.answer("search", "quincunx")["results"]
    assert "quincunx" in hit["matches"][0]["snippet"]


@pytest.mark.parametrize(
    ("question", "marked"),
    [
        pytest.param("hypercalcemia", "hypercalcemia", id="Latin"),
        pytest.param("ёлка", "ёлка", id="Cyrillic"),
        pytest.param("елка", "ёлка", id="Cyrillic as it is written"),
        pytest.param("йод", unicodedata.normalize(NFD, "йод"), id="decomposed"),
        pytest.param("안녕", "안녕", id="Korean"),
        pytest.param("合約", "合約", id="Chinese"),
        pytest.param("chatelier", "Châtelier", id="with its accent"),
        pytest.param("C++", "C++", id="with its signs"),
    ],
)
def test_the_word_is_marked_in_every_script(shelf: Shelf, question: str, marked: str) -> None:
    now = datetime.datetime.now(datetime.UTC)
    with Reader.open(shelf.index) as store:
        analyzer = Analyzer(store.languages)
        found = by_words(store, question, Ask(limit=1), Models(), now)
        lines = people.answer_lines(found, analyzer, explain=False)
    shown = "".join(text for line in lines for text, style in line if style == "marked")
    assert shown.startswith(marked)


def test_no_chunk_and_no_snippet_holds_half_a_character(tmp_path: Path) -> None:
    family, accent = "👨\u200d👩\u200d👧", "e\u0301"
    shelf = Shelf.of(tmp_path, {"a.md": family * 700, "b.md": accent * 2500 + " end"})
    with Reader.open(shelf.index) as store:
        chunks = [stored.chunk.text for stored in store.chunks(range(100)).values()]
    whole = re.compile(rf"(?:{family}|{accent}|\s|end)*")
    assert len(chunks) > 6
    assert all(whole.fullmatch(text) for text in chunks)
