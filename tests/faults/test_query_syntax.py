"""What people type is text: no operator, pattern or option that they did not mean."""

import pytest

from tests.faults.shelf import Shelf, said

NOTES = {
    "panic.md": "The cover of the guide says don’t panic in large letters.",
    "straight.md": "It's the users' guide; rock'n'roll.",
    "ticket.md": "Ticket PIO-1384 is about the login page.",
    "both.md": "This memo tells how cloud-init starts a machine.",
    "memo.md": "This memo tells of clouds and rain.",
    "files.md": "See src/store.ts and C:\\data\\log.txt, also ~/.config/app.",
    "scope.md": "Install @scope/pkg, write to ann@example.org.",
    "uris.md": "Read qmd://notes/a.md and http://x.y/z?a=b&c=%20d#top.",
    "version.md": "The compiler was bumped to v2026.4.10 and libfoo-1.2.3rc1.",
    "variable.md": "Set my_variable and __init__ before sp_new1 runs.",
    "settings.md": "It lives in my-app.config.ts of every project.",
    "gcloud.md": "Run gcloud --version, then lint --error-on-warnings.",
    "band.md": "AMF is a rock band.",
    "amf.md": "AMF is a function of the core network.",
    "colons.md": "grammar::fa is a table; title:foo is a key; TODO: call Bob; C:D.",
    "sports.md": "Improve performance in sports.",
    "work.md": "Improve performance at work.",
    "zero.md": "It was made with zero runtime dependencies, so that it starts at once.",
    "school.md": "The roof of the school leaks.",
    "agents.md": "A multi-agent role-based design.",
    "2026_06_16.md": "Underscored day: walked.",
    "2026-06-16.md": "Hyphenated day: swam.",
    "100%.md": "Full marks.",
    "1000.md": "A thousand marks.",
    "[draft] *one*?.md": "Bracketed name.",
    "a/in.md": "Shared secret of the first folder.",
    "b/in.md": "Shared secret of the second folder.",
    "c/in.md": "Shared secret of the third folder.",
    "words.md": "Salt AND pepper OR vinegar NOT NEAR oil.",
}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return Shelf.of(tmp_path_factory.mktemp("query"), NOTES)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        pytest.param("don't panic", "panic.md", id="a straight apostrophe"),
        pytest.param("don’t panic", "panic.md", id="a curly one"),
        pytest.param("donʼt panic", "panic.md", id="the letter apostrophe"),
        pytest.param("users’ rock", "straight.md", id="curly asked, straight written"),
        pytest.param("users'", "straight.md", id="an apostrophe at the end"),
        pytest.param("'login page'", "ticket.md", id="words between apostrophes"),
        pytest.param("rock’n’roll", "straight.md", id="two of them"),
        pytest.param("PIO-1384", "ticket.md", id="a ticket"),
        pytest.param("pio-1384", "ticket.md", id="a ticket in lower case"),
        pytest.param("src/store.ts", "files.md", id="a path"),
        pytest.param("store.ts", "files.md", id="a file name inside a path"),
        pytest.param("C:\\data\\log.txt", "files.md", id="a path with backslashes"),
        pytest.param("~/.config/app", "files.md", id="a path from home"),
        pytest.param("@scope/pkg", "scope.md", id="a scoped package"),
        pytest.param("ann@example.org", "scope.md", id="an address of a person"),
        pytest.param("qmd://notes/a.md", "uris.md", id="a pointer"),
        pytest.param("http://x.y/z?a=b", "uris.md", id="the beginning of an address"),
        pytest.param("2026.4.10", "version.md", id="a version without its letter"),
        pytest.param("v2026.4.10", "version.md", id="a version as it is written"),
        pytest.param("1.2.3rc1", "version.md", id="a version behind a name"),
        pytest.param("my_variable", "variable.md", id="an identifier"),
        pytest.param("__init__", "variable.md", id="underscores around"),
        pytest.param("sp_new*", "variable.md", id="the beginning of an identifier"),
        pytest.param("my-app.config.ts", "settings.md", id="hyphens and dots together"),
        pytest.param("grammar::fa", "colons.md", id="two colons"),
        pytest.param("title:foo", "colons.md", id="the name of a column"),
        pytest.param("TODO: call", "colons.md", id="a colon behind a word"),
        pytest.param("C:D", "colons.md", id="a colon between letters"),
        pytest.param("why does it avoid runtime dependencies?", "zero.md", id="a question"),
        pytest.param("multi-agent role-based design", "agents.md", id="compound words"),
        pytest.param("salt AND pepper", "words.md", id="AND is a word"),
        pytest.param("vinegar NOT oil", "words.md", id="so is NOT"),
        pytest.param("(pepper NEAR/3 oil)", "words.md", id="and NEAR"),
        pytest.param("{pepper} ^salt + vinegar", "words.md", id="signs of a query language"),
        pytest.param("pepper' OR 1=1; --", "words.md", id="SQL"),
        pytest.param('pepper "', "words.md", id="an open quotation mark"),
        pytest.param('pepper "salt', "words.md", id="a phrase without its end"),
        pytest.param("salt ** * pepper*", "words.md", id="stars of all kinds"),
        pytest.param("to be or not the", "words.md", id="hardly more than stop-words"),
    ],
)
def test_a_question_is_text(shelf: Shelf, question: str, first: str) -> None:
    assert shelf.hits(question)[0] == first


@pytest.mark.parametrize(
    ("question", "found"),
    [
        pytest.param('"PIO-1384"', {"ticket.md"}, id="a ticket"),
        pytest.param('"my_variable"', {"variable.md"}, id="an identifier"),
        pytest.param('"src/store.ts"', {"files.md"}, id="a path"),
        pytest.param('"don\'t panic"', {"panic.md"}, id="an apostrophe"),
        pytest.param('"gcloud --version"', {"gcloud.md"}, id="an option inside"),
        pytest.param('"--error-on-warnings"', {"gcloud.md"}, id="an option alone"),
        pytest.param('"of the school"', {"school.md"}, id="stop-words at the beginning"),
        pytest.param('"the roof of the"', {"school.md"}, id="stop-words at the end"),
        pytest.param('"TODO: call"', {"colons.md"}, id="a colon"),
        pytest.param('"salt AND pepper"', {"words.md"}, id="an operator's name"),
        pytest.param("“zero runtime” dependencies", {"zero.md"}, id="curly marks"),
        pytest.param('"school the of"', set(), id="another order"),
    ],
)
def test_a_phrase_is_literal(shelf: Shelf, question: str, found: set[str]) -> None:
    assert set(shelf.hits(question)) == found


@pytest.mark.parametrize(
    ("question", "found"),
    [
        pytest.param('memo -"cloud-init"', ["memo.md"], id="a quoted compound"),
        pytest.param("memo -cloud-init", ["memo.md"], id="a bare compound"),
        pytest.param("memo -clouds -init", [], id="two words"),
        pytest.param("AMF -band", ["amf.md"], id="a word"),
        pytest.param("AMF -“rock band”", ["amf.md"], id="a phrase in curly marks"),
        pytest.param("-sports performance", ["work.md"], id="at the beginning"),
        pytest.param("memo -rain* ", ["both.md"], id="a beginning"),
        pytest.param("memo -title:none -", ["memo.md", "both.md"], id="of nothing that is there"),
    ],
)
def test_an_exclusion_excludes(shelf: Shelf, question: str, found: list[str]) -> None:
    assert sorted(shelf.hits(question)) == sorted(found)


def test_an_exclusion_holds_for_meaning_and_for_everything(shelf: Shelf) -> None:
    assert "band.md" not in shelf.hits("AMF -band", mode="query")


def test_hyphens_in_a_sentence_for_meaning_are_hyphens(shelf: Shelf) -> None:
    sentence = "multi-agent role-based design"
    assert shelf("query", "--vec", sentence, "design").exit_code == 0
    document = f"design\nvec: {sentence}\nlex: role-based -rain"
    assert shelf.hits(document, mode="query")[0] == "agents.md"


def test_a_dash_may_begin_the_words(shelf: Shelf) -> None:
    assert shelf.hits("-sports", "performance") == ["work.md"]
    assert shelf.hits("--", "-sports", "performance") == ["work.md"]


@pytest.mark.parametrize("command", ["search", "vsearch", "query"])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param([""], "no question", id="empty"),
        pytest.param(["   "], "no question", id="blank"),
        pytest.param(["\u00a0\u3000"], "no question", id="other blanks"),
        pytest.param(['""'], "nothing to look for", id="an empty phrase"),
        pytest.param(["*"], "nothing to look for", id="a star"),
        pytest.param(["-"], "no question", id="a lone dash, with nothing on stdin"),
        pytest.param(["--", "-band"], "only words to leave out", id="only an exclusion"),
        pytest.param(["-band"], "only words to leave out", id="the same without --"),
    ],
)
def test_nothing_to_look_for_is_told(
    shelf: Shelf, command: str, words: list[str], message: str
) -> None:
    assert message in said(shelf(command, *words))
    assert message in said(shelf(command, "--json", *words))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param("2026_06_16.md", "Underscored", id="an underscore"),
        pytest.param("2026-06-16.md", "Hyphenated", id="a hyphen"),
        pytest.param("100%.md", "Full", id="a per cent sign"),
        pytest.param("[draft] *one*?.md", "Bracketed", id="signs of a glob"),
    ],
)
def test_a_path_is_no_pattern(shelf: Shelf, path: str, text: str) -> None:
    assert shelf("get", path).stdout.startswith(text)
    assert shelf("get", f"notes/{path}").stdout.startswith(text)
    assert shelf("get", path.replace("_", "?")).stdout.startswith(text) == ("_" not in path)


def test_a_path_without_wildcards_names_one_note(shelf: Shelf) -> None:
    assert shelf.hits("day marks", "--path", "2026_06_16.md") == ["2026_06_16.md"]
    assert shelf.hits("marks", "--path", "100%.md") == ["100%.md"]
    assert shelf.hits("marks", "--path", "./100%.md") == ["100%.md"]


def test_two_places_are_united(shelf: Shelf) -> None:
    assert shelf.hits("secret", "--path", "a/", "--path", "b/") == ["a/in.md", "b/in.md"]
    united = shelf("search", "secret", "--path", "a/", "--path", "none/", "--format={path}")
    assert united.stdout == "a/in.md\n"
    assert shelf.hits("secret", "-c", "notes", "-c", "notes", "--path", "c") == ["c/in.md"]


@pytest.mark.parametrize(
    "args",
    [
        pytest.param(["search", "x", "--path"], id="a place left out"),
        pytest.param(["search", "x", "-c"], id="a collection left out"),
        pytest.param(["search", "x", "--min-score", "high"], id="a score in words"),
        pytest.param(["search", "x", "--min-score", "nan"], id="a score that is none"),
        pytest.param(["query", "x", "--budget", "nan"], id="a time that is none"),
        pytest.param(["search", "x", "-n", "-1"], id="fewer than none"),
        pytest.param(["search", "x", "-c", "nowhere"], id="an unknown collection"),
        pytest.param(["search", "x", "--without", "words"], id="an unknown run"),
        pytest.param(["search", "secret", "--tag", ""], id="an empty tag"),
        pytest.param(["search", "--tag", "nope"], id="an unknown tag"),
        pytest.param(["search", "secret", "--tag", "*"], id="a wildcard for a tag"),
        pytest.param(["search", "secret", "--where", ""], id="an empty condition"),
        pytest.param(["search", "--where", "="], id="a condition on nothing"),
        pytest.param(["search", "secret", "--where", "nope=1"], id="an unknown property"),
        pytest.param(["search", "secret", "--where", "*=*"], id="wildcards for a property"),
        pytest.param(["search", "secret", "--since", "soon"], id="a day in words"),
        pytest.param(["search", "--until", "2026-02-31"], id="a day there is not"),
        pytest.param(["search", "secret", "--recent", "0"], id="no days"),
        pytest.param(["search", "--recent", "7"], id="an order of nothing"),
        pytest.param(["search", "--path", ""], id="an empty place alone"),
        pytest.param(["search", "--path", "/"], id="a slash for a place alone"),
        pytest.param(["search", "-c", ""], id="an empty collection alone"),
    ],
)
def test_a_wrong_filter_never_means_everything(shelf: Shelf, args: list[str]) -> None:
    said(shelf(*args))


def test_an_empty_place_is_no_place(shelf: Shelf) -> None:
    shown = shelf("search", "secret", "--path", "")
    assert (shown.exit_code, shown.stdout) in {(1, ""), (2, "")}


@pytest.mark.parametrize(
    "args",
    [
        pytest.param(["collection", "add", "--glbo", "*.txt", "."], id="of a command"),
        pytest.param(["search", "secret", "--limt", "3"], id="behind the words"),
        pytest.param(["search", "--jsn", "secret"], id="before the words"),
        pytest.param(["get", "--jsno", "a/in.md"], id="of another"),
    ],
)
def test_an_unknown_option_is_told(shelf: Shelf, args: list[str]) -> None:
    from typer.testing import CliRunner

    from qmd_py.cli.whole import app

    assert "no such option" in said(CliRunner().invoke(app, args))
