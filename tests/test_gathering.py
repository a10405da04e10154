import pytest

from qmd_py import markdown
from qmd_py.markdown.references import references


def links(text: str) -> list[tuple[str, str]]:
    return [(link.target, link.anchor) for link in references(markdown.parse(text, "x")).links]


def tags(text: str) -> list[str]:
    return list(references(markdown.parse(text, "x")).tags)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("see [[a]]", [("a", "")], id="a wikilink"),
        pytest.param("see [[a|b]]", [("a", "")], id="with other words"),
        pytest.param("see [[a#b c]]", [("a", "b c")], id="with a heading"),
        pytest.param("see [[a#^id|b]]", [("a", "^id")], id="with a block"),
        pytest.param("![[a]]", [("a", "")], id="an embedded note"),
        pytest.param("![[a.png|100]]", [("a.png", "")], id="an embedded picture"),
        pytest.param("[[#b]] [[]] [[ ]]", [], id="nothing but a heading, or nothing"),
        pytest.param("[[a]] and [[a]]", [("a", ""), ("a", "")], id="the same twice"),
        pytest.param("[[Борщ#Свёкла]]", [("Борщ", "Свёкла")], id="another script"),
        pytest.param("| x | [[a\\|b]] |\n|--|--|\n", [("a", "")], id="in a table"),
        pytest.param("- x\n  - [[a]]\n> [[b]]", [("a", ""), ("b", "")], id="in lists and quotes"),
        pytest.param("# Of [[a]]\n", [("a", "")], id="in a heading"),
        pytest.param("[b](a.md)", [("a.md", "")], id="a Markdown link"),
        pytest.param("[b](a%20c.md#d%20e)", [("a c.md", "d e")], id="percent signs"),
        pytest.param("[b](<a c.md> 'title')", [("a c.md", "")], id="in angles"),
        pytest.param("[b](a(1).md)", [("a(1).md", "")], id="with parentheses"),
        pytest.param("[![p](p.png)](a.md)", [("p.png", ""), ("a.md", "")], id="a picture inside"),
        pytest.param("[b][r]\n\n[r]: a.md", [("a.md", "")], id="a reference"),
        pytest.param("x[^1]\n\n[^1]: a footnote", [], id="a footnote"),
        pytest.param("[b](#x) [c](http://x/a.md) [d](mailto:x) [e](//x)", [], id="no note"),
        pytest.param("[b](folder/) [c]() [d]( )", [], id="a folder, or nothing"),
        pytest.param("`[[a]]` ``[b](`x`.md)`` [[c]]", [("c", "")], id="in code"),
        pytest.param("`` ` [[a]] `` [[b]]", [("b", "")], id="in code with a tick inside"),
        pytest.param("a ` and [[b]]", [("b", "")], id="after a lone tick"),
        pytest.param("\\`[[a]]`", [("a", "")], id="after an escaped tick"),
        pytest.param("```\n[[a]]\n```\n~~~md\n[[b]]\n~~~\n\n    [[c]]\n\n[[d]]", [("d", "")], id="fences"),
        pytest.param("- x\n\n  ```\n  [[a]]\n  ```\n", [], id="a fence in a list"),
        pytest.param("%%[[a]]%% <!-- [[b]] --> [[c]]", [("c", "")], id="in comments"),
        pytest.param("---\nup: '[[a]]'\n---\n[[b]]", [("b", "")], id="not in front matter"),
        pytest.param(r"\[[a]] \\[[b]]", [], id="escaped"),
        pytest.param("[[a\nb]] [[[c]]] [[d", [("c", "")], id="odd brackets"),
    ],
)  # fmt: skip
def test_links_to_notes_are_found(text: str, found: list[tuple[str, str]]) -> None:
    assert links(text) == found


def test_a_link_knows_its_line() -> None:
    text = "---\nx: 1\n---\n\nfirst\n[[a]] and\n[b](c.md) [[d]]\n\n```\n[[no]]\n```\n[[e]]\n"
    found = references(markdown.parse(text, "x")).links
    assert [(link.target, link.line) for link in found] == [
        ("a", 6),
        ("c.md", 7),
        ("d", 7),
        ("e", 12),
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("#a and #b, (#c) **#d**; #e.", ["a", "b", "c", "d", "e"], id="in a sentence"),
        pytest.param("#a\n#b #a", ["a", "b"], id="each once, at the beginning of a line too"),
        pytest.param("#проект/ёлка #标签 #हिन्दी #日本語タグ", ["проект/ёлка", "标签", "हिन्दी", "日本語タグ"], id="scripts"),
        pytest.param("#a/b/c #d/ #e-f_g #y2026", ["a/b/c", "d", "e-f_g", "y2026"], id="nested"),
        pytest.param("#👩‍🚀 #می‌خواهم", ["👩‍🚀", "می‌خواهم"], id="joiners"),
        pytest.param("# x\n\n## y\n\nSetext\n===\n", [], id="headings"),
        pytest.param("## y #z\n", ["z"], id="a tag in a heading"),
        pytest.param("#1 #2026-01 #12/3 #- #", [], id="numbers"),
        pytest.param("a#b C# #! ##c \\#d &#39;", [], id="no beginning of a word"),
        pytest.param("http://x/#a https://x/y#b <http://x/#c> x.com/#d", [], id="in addresses"),
        pytest.param("[x](#a) [y](z.md#b) [[c#d]] [[e|#f]]", [], id="in links"),
        pytest.param("`#a` ```#b``` `` #c ``", [], id="in code"),
        pytest.param("```sh\n#a\n```\n\n    #b\n\n#c", ["c"], id="in blocks of code"),
        pytest.param('<a href="#a" style="color: #fff">#b</a>', ["b"], id="in HTML"),
        pytest.param("- #a\n> #b\n\n| #c |\n|--|\n| #d |\n", ["a", "b", "c", "d"], id="blocks"),
        pytest.param("<!-- #a --> %% #b %%", [], id="in comments"),
        pytest.param("「#a」、#b。（#c）", ["a", "b", "c"], id="CJK punctuation"),
        pytest.param("---\ntags: '#a'\n---\n#b", ["b"], id="not the front matter's"),
    ],
)  # fmt: skip
def test_tags_in_the_text_are_found(text: str, found: list[str]) -> None:
    assert tags(text) == found


@pytest.mark.parametrize(
    "text",
    ["`" * 3 + "` " * 50_000, "[[" * 100_000, "](" * 100_000, "<!--" * 50_000, "#" * 200_000,
     "[[a]] " * 40_000, "%%" * 100_001, "](a(" * 50_000, "[a]:" * 50_000, "<a" * 100_000,
     "a.b" * 80_000 + "://", "`" * 100 + "a``" * 60_000, "#a/" * 60_000, "[[a\n" * 50_000],
)  # fmt: skip
def test_the_time_for_odd_texts_grows_with_their_length(text: str) -> None:
    """With its square, each would take minutes."""
    document = markdown.parse("x", "x")
    lines = markdown.Lines.of(text)
    odd = markdown.Document(lines, document.front, "x", (), (), None)
    assert references(odd) == references(odd)
