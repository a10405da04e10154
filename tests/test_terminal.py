"""What a person sees: wrapped to the window, linked, coloured; and what a pipe gets of it."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from rich.cells import cell_len

from qmd_py import sections
from qmd_py.cli import (
    app,
    citing,
    collecting,
    getting,
    hinting,
    indexing,
    linking,
    printing,
    reading,
)
from qmd_py.evaluation.judging import Row
from qmd_py.records.answers import Answer, Hit, Match, Scope, Share, Source, Stage
from qmd_py.records.notes import Collection
from qmd_py.records.wordings import Variant
from qmd_py.render import explained, people, read, styled, tables
from qmd_py.render.places import address
from qmd_py.render.styled import HANG, Line
from qmd_py.store.reader import Reader

if TYPE_CHECKING:
    from typer.testing import Result

Qmd = Callable[..., "Result"]
LINKS = re.compile(r"\x1b\]8;id=\d+;([^\x1b]+)\x1b")
WORDS = "保存在陰涼處的蘋果 keeps its words 👨‍👩‍👧 whole where it can be seen in any window"


@pytest.fixture
def colours(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A terminal that shows colours, without a terminal."""
    monkeypatch.setenv("NO_COLOR", "")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    return monkeypatch


@pytest.fixture
def screen(colours: pytest.MonkeyPatch, qmd: Qmd) -> Qmd:
    """The command line as on a terminal."""
    colours.setattr(app, "show", lambda lines: app.emit_styled(styled.coloured(lines)))
    for module in (reading, getting):
        colours.setattr(
            module, "emit_note", lambda _path, text: app.emit_styled(read.laid_out(text))
        )
    for module in (citing, collecting, getting, indexing, linking, printing, reading):
        colours.setattr(module, "show", app.show)
    return qmd


def plainly(shown: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m|\x1b\]8;[^\x1b]*\x1b\\", "", shown)


@pytest.mark.parametrize("columns", [20, 40, 60, 80])
def test_words_are_wrapped_and_hang(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    line: Line = [("label ", "faint"), HANG, (WORDS, "")]
    first, *others = styled.coloured([line]).splitlines()
    assert first.startswith("label ")
    assert all(other.startswith(" " * 6) for other in others)
    assert max(map(cell_len, (first, *others))) <= columns
    assert "".join(part[6:].strip() for part in (first, *others)).replace(" ", "") == WORDS.replace(
        " ", ""
    )


def test_what_is_read_is_wrapped_before_the_eye_loses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    text = "word " * 50
    assert max(map(len, styled.coloured([[styled.PROSE, (text, "")]]).splitlines())) <= 100
    assert max(map(len, styled.coloured([[(text, "")]]).splitlines())) > 100
    assert styled.plain([[styled.PROSE, (text, "")]]) == text + "\n"


def test_a_long_label_stays_whole_for_copying(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    place = "a folder/with a name/that is long/and a note.md:12"
    shown = styled.coloured([[(place, "place"), HANG, ("  0.50", "number")], [(place, "place")]])
    assert shown.splitlines() == [place, "  0.50", place]


def test_nothing_to_hang_takes_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    place = "a folder/with a name/that is long/and a note.md"
    assert styled.coloured([[(place, "place"), HANG, ("", "")]]) == place + "\n"


@pytest.mark.parametrize(("columns", "indent"), [(40, 14), (60, 23)])
def test_of_several_places_to_hang_the_last_with_room_counts(
    monkeypatch: pytest.MonkeyPatch, columns: int, indent: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    line: Line = [("a model's name", "title"), HANG, ("  639 MB ", ""), HANG, (WORDS, "")]
    shown = styled.coloured([line]).splitlines()
    assert max(map(cell_len, shown)) <= columns
    assert {len(text) - len(text.lstrip()) for text in shown[1:]} == {indent}


def test_a_pipe_gets_no_bars() -> None:
    line: Line = [("0.50", "number"), *styled.bar(0.5)]
    assert styled.plain([line]) == "0.50\n"
    assert styled.coloured([line]) == "0.50 ━━━━╌╌╌╌\n"


def test_bars_give_way_to_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    assert styled.coloured([[("fifteen columns", ""), *styled.bar(0.5)]]) == "fifteen columns\n"


@pytest.mark.parametrize(("share", "full"), [(0, 0), (0.49, 4), (1, 8), (1.5, 8), (-1, 0)])
def test_a_bar_is_as_long_as_its_share(share: float, full: int) -> None:
    assert styled.plain([[(text, "") for text, _ in styled.bar(share)]]).count("━") == full


def test_hits_are_linked_where_colours_are(screen: Qmd, vault: Path) -> None:
    screen("index", "--no-embed", vault)
    shown = screen("search", "fixed pool of workers", "-n", "1").stdout
    place = vault / "en/Go Concurrency Patterns.md"
    assert LINKS.search(shown)
    assert LINKS.findall(shown)[0] == place.as_uri()
    assert "\x1b[1;31mworkers\x1b[0m" in shown


@pytest.mark.parametrize(
    "variable", [("NO_COLOR", "1"), ("TERM", "dumb"), ("TERM", "linux")], ids=str
)
def test_hits_are_not_linked_without_colours(
    colours: pytest.MonkeyPatch, variable: tuple[str, str]
) -> None:
    colours.setenv(*variable)
    assert styled.coloured([[("x", "place file:///x"), ("y", "marked")]]).count("\x1b]") == 0


def test_links_open_the_users_editor(
    screen: Qmd, vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QMD_CONFIG", str(tmp_path / "config.toml"))
    (tmp_path / "config.toml").write_text('editor = "vscode://file{path}:{line}"')
    screen("index", "--no-embed", vault)
    shown = screen("search", "fixed pool of workers", "-n", "1").stdout
    assert LINKS.findall(shown)[0].endswith("/en/Go%20Concurrency%20Patterns.md:27")
    (tmp_path / "config.toml").write_text('editor = "none"')
    assert not LINKS.search(screen("search", "fixed pool of workers", "-n", "1").stdout)
    (tmp_path / "config.toml").write_text('editor = "vim"')
    refused = screen("search", "pool")
    assert refused.exit_code == 2
    assert "'editor' in" in refused.stderr


@pytest.mark.parametrize(
    ("command", "places"),
    [
        pytest.param("ls", ["a.md:1", "b.md:1"], id="notes"),
        pytest.param("links 1", ["b.md:1", "a.md:3", "a.md:5", "b.md:1", "b.md:5"], id="links"),
        pytest.param("related 1 --hops 1", ["b.md:1"], id="linked notes"),
        pytest.param("toc 2", ["b.md:1", "b.md:3"], id="headings"),
        pytest.param("get 1 2:3:1", ["a.md:1", "b.md:3"], id="notes under each other"),
        pytest.param("cite 2 Beta", ["b.md:3"], id="a citation"),
        pytest.param("cite --check claims", ["../work/claims:3"], id="claims"),
        pytest.param("collection list", ["file"], id="collections"),
        pytest.param("collection show notes", ["file"], id="a collection"),
        pytest.param("status", ["file"], id="folders in the state of the index"),
        pytest.param("search --path a.md", ["a.md:1"], id="notes by filters"),
    ],
)
def test_every_place_is_linked(
    screen: Qmd, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    command: str, places: list[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("QMD_CONFIG", str(tmp_path / "config.toml"))
    (tmp_path / "config.toml").write_text('editor = "edit://{path}:{line}"')
    (folder / "a.md").write_text("# A\n\n[[b]]\n\n[[b]]\n")
    (folder / "b.md").write_text("# B\n\n## Beta\n\nyes, [[a]]\n")
    screen("index", "--no-embed", folder)
    claims = plainly(screen("cite", "2", "Beta", "--claim", "yes").stdout)
    Path("claims").write_text("".join(re.findall(r"\|.*\n", claims)))
    wanted = [
        folder.as_uri() if place == "file" else f"edit://{(folder / place).resolve()}"
        for place in places
    ]
    shown = screen(*command.split())
    assert LINKS.findall(shown.stdout) == wanted, shown.stderr


def test_an_address_holds_no_sign_that_a_name_could_hold() -> None:
    assert address("/a b/\x1b]0;%\udcff.md", 3) == "file:///a%20b/%1B%5D0%3B%25%FF.md"


def test_code_is_shown_by_lines_that_fit(
    screen: Qmd, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    code = "func run(jobs <-chan Job, workers int) error {\n\tgo work(jobs) // 保存在陰涼處\n}"
    (folder / "a.md").write_text(f"# A\n\n```go\n{code}\n```\n")
    screen("index", "--no-embed", folder)
    answer = screen("search", "workers").stdout
    assert plainly(answer).splitlines()[-4:] == [
        "  func run(jobs <-chan Job, workers int)",
        "  error {",
        "      go work(jobs) // 保存在陰涼處",
        "  }",
    ]
    assert "\x1b[1;31mworkers\x1b[0m" in answer


def test_an_item_goes_on_below_its_first_word(
    screen: Qmd, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    (folder / "a.md").write_text(f"- item\n  - [ ] {WORDS}\n12. workers\n")
    screen("index", "--no-embed", folder)
    shown = plainly(screen("search", "item words").stdout).partition("#1 a\n")[2]
    first, *nested, last = shown.splitlines()
    assert (first, last) == ("- item", "12. workers")
    assert len(nested) > 1
    assert nested[0].startswith("  - [ ] 保")
    assert all(re.match(r" {4}\S", line) for line in nested[1:])


def test_the_toc_shows_what_section_takes(screen: Qmd, vault: Path) -> None:
    screen("index", "--no-embed", vault)
    with Reader.open(app.configured(None).index) as store:
        for note in store.notes_of(Scope()):
            toc = store.toc(note.pid)
            shown = [
                plainly(line) for line in styled.coloured(people.toc_lines(toc, note)).splitlines()
            ]
            for section, line in zip(toc, shown, strict=True):
                number = line.split()[0]
                assert number == f"{note.pid}:{section.line}"
                assert sections.section(store, number, [], 10**7).toc_path == section.path


def test_a_section_is_laid_out_on_a_terminal(screen: Qmd, folder: Path) -> None:
    note = "---\ntags: [a]\n---\n# A\n\nSome **bold** `code` [there](http://b.c).\n\n- one\n\n<i>x</i>\n"
    (folder / "a.md").write_text(note)
    screen("index", "--no-embed", folder)
    shown = plainly(screen("section", "1").stdout)
    assert shown == (
        "---\ntags: [a]\n---\n\n# A\n\nSome bold code there (http://b.c).\n\n • one\n\n<i>x</i>\n"
    )
    assert plainly(screen("get", "1").stdout) == shown
    assert screen("get", "1:6:1").stdout == "Some **bold** `code` [there](http://b.c).\n"


def test_a_pipe_gets_the_section_as_it_is(qmd: Qmd, folder: Path) -> None:
    (folder / "a.md").write_text("# A\n\nSome **bold**\n")
    qmd("index", "--no-embed", folder)
    assert qmd("section", "1").stdout == qmd("get", "1").stdout == "# A\n\nSome **bold**\n"


def test_pictures_and_lines_stay_where_they_are(colours: pytest.MonkeyPatch) -> None:
    assert plainly(read.laid_out("- one\n- two ![a *b*](c.png)\n\nd\ne\n")) == (
        " • one\n • two ![a *b*](c.png)\n\nd\ne\n"
    )


def test_a_table_stands_between_single_blank_lines(colours: pytest.MonkeyPatch) -> None:
    shown = plainly(read.laid_out("a\n\n| b | c |\n|---|---|\n| 1 | 2 |\n\nd\n"))
    assert shown.splitlines()[:3] == ["a", "", " b  c "]
    assert shown.splitlines()[-3:] == [" 1  2 ", "", "d"]


def test_a_note_too_long_to_lay_out_is_shown_as_it_is(colours: pytest.MonkeyPatch) -> None:
    text = "**a** " * 40_000
    assert read.laid_out(text) == text + "\n"


SHARES = (
    Share("words", 1, 12.5, 0.5),
    Share("dense", 3, 0.9, 0.25),
    Share("bm25", 1, 12.5, None),
    Share("near", 2, 4.0, None),
)


def hit(score: float, evidence: dict[str, float], *more: Share) -> Hit:
    match = Match(("A",), "a", "A", 1, 2, 1, "", "", score, evidence)
    source = Source("c/1/a", None, "", None, "", None, ())
    return Hit(1, "c", "a.md", "/a.md", "A", score, (), (match,), source, shares=SHARES + more)


def answer(*skipped: str, **fields: Any) -> Answer:
    stages = (Stage("probe", 0.002), Stage("expand", 0.001, "by a model"), Stage("cite", 0.001))
    return Answer("why", "query", "", skipped, (), stages=stages, **fields)


@pytest.mark.parametrize(
    ("mode", "told"),
    [("query", "nothing found: try fewer or other words"), ("list", "no note meets the filters")],
)
def test_an_empty_answer_says_what_to_change(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], mode: str, told: str
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    printing._remark(Answer("why", mode, "", (), ()))
    assert capsys.readouterr().err == f"qmd: {told}\n"
    printing._remark(Answer("why", mode, "", (), (), cut=1))
    assert capsys.readouterr().err == "qmd: 1 note scored below --min-score: left out\n"
    printing._remark(Answer("why", mode, "", (), (), gone=("notes/a.md",)))
    assert capsys.readouterr().err.count("qmd: ") == 1


def test_the_parts_of_a_list_stand_below_it() -> None:
    lines = styled.plain(explained.shares(hit(0.6, {}), answer())).splitlines()
    assert [line[2:10].rstrip() for line in lines[1:]] == [
        "words",
        "  bm25",
        "  near",
        "dense",
        "fused",
    ]


@pytest.mark.parametrize(
    ("evidence", "more", "ending"),
    [
        pytest.param({}, (), "0.750  sure of an answer 0.80 → 0.60", id="certainty"),
        pytest.param({"rerank": 0.9}, (), "0.750  the reranker says 0.90 → 0.60", id="reranked"),
        pytest.param({}, (Share("recent", 1, 1.0, None),), "0.750  its age → 0.60", id="by age"),
    ],
)
def test_the_sum_leads_to_the_score(
    evidence: dict[str, float], more: tuple[Share, ...], ending: str
) -> None:
    shown = styled.plain(explained.shares(hit(0.6, evidence, *more), answer()))
    assert shown.endswith(ending + "\n")


def test_what_was_left_out_stands_where_it_would_have_been() -> None:
    found = answer(
        "rerank: none is here",
        "expand: broke down",
        respelled={"wy": ("why",)},
        variants=(Variant("lex", "because"),),
        dropped=((Variant("vec", "that"), "too far"),),
        widened_by="a model",
    )
    assert styled.plain(explained.pipeline(found)).splitlines() == [
        "why",
        "├ probe         2 ms",
        "│   'wy' is not in the index, looked for why",
        "├ expand        1 ms  by a model",
        "│   skipped  broke down",
        "│   from     a model",
        "│   lex      because",
        "│   vec      that  dropped: too far",
        "├ rerank",
        "│   skipped  none is here",
        "└ cite          1 ms",
    ]


def test_an_answer_without_stages_is_explained_too() -> None:
    found = Answer("why", "query", "", (), ())
    assert styled.plain(explained.pipeline(found)) == "why\n"


def test_measures_that_find_no_room_stand_in_another_block() -> None:
    rows = [Row("蘋果", "", 3, measure, 0.5, 0.4, 0.6) for measure in ("RR", "R@5", "nDCG@10")]
    wide = styled.plain(tables.measures(rows, signed=False))
    narrow = styled.plain(tables.measures(rows, signed=False, columns=40))
    assert wide.count("\n") == 2
    assert narrow.count("\n\n") == 2
    assert max(map(cell_len, narrow.splitlines())) <= 40


def test_columns_of_wide_letters_are_aligned() -> None:
    found = [Collection(1, "蘋果", "/a", (), (), 3), Collection(2, "b", "/b", (), (), 12)]
    lines = styled.plain(people.collection_lines(found)).splitlines()
    assert {cell_len(line[: line.index("/")]) for line in lines} == {16}


@pytest.mark.parametrize(
    ("line", "status", "told"),
    [
        pytest.param("toc 1", 0, "the note has no headings: 'qmd get 1' prints it", id="toc"),
        pytest.param("links 1", 1, "no links lead from or to this note", id="links"),
        pytest.param("related 1 --hops 2", 1, "no notes so few links away: see 'qmd links'", id="hops"),
        pytest.param("context list", 1, "no contexts yet: see 'qmd context add --help'", id="contexts"),
        pytest.param("models verify", 1, "no model was fetched yet: 'qmd models list' says which there are", id="models"),
        pytest.param("ls b", 1, "no notes here yet: run 'qmd index DIR'", id="ls"),
    ],
)  # fmt: skip
def test_where_nothing_is_printed_a_person_is_told_why(
    qmd: Qmd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, status: int, told: str
) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / "a/plain.md").write_text("No headings.\n")
        qmd("index", "--no-embed", tmp_path / name)
    result = qmd(*line.split())
    assert (result.exit_code, result.stdout, result.stderr) == (status, "", "")
    streams = SimpleNamespace(stderr=SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(hinting, "sys", streams)
    result = qmd(*line.split())
    assert (result.exit_code, result.stdout, result.stderr) == (status, "", f"qmd: {told}\n")
