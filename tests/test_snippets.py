import pytest

from qmd_py.snippets import readable, snippet
from qmd_py.terms import Analyzer

ANALYZER = Analyzer(("en", "ru"))


def wanted(question: str) -> set[str]:
    return set(ANALYZER.words(question))


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        pytest.param("see [[Go Notes]]", "see Go Notes", id="a wiki link"),
        pytest.param("see [[Go Notes|these]]", "see these", id="a wiki link with an alias"),
        pytest.param("![[board.png]] here", "board.png here", id="an embed"),
        pytest.param("![[board.png|300]] here", "board.png here", id="an embed with a size"),
        pytest.param("a [link](http://x.y/z?q=1) b", "a link b", id="a link"),
        pytest.param('a [link](x "a title") b', "a link b", id="a link with a title"),
        pytest.param("[wiki](http://x/A_(b)) c", "wiki c", id="a link with parentheses inside"),
        pytest.param("![alt text](pic.png)", "alt text", id="an image"),
        pytest.param("a %%hidden%% b", "a  b", id="a comment of Obsidian"),
        pytest.param("a <!-- hidden --> b", "a  b", id="a comment of HTML"),
        pytest.param("a %%two\nlines%% b", "a  b", id="a comment over two lines"),
        pytest.param("> [!tip] Mind the gap", "Mind the gap", id="a callout with a title"),
        pytest.param("> [!warning]-\n> Hot", "warning\nHot", id="a folded callout without a title"),
        pytest.param("> a\n>> b", "a\nb", id="quotes in quotes"),
        pytest.param("```go\nx := 1\n```", "\nx := 1\n", id="the marks of a fence"),
        pytest.param("## Heading", "Heading", id="the marks of a heading"),
        pytest.param(
            "| a | b |\n|---|:-:|\n| 1 | 2 |", "| a | b |\n\n| 1 | 2 |", id="a table's rule"
        ),
        pytest.param("**bold** __too__ ==lit== ~~gone~~", "bold too lit gone", id="emphasis"),
        pytest.param("an *italic* word", "an italic word", id="a single star"),
        pytest.param("2 * 3 * 4", "2 * 3 * 4", id="stars that multiply"),
        pytest.param("snake_case_name", "snake_case_name", id="underscores inside a name"),
        pytest.param("run `make all`", "run make all", id="code"),
        pytest.param("a <b>word</b><br/>", "a word", id="HTML tags"),
        pytest.param("if a < b and c > d", "if a < b and c > d", id="signs that are no tags"),
        pytest.param("a thought ^block-id", "a thought", id="a block's id"),
        pytest.param("- [ ] task #tag", "- [ ] task #tag", id="tasks and tags stay"),
    ],
)
def test_marks_are_taken_off(markdown: str, text: str) -> None:
    assert readable(markdown) == text


@pytest.mark.parametrize(
    ("text", "question", "shown", "offset"),
    [
        pytest.param("one\ntwo\nthree", "two", "two three", 1, id="from the line that holds it"),
        pytest.param("one\ntwo\nthree", "nothing", "one two three", 0, id="else from the first"),
        pytest.param("\n\n# One\n\ntwo", "", "One two", 2, id="blank lines are left out"),
        pytest.param(
            "red\n\nblue\n\nred blue", "red blue", "red blue red blue", 0, id="the first of equals"
        ),
        pytest.param(
            "red " + "x " * 120 + "\nblue\nred", "red blue", "blue red", 1, id="most words win"
        ),
        pytest.param("%%red\nred%%\nred", "red", "red", 2, id="comments are not shown"),
        pytest.param("one\nworkers\n", "worker", "workers", 1, id="another form of the word"),
        pytest.param("один\nгорутины", "горутина", "горутины", 1, id="in Russian too"),
        pytest.param("", "red", "", 0, id="nothing of nothing"),
    ],
)
def test_the_lines_worth_showing(text: str, question: str, shown: str, offset: int) -> None:
    found = snippet(text, wanted(question), ANALYZER)
    assert (found.text, found.offset) == (shown, offset)


@pytest.mark.parametrize("length", [20, 50, 240])
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("filler " * 100 + "needle" + " filler" * 100, id="one long line"),
        pytest.param("x" * 5000, id="one long word"),
        pytest.param("needle " + "x" * 3000, id="a word and a long one"),
        pytest.param("日本語" * 500, id="a script without spaces"),
    ],
)
def test_a_long_line_is_cut_to_length(text: str, length: int) -> None:
    found = snippet(text, wanted("needle"), ANALYZER, length)
    assert len(found.text.strip("…")) <= length
    assert ("needle" in found.text) == ("needle" in text)


def test_a_cut_is_marked_on_either_side() -> None:
    text = "filler " * 100 + "needle" + " filler" * 100
    shown = snippet(text, wanted("needle"), ANALYZER, 50).text
    assert shown.startswith("…filler")
    assert shown.endswith("filler…")
