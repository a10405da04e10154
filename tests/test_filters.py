import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlite_utils import Database

from qmd_py import filters, spans
from qmd_py.store import schema
from qmd_py.store.writer import Writer

if TYPE_CHECKING:
    from typer.testing import Result

Qmd = Callable[..., "Result"]

NOTES = {
    "alpha.md": "---\ntags: [project/alpha, дом]\nstatus: open\npriority: 3\nrating: 4.5\n"
    "date: 2026-03-09\ndone: false\n---\nPlan of the harbour.\n",
    "beta.md": "---\ntags: Project\nStatus: Closed\npriority: 10\nrating: 12\n"
    "created: 2026-03-20T23:30:00+03:00\nauthor: {name: Ann Lee, langs: [go, ru]}\n---\n"
    "Plan of the bridge.\n",
    "sub/gamma.md": "---\nstatus: [open, urgent]\npriority: high\nversion: 1.10\nvalue: a=b=c\n"
    "date: someday\nupdated: 2025-12\nempty:\n---\nPlan of the tower. #Проект/Ёлка #todo\n",
    "sub/delta.md": "Plan of the garden. `#code` [x](http://x.y/#frag)\n\n# todo\n",
    "odd.md": "---\n? [a, b]\n: broken\n---\nPlan of the odd one. #todo\n",
}


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Be in another time zone: `zone("Asia/Tokyo")`."""

    def go(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield go
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def notes(qmd: Qmd, folder: Path, zone: Callable[[str], None]) -> Path:
    zone("UTC0")
    for name, text in NOTES.items():
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        os.utime(file, (0, 1_767_225_600))  # the first moment of 2026
    qmd("index", "--no-embed", folder)
    return folder


def found(qmd: Qmd, *args: str) -> list[str]:
    """The notes found, in alphabetical order of their names."""
    result = qmd(*args, "--files")
    assert result.exit_code == (0 if result.stdout else 1), result.stderr
    return sorted(Path(line).stem for line in result.stdout.splitlines())


ALL = ["alpha", "beta", "delta", "gamma", "odd"]


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        pytest.param(["--tag", "project"], ["alpha", "beta"], id="a tag and what is below it"),
        pytest.param(["--tag", "#PROJECT/Alpha"], ["alpha"], id="a tag below another"),
        pytest.param(["--tag", "проект"], ["gamma"], id="an inline tag in Cyrillic"),
        pytest.param(["--tag", "Проект/елка/"], ["gamma"], id="ё and a slash at the end"),
        pytest.param(["--tag", "todo"], ["gamma", "odd"], id="tags in the text, headings not"),
        pytest.param(["--tag", "todo", "--tag", "проект"], ["gamma"], id="both tags"),
        pytest.param(["--tag", "todo", "--tag", "дом"], [], id="tags no note has together"),
        pytest.param(["--where", "status=OPEN"], ["alpha", "gamma"], id="an item of a list too"),
        pytest.param(["--where", "STATUS = closed"], ["beta"], id="keys in any case, and spaces"),
        pytest.param(["--where", "status=open", "--where", "priority=3"], ["alpha"], id="two"),
        pytest.param(["--where", "status=ope"], [], id="no part of a value"),
        pytest.param(["--where", "priority>3"], ["beta"], id="a number above"),
        pytest.param(["--where", "priority>=3"], ["alpha", "beta"], id="or the same"),
        pytest.param(["--where", "rating<5"], ["alpha"], id="fractions, not in order of letters"),
        pytest.param(["--where", "rating<=12.0"], ["alpha", "beta"], id="two kinds of numbers"),
        pytest.param(["--where", "priority=3.0"], ["alpha"], id="an equal number"),
        pytest.param(["--where", "version=1.1"], [], id="1.10 is not 1.1"),
        pytest.param(["--where", "done=false"], ["alpha"], id="a truth value"),
        pytest.param(["--where", "done>0"], [], id="which is no number"),
        pytest.param(["--where", "value=a=b=c"], ["gamma"], id="equals signs in a value"),
        pytest.param(["--where", 'author.name="ann lee"'], ["beta"], id="a value inside another"),
        pytest.param(["--where", "author.langs==ru"], ["beta"], id="a list inside another"),
        pytest.param(["--where", "author=ann"], [], id="a mapping is no value"),
        pytest.param(["--where", "empty=null"], [], id="no value at all"),
        pytest.param(["--where", "status=open", "--where", "author.name=ann lee"], [], id="a property that only another one has"),
        pytest.param(["--path", "sub", "--where", "rating>1"], [], id="a property of notes elsewhere"),
        pytest.param(["--where", "date=2026-03"], ["alpha"], id="a day of a month"),
        pytest.param(["--where", "date>2026-03-08"], ["alpha"], id="a later day"),
        pytest.param(["--where", "date>2026-03-09"], [], id="not the day itself"),
        pytest.param(["--where", "date>2026"], [], id="not the year itself"),
        pytest.param(["--where", "created<2026-03-20T20:31Z"], ["beta"], id="zones"),
        pytest.param(["--since", "2026-03"], ["alpha", "beta"], id="since a month"),
        pytest.param(["--since", "2026-03-10"], ["beta"], id="since a day"),
        pytest.param(["--until", "2025"], ["gamma"], id="another property where one is no date"),
        pytest.param(["--until", "2026-01-01"], ["delta", "gamma", "odd"], id="the file's time"),
        pytest.param(["--since", "2026-01-01", "--until", "2026-03-09"], ["alpha", "delta", "odd"], id="between"),
        pytest.param(["--since", "2026-04"], [], id="nothing so late"),
        pytest.param(["--since", "2026-04", "--until", "2026-03"], [], id="an impossible time"),
        pytest.param(["--path", "sub", "--tag", "todo"], ["gamma"], id="a folder too"),
        pytest.param(["--path", "sub/*"], ["delta", "gamma"], id="a glob"),
        pytest.param(["--path", "notes/sub"], ["delta", "gamma"], id="behind the collection's name"),
        pytest.param(["--path", "notes/sub/*"], ["delta", "gamma"], id="a glob there"),
        pytest.param(["--path", "notes/gamma.md"], [], id="a path in full"),
        pytest.param(["--path", "nowhere"], [], id="no such path"),
        pytest.param(["-c", "notes"], ALL, id="a collection"),
    ],
)  # fmt: skip
def test_filters_act_with_words_and_without(qmd: Qmd, notes: Path, filters, names) -> None:
    for command in (["search"], ["query", "--without", "dense"]):
        assert found(qmd, *command, *filters) == names
        assert found(qmd, *command, "plan", *filters) == names


@pytest.mark.parametrize(
    ("filters", "told"),
    [
        pytest.param(["--tag", ""], "--tag '' names no tag", id="an empty tag"),
        pytest.param(["--tag", "#"], "--tag '#' names no tag", id="a tag without a name"),
        pytest.param(["--tag", "todoo"], "no note has the tag 'todoo' (did you mean 'todo'?)", id="an unknown tag"),
        pytest.param(["--tag", "tod"], "no note has the tag 'tod'", id="the beginning of a tag"),
        pytest.param(["--tag", "%"], "no note has the tag '%'", id="a wildcard is none"),
        pytest.param(["--tag", "code"], "no note has the tag 'code'", id="a tag in code"),
        pytest.param(["--tag", "frag"], "no note has the tag 'frag'", id="a fragment"),
        pytest.param(["--where", ""], "--where '': write KEY=VALUE", id="an empty condition"),
        pytest.param(["--where", "status"], "write KEY=VALUE", id="no operator"),
        pytest.param(["--where", "=open"], "write KEY=VALUE", id="no key"),
        pytest.param(["--where", "status="], "has no value", id="no value"),
        pytest.param(["--where", 'status=""'], "has no value", id="an empty value"),
        pytest.param(["--where", "statsu=open"], "no note has the property 'statsu' (did you mean 'status'?)", id="an unknown key"),
        pytest.param(["--where", "status=shut", "--where", "statsu=open"], "(did you mean 'status'?)", id="an unknown key where nothing is left"),
        pytest.param(["--where", "status!=open"], "no note has the property 'status!'", id="no such operator"),
        pytest.param(["--where", "author.age=1"], "no note has the property 'author.age'", id="an unknown key inside"),
        pytest.param(["--where", "priority>high"], "> needs a number or a date", id="more than a word"),
        pytest.param(["--where", "priority>nan"], "> needs a number", id="more than nan"),
        pytest.param(["--where", "priority<1e999"], "< needs a number", id="less than infinity"),
        pytest.param(["--since", ""], "--since '' is no date", id="an empty date"),
        pytest.param(["--since", "yesterdayish"], "is no date: write one like 2026", id="a word"),
        pytest.param(["--until", "2026-02-30"], "is no date", id="a day there is not"),
        pytest.param(["--until", "2026-W01-1"], "is no date", id="a week"),
        pytest.param(["--since", "09.03.2026"], "is no date", id="another order"),
        pytest.param(["-c", "note"], "no collection 'note' (did you mean 'notes'?)", id="a collection"),
        pytest.param(["-c", ""], "no collection ''", id="an empty collection"),
    ],
)  # fmt: skip
def test_wrong_filters_are_told_and_find_nothing(qmd: Qmd, notes: Path, filters, told) -> None:
    for command in (["search"], ["search", "plan"], ["query"], ["query", "plan"]):
        result = qmd(*command, *filters)
        assert (result.exit_code, result.stdout) == (2, "")
        assert told in result.stderr
        assert result.stderr.count("\n") == 1


def test_an_empty_path_finds_nothing(qmd: Qmd, notes: Path) -> None:
    for path in ("", " ", "/"):
        assert qmd("search", "plan", "--path", path).stdout == ""
        assert qmd("search", "--path", path).exit_code == 2


@pytest.mark.parametrize(
    ("path", "near"),
    [
        pytest.param("no/such/folder", "", id="nothing near"),
        pytest.param("subs", "sub", id="a folder"),
        pytest.param("note/sub", "notes/sub", id="a collection"),
        pytest.param("notes/zzz", "", id="nothing near in a collection"),
        pytest.param("notes/sub/gama.md", "notes/sub/gamma.md", id="a note in a collection"),
        pytest.param("sub/gama.md", "sub/gamma.md", id="a note"),
        pytest.param("/home/notes/sub", "notes/sub", id="a folder on disk"),
        pytest.param("subs/*", "sub", id="a folder before a wildcard"),
        pytest.param("*.txt", "", id="a wildcard alone"),
    ],
)
def test_a_path_without_any_note_is_told(qmd: Qmd, notes: Path, path: str, near: str) -> None:
    meant = f" (did you mean '{near}'?)" if near else ""
    told = f"qmd: no note at the path '{path}'{meant}: see 'qmd ls' for the paths\n"
    for command in (["search"], ["search", "plan"], ["query", "plan"], ["query", "--json", "plan"]):
        result = qmd(*command, "--path", path)
        assert (result.exit_code, result.stderr) == (1, told)
    result = qmd("query", "--batch", "--path", path, stdin="plan\nharbour\n")
    assert (result.exit_code, result.stderr) == (1, told)


def test_a_path_of_the_disk_is_told_as_the_index_has_it(
    qmd: Qmd, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(notes.parent)
    shown = {"sub": "notes/sub", "sub/gamma.md": "notes/sub/gamma.md", "": "notes", "sub/x": ""}
    for below, meant in shown.items():
        for typed in (f"{notes}/{below}", f"../{notes.parent.name}/notes/{below}"):
            told = qmd("search", "plan", "--path", typed).stderr
            assert told.count("did you mean") == bool(meant), typed
            assert f"(did you mean '{meant}'?)" in told or not meant


def test_one_path_of_several_without_any_note_is_told(qmd: Qmd, notes: Path) -> None:
    result = qmd("search", "plan", "--path", "sub", "--path", "gone/**", "-l")
    assert result.exit_code == 0
    assert result.stdout.count("\n") == 2
    assert result.stderr == "qmd: no note at the path 'gone/**': see 'qmd ls' for the paths\n"


@pytest.mark.parametrize("path", ["sub", "./sub/", "notes/sub", "**/gamma.md", "notes/*"])
def test_a_path_with_notes_that_do_not_answer_is_not(qmd: Qmd, notes: Path, path: str) -> None:
    result = qmd("search", "zeppelin", "--path", path)
    assert (result.exit_code, result.stderr) == (1, "")


def test_a_policy_tells_of_no_path(qmd: Qmd, notes: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('version = "1"\nowner = "me"\nlabels = []\nunlabelled = "open"\n')
    result = qmd("search", "plan", "--path", "nowhere", "--policy", policy)
    assert (result.exit_code, result.stdout) == (1, "stop: nothing was found\n")
    assert "nowhere" not in result.stderr


def test_filters_act_before_the_cut(qmd: Qmd, folder: Path) -> None:
    for n in range(1100):
        (folder / f"{n}.md").write_text("apples apples apples\n")
    (folder / "last.md").write_text("A long text that says apples only once. #wanted\n")
    qmd("index", "--no-embed", folder)
    assert found(qmd, "search", "apples", "--tag", "wanted", "-n", "1") == ["last"]


def test_filters_act_on_meaning_too(qmd: Qmd, folder: Path) -> None:
    (folder / "bread.md").write_text("Baking bread at home, with flour and water.")
    (folder / "cake.md").write_text("A cake of flour and eggs. #сладкое/торт")
    qmd("index", folder)
    for command in ("vsearch", "query"):
        assert found(qmd, command, "how to bake bread", "--tag", "сладкое") == ["cake"]
    assert found(qmd, "vsearch", "--tag", "сладкое") == ["cake"]


def test_a_list_is_whole_and_by_path_and_the_newest_first_with_dates(qmd: Qmd, notes: Path) -> None:
    for n in range(20):
        (notes / f"z{n:02}.md").write_text("---\ndate: 2020-01-01\n---\n#todo\n")
    qmd("index", "--no-embed")
    listed = qmd("search", "-c", "notes").stdout.splitlines()
    assert len(listed) == 25
    assert [line.split("#")[1].split(" ", 1)[1] for line in listed[:2]] == ["alpha", "beta"]
    assert len(qmd("search", "-c", "notes", "-n", "3").stdout.splitlines()) == 3
    answer = json.loads(qmd("query", "--until", "2027", "--json").stdout)
    assert answer["mode"] == "list"
    assert [hit["title"] for hit in answer["results"][:2]] == ["beta", "alpha"]
    assert answer["results"][0]["matches"][0]["snippet"] == "Plan of the bridge."


def test_without_words_or_filters_there_is_no_question(qmd: Qmd, notes: Path) -> None:
    for args in (("search",), ("query", "--recent", "3"), ("search", "-n", "3")):
        assert "no question" in qmd(*args).stderr


def test_newer_notes_come_first_where_that_is_wanted(qmd: Qmd, notes: Path) -> None:
    (notes / "new.md").write_text("Plan of the harbour, and much more beside it to dilute.\n")
    qmd("index", "--no-embed")
    for command in ("search", "query"):
        plain = json.loads(qmd(command, "plan harbour", "--json", "--explain").stdout)["results"]
        assert plain[0]["title"] == "alpha"
        assert "recent" not in json.dumps(plain)
        args = (command, "plan harbour", "--recent", "7", "--json", "--explain")
        boosted = json.loads(qmd(*args).stdout)["results"]
        assert boosted[0]["title"] == "new"
        shares = {share["run"]: share for share in boosted[0]["explain"]}
        assert shares["recent"]["rank"] == 1
        assert shares["recent"]["score"] == pytest.approx(1.0, abs=0.001)
        assert all(0 <= hit["score"] <= 1 for hit in boosted)
    assert "  recent  " in qmd("search", "plan", "--recent", "7", "--explain").stdout


@pytest.mark.parametrize("days", ["0", "-1", "nan", "inf"])
def test_recent_takes_days_above_none(qmd: Qmd, notes: Path, days: str) -> None:
    result = qmd("search", "plan", "--recent", days)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "it takes a number of days above 0" in result.stderr


@pytest.mark.parametrize(
    ("text", "start", "seconds"),
    [
        ("2026", 1_767_225_600, 365 * 86_400),
        ("2024-02", 1_706_745_600, 29 * 86_400),
        ("2026-03-09", 1_773_014_400, 86_400),
        ("20260309", 1_773_014_400, 86_400),
        ("2026-03-09T10:30", 1_773_052_200, 60),
        ("2026-03-09 10:30:15", 1_773_052_215, 1),
        ("2026-03-09 10:30:00 +03:00", 1_773_041_400, 1),
        ("2026-03-09T10:30:00Z", 1_773_052_200, 1),
        ("  2026-03-09 10:30:00.123456   +03:00 ", 1_773_041_400.123456, 1),
        ("9999-12-31", 253_402_214_400, 86_400),
        ("9999", 253_370_764_800, 365 * 86_400),
        ("0001-01-01", -62_135_596_800, 86_400),
    ],
)
def test_dates_are_spans(
    zone: Callable[[str], None], text: str, start: float, seconds: int
) -> None:
    zone("UTC0")
    span = spans.span(text)
    assert span
    assert (span.start, span.stop - span.start) == (start, seconds)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "26",
        "0000",
        "2026-00",
        "2026-00-00",
        "2026-01-00",
        "20260000",
        "2026-13",
        "2026-3-9",
        "10:30",
        "2026-03-09x",
        "٢٠٢٦",
        "9999-12-31T",
    ],
)
def test_what_is_no_date_is_none(text: str) -> None:
    assert spans.span(text) is None


@pytest.mark.parametrize("name", ["JST-9", "PST8", "X-14", "X12"])
def test_the_first_and_the_last_day_are_days_everywhere(
    zone: Callable[[str], None], name: str
) -> None:
    zone(name)
    assert spans.span("0001-01-01")
    assert spans.span("9999-12-31")


@pytest.mark.parametrize("value", ["x{}y", "{}+", "2026{}y", "2026-03-09T10:30:00{}y", "{}"])
@pytest.mark.parametrize("of", [" ", "1", "\u00a0"])
def test_no_value_is_too_long_to_be_seen_as_no_date(value: str, of: str) -> None:
    text = value.format(of * 300_000)  # minutes, when each of them is tried as a beginning
    assert spans.span(text) is None
    assert not filters.condition("date>2020").holds(text)


def test_a_day_without_a_zone_is_a_day_where_we_are(zone: Callable[[str], None]) -> None:
    zone("JST-9")
    span = spans.span("2026-03-09")
    assert span
    assert span.start == 1_773_014_400 - 9 * 3600


def test_notes_read_by_an_earlier_version_are_told_and_read_again(qmd: Qmd, notes: Path) -> None:
    with Writer.open(Path(os.environ["QMD_INDEX"])) as store:
        store.execute("UPDATE notes SET made_by = 'terms 1 chunks 1 passages 1 en,ru 1400'")
        store.execute("DELETE FROM tags WHERE key != 'todo'")
    result = qmd("search", "--tag", "todo")
    assert result.exit_code == 0
    assert result.stderr == (
        "qmd: 5 notes were indexed by an earlier qmd, without tags and links: run 'qmd index'\n"
    )
    assert qmd("index", "--no-embed").stdout == "notes: 5 changed, 1 problem\n"
    result = qmd("search", "--tag", "project")
    assert (result.exit_code, result.stderr) == (0, "")


def test_an_index_of_the_first_version_is_told_migrated_and_read_again(
    qmd: Qmd, folder: Path
) -> None:
    (folder / "a.md").write_text("apples #fruit [[b]]")
    (folder / "b.md").write_text("bread")
    file = Path(os.environ["QMD_INDEX"])
    old = sqlite3.connect(file, isolation_level=None)
    schema.migrations.apply(Database(old), stop_before="m002_references_and_contexts")
    old.execute("PRAGMA user_version = 1")
    old.execute("INSERT INTO collections VALUES (1, 'notes', ?, '[]', '[]')", [str(folder)])
    old.execute("INSERT INTO pids VALUES (7, 1, 'b.md')")
    old.execute(
        """INSERT INTO notes VALUES (7, 1, 'b.md', 'b', '[]', '[]', '', '{}', 1, 5, '', '2026', 'x',
        NULL)"""
    )
    old.close()
    for args in (("search", "--tag", "fruit"), ("links", "7"), ("search", "bread")):
        result = qmd(*args)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.endswith("earlier version: run 'qmd index' to bring it up to date\n")
        assert result.stderr.count("\n") == 1
    assert qmd("index", "--no-embed").stdout == "notes: 1 new, 1 changed\n"
    assert found(qmd, "search", "--tag", "fruit") == ["a"]
    assert qmd("links", "7").stdout == "←  #8 notes/a.md  a  line 1\n"
