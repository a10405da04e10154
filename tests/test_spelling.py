import pytest

from qmd_py.spelling import alike, nearest, other_alphabet, suggestion


@pytest.mark.parametrize(
    ("word", "terms", "found"),
    [
        pytest.param("plugni", ["plugin", "plug"], ["plugin"], id="neighbours swapped"),
        pytest.param("plugn", ["plugin"], ["plugin"], id="a letter left out"),
        pytest.param("pluggin", ["plugin"], ["plugin"], id="a letter too many"),
        pytest.param("plagin", ["plugin"], ["plugin"], id="a wrong letter"),
        pytest.param("запметка", ["заметка"], ["заметка"], id="a slip in Russian"),
        pytest.param("trmb", ["term", "tomb"], [], id="four letters must be right"),
        pytest.param("tomb", ["comb"], [], id="even with one edit only"),
        pytest.param("terms", ["tarms"], ["tarms"], id="five may have one edit"),
        pytest.param("obsidian", ["absidion"], [], id="eight may not have two"),
        pytest.param("frontmater", ["frontmatter"], ["frontmatter"], id="ten, one edit"),
        pytest.param("frntmater", ["frontmatter"], ["frontmatter"], id="nine may have two"),
        pytest.param("frntmter", ["frontmatter"], [], id="never three"),
        pytest.param(
            "frontmater", ["frontmate", "frontmatters"], ["frontmate"], id="the nearest alone"
        ),
        pytest.param("terms", ["germs", "berms"], ["berms", "germs"], id="equals in order"),
        pytest.param(
            "pages", ["pases", "paged", "pager", "wages"], 4, id="four equals are a slip yet"
        ),
        pytest.param(
            "pages", ["pases", "paged", "pager", "wages", "sages"], [], id="five are none"
        ),
        pytest.param("plugin", [], [], id="no terms"),
    ],
)
def test_nearest_terms(word: str, terms: list[str], found: list[str] | int) -> None:
    near = nearest(word, terms)
    assert near == (sorted(terms) if isinstance(found, int) else found)


@pytest.mark.parametrize(
    ("word", "terms", "found"),
    [
        pytest.param("plags", ["plugs"], [], id="five letters heard must be right"),
        pytest.param("plagin", ["plugin"], ["plugin"], id="six may have one edit"),
        pytest.param("frntmater", ["frontmatter"], [], id="nine may not have two"),
        pytest.param("frontmatir", ["frontmatte"], ["frontmatte"], id="ten may have two"),
    ],
)
def test_a_word_put_down_by_ear_proves_less(word: str, terms: list[str], found: list[str]) -> None:
    assert nearest(word, terms, sounded=True) == found


@pytest.mark.parametrize(
    ("word", "heard"),
    [
        pytest.param("плагин", "plagin", id="Russian to Latin"),
        pytest.param("яндекс", "yandeks", id="one letter, two sounds"),
        pytest.param("объект", "obekt", id="signs are silent"),
        pytest.param("plagin", "плагин", id="Latin to Russian"),
        pytest.param("zametka", "заметка", id="a Russian word in Latin letters"),
        pytest.param("shchema", "шчема", id="letters that go together"),
        pytest.param("graph", "граф", id="ph is one sound"),
        pytest.param("yandex", "яндекс", id="x is two"),
        pytest.param("x86", None, id="digits"),
        pytest.param("заметка2", None, id="digits in Russian"),
        pytest.param("ελλάδα", None, id="another script"),
        pytest.param("日本", None, id="no alphabet at all"),
        pytest.param("café", None, id="Latin with accents"),
    ],
)
def test_a_word_as_it_sounds_in_the_other_alphabet(word: str, heard: str | None) -> None:
    assert other_alphabet(word) == heard


@pytest.mark.parametrize("letter", "abcdefghijklmnopqrstuvwxyz")
def test_every_latin_letter_has_a_sound(letter: str) -> None:
    heard = other_alphabet(letter)
    assert heard
    assert not heard.isascii()


@pytest.mark.parametrize("letter", "абвгдежзийклмнопрстуфхцчшщыэюя")
def test_every_russian_letter_has_a_sound(letter: str) -> None:
    heard = other_alphabet(letter)
    assert heard
    assert heard.isascii()


def test_names_alike_come_in_order() -> None:
    assert alike("Note", ["notebook", "ether", "NOTES", "n"], most=3) == ["NOTES", "notebook"]


def test_of_names_alike_that_in_the_case_typed_comes_first() -> None:
    assert alike("statsu", ["Status", "STATUS", "status"]) == ["status"]


def test_a_suggestion_is_made_only_of_a_near_name() -> None:
    assert suggestion("seach", ["index", "search"]) == " (did you mean 'search'?)"
    assert suggestion("xyz", ["index", "search"]) == suggestion("x", []) == ""
