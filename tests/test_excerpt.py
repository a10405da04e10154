"""Snippets as people read them: prose as a paragraph, code and lists line by line."""

import pytest

from qmd_py.records.answers import Match
from qmd_py.render import excerpt
from qmd_py.snippets import snippet
from qmd_py.terms import Analyzer

GO = """\
Start them once:

```go
func run(jobs <-chan Job) {
	for i := 0; i < size; i++ {
		go work(__init__, jobs)
	}
}
```

and *wait*.
"""


def shown(text: str, question: str = "", path: str = "a.md", length: int = 240) -> list[str]:
    """What is shown of a chunk for a question."""
    analyzer = Analyzer(("en",))
    wanted = frozenset(t for span in analyzer.spans(question) for t in span.terms)
    cut = snippet(text, wanted, analyzer, length, marked=not path.endswith(".py"))
    last = text.count("\n") + 1
    match = Match((), "", "", 1, last, 1 + cut.offset, cut.text, text, 1.0, {})
    return excerpt.paragraphs(match, path, lambda line: bool(analyzer.found_in(line, wanted)))


def test_code_keeps_its_lines_and_prose_flows() -> None:
    assert shown(GO) == [
        "Start them once:",
        "  func run(jobs <-chan Job) {",
        "      for i := 0; i < size; i++ {",
        "          go work(__init__, jobs) …",
        "and wait.",
    ]


def test_prose_alone_is_one_paragraph() -> None:
    assert shown("One *line*\nand another.") == ["One line and another."]


LIST = """\
Bring with you:

- the *sourdough* starter
  in its jar
- flour
  1. rye
  2. wheat, a kilo
- [ ] salt
* [[bowls|two bowls]]

and some time.
"""


def test_a_list_keeps_its_items() -> None:
    assert shown(LIST) == [
        "Bring with you:",
        "- the sourdough starter in its jar",
        "- flour",
        "  1. rye …",
        "and some time.",
    ]


def test_the_items_that_answer_are_shown_before_others() -> None:
    assert shown(LIST, "starter salt bowls") == [
        "- the sourdough starter in its jar …",
        "- [ ] salt",
        "* two bowls",
        "and some time.",
    ]


def test_a_list_takes_no_more_lines_than_code() -> None:
    text = "\n".join(f"- {at}" for at in range(100))
    assert len(shown(text)) == 3
    assert len(shown("```\na\nb\n```\n" + text)) == 3


def test_the_lines_that_answer_are_shown_before_others() -> None:
    text = "```sh\n" + "\n".join(f"step{at}" for at in range(9)) + "\n```"
    assert shown(text, "step0 step5 step7") == ["  step0 …", "  step5 …", "  step7 …"]


def test_a_longer_snippet_shows_more_lines() -> None:
    text = "```\n" + "\n".join(f"{at} {'x' * 38}" for at in range(30)) + "\n```"
    assert len(shown(text, length=240)) == 3
    assert len(shown(text, length=800)) == 9


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param("> ~~~\n> a >b\n>   c\n> ~~~", ["  a >b", "    c"], id="in a quote"),
        pytest.param("- one\n  ```\n  a\n    b\n  ```", ["- one", "  a", "    b"], id="in a list"),
        pytest.param("````\n```\na\n````\nb", ["  a", "b"], id="a fence in a fence"),
        pytest.param("```\nnever closed", ["  never closed"], id="an open fence"),
        pytest.param("a\n| b | **c** |\n|---|---|\n| d | e |", ["a", "  | b | c |", "  | d | e |"],
                     id="a table"),
        pytest.param("a ``` b\nc", ["a ``` b c"], id="no fence"),
        pytest.param("- a\n\n- b\n\n  c", ["- a", "- b", "c"], id="a loose list"),
        pytest.param("> 1. a\n>    - b\n> c", ["1. a", "   - b c"], id="a list in a quote"),
        pytest.param("a\n-b\n2.c\n1) d", ["a -b 2.c", "1) d"], id="signs without a blank"),
        pytest.param("on 24\n- 25 December", ["on 24", "- 25 December"], id="after prose"),
        pytest.param("", [""], id="nothing"),
    ],
)  # fmt: skip
def test_fences_are_told_from_text(text: str, lines: list[str]) -> None:
    assert shown(text) == lines


def test_a_program_is_code_all_over() -> None:
    assert shown("def f():\n    # *not* Markdown\n    ```", path="a.py") == [
        "  def f():",
        "      # *not* Markdown",
        "      ```",
    ]


def test_a_line_that_was_cut_is_shown_as_it_was_cut() -> None:
    (line,) = shown("```\n" + "word " * 200 + "wanted\n```", "wanted", length=60)
    assert line.startswith("…")
    assert line.endswith("wanted")
