import csv
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import qmd_py
from qmd_py.render import styled
from qmd_py.store.writer import Writer

if TYPE_CHECKING:
    from typer.testing import Result

Qmd = Callable[..., "Result"]

APPLES = """\
---
title: On, "Apples"
---
Opening words.

# Kinds

Many, "quoted", apples.

# Storing

Keep the apples cool.
"""


@pytest.fixture
def notes(qmd: Qmd, folder: Path) -> Path:
    """An indexed folder with three notes; the collection is called `notes`."""
    (folder / "apples.md").write_text(APPLES)
    (folder / "bread.md").write_text("Bread and -x and --force.\n")
    (folder / "plain text.md").write_text("No headings, one apple.\n")
    assert qmd("index", "--no-embed", folder).exit_code == 0
    return folder


def said(result: "Result") -> str:
    """The one line on stderr, with nothing on stdout."""
    assert result.stdout == ""
    assert result.stderr.startswith("qmd: ")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("qmd: ").removesuffix("\n")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        pytest.param("bogus", "no command 'bogus': see 'qmd --help'", id="an unknown command"),
        pytest.param("serch x", "no command 'serch' (did you mean 'search'?)", id="a near miss"),
        pytest.param(
            "collection ad", "(did you mean 'add'?): see 'qmd collection", id="one deeper"
        ),
        pytest.param("find x", "no command 'find' (did you mean 'search'?)", id="another's word"),
        pytest.param(
            "list", "no command 'list' (did you mean 'ls'?)", id="before what looks like it"
        ),
        pytest.param("models rm x", "(did you mean 'remove'?): see 'qmd models", id="one deeper"),
        pytest.param(
            "collection find x", "no command 'find': see 'qmd coll", id="no such word here"
        ),
        pytest.param("--bogus", "no such option: --bogus", id="an unknown option"),
        pytest.param(
            "--index work query x",
            "no such option: --index (options stand after the command): see",
            id="an option before its command",
        ),
        pytest.param("search --bogus x", "no such option: --bogus", id="an option of no command"),
        pytest.param(
            "search x --jsn",
            "no such option: --jsn (did you mean '--json'?)",
            id="an option misspelt",
        ),
        pytest.param("search", "no question: type some words, or -", id="no question"),
        pytest.param("search ' '", "no question", id="a blank question"),
        pytest.param("search -apples", "only words to leave out (-apples)", id="only exclusions"),
        pytest.param("search '!?'", "nothing to look for", id="only punctuation"),
        pytest.param("search x -n 0", "'--limit' / '-n'", id="a limit of none"),
        pytest.param(
            "search x -n many",
            "'--limit' / '-n': 'many' is not a whole number: see",
            id="a limit that is no number",
        ),
        pytest.param("search x --min-score a", "'a' is not a number: see", id="a score in words"),
        pytest.param("related 1 --hops a", "'a' is not a whole number: see", id="hops in words"),
        pytest.param("mcp --port 80", "--port is for --http: add it", id="a port for a pipe"),
        pytest.param("search x --snippet 3", "'--snippet'", id="a snippet too short to show"),
        pytest.param(
            "search x -c",
            "option '-c' requires an argument: see 'qmd search --help'",
            id="a value left out",
        ),
        pytest.param("query -n", "requires an argument: see 'qmd query --help'", id="no words"),
        pytest.param(
            "collection add --glob",
            "requires an argument: see 'qmd collection add --help'",
            id="a value left out one deeper",
        ),
        pytest.param(
            "status --json=1",
            "does not take a value: see 'qmd status --help'",
            id="a value too many",
        ),
        pytest.param("search x -c bread", "no collection 'bread'", id="an unknown collection"),
        pytest.param(
            "query x -c note",
            "no collection 'note' (did you mean 'notes'?)",
            id="a collection misspelt",
        ),
        pytest.param("search x --json --csv", "--json and --csv together", id="two formats"),
        pytest.param("search x --md -0", "--md and -0 together: choose", id="a format and -0"),
        pytest.param("query x -0 --format x", "-0 and --format together", id="one's own and -0"),
        pytest.param("search x -l -0 --csv", "--csv and --files together", id="-l and -0"),
        pytest.param("section", "missing argument 'PID|PATH'", id="no note"),
        pytest.param("section 99", "no note with pid 99", id="an unknown pid"),
        pytest.param("section 1 Kindz", 'nearest are ["Kinds"]', id="an unknown heading"),
        pytest.param("section 3 Kinds", "the note has no headings", id="a note without headings"),
        pytest.param("section 1 --json --html", "--html and --json", id="two forms of a section"),
        pytest.param("toc nope.md", "no note at 'nope.md'", id="an unknown path"),
        pytest.param("get apples.md:99", "line 99 is past the end: the note has 12", id="no line"),
        pytest.param("get apples.md:0", "lines and counts begin with 1", id="line nought"),
        pytest.param("get apples.md:1:0", "lines and counts begin with 1", id="no lines"),
        pytest.param("ls nope", "no collection 'nope'", id="a list of no collection"),
        pytest.param("index /nope", "/nope does not exist: name a folder", id="no folder"),
        pytest.param("index -c nope", "no collection 'nope'", id="index of no collection"),
        pytest.param("index . -c notes", "together: choose one", id="a folder and a collection"),
        pytest.param("collection add", "missing argument 'DIR'", id="add without a folder"),
        pytest.param("collection add /nope", "/nope does not exist", id="add of no folder"),
        pytest.param("collection add {file}", "is not a folder", id="add of a file"),
        pytest.param("collection add {folder}", "already, as 'notes'", id="add of a known folder"),
        pytest.param("collection add . --name notes", "already: choose another", id="a name taken"),
        pytest.param("collection add . --name a/b", "cannot be a collection's", id="an odd name"),
        pytest.param("collection add . --ignore !", "'!' is no pattern", id="an odd pattern"),
        pytest.param("collection add . --glob [z-a]", "is no pattern", id="an odd glob"),
        pytest.param("collection show nope", "no collection 'nope'", id="show of none"),
        pytest.param("collection remove nope", "no collection 'nope'", id="remove of none"),
        pytest.param("collection rename notes a/b", "cannot be a collection's", id="an odd rename"),
        pytest.param("get caf\udce9.md", "is not valid UTF-8", id="bytes that are no text"),
        pytest.param("search x --path caf\udce9", "is not valid UTF-8", id="such bytes in a path"),
    ],
)
def test_wrong_input_is_told_in_one_line(qmd: Qmd, notes: Path, command: str, message: str) -> None:
    import shlex

    result = qmd(*shlex.split(command.format(folder=notes, file=notes / "apples.md")))
    assert message in said(result)
    assert result.exit_code == 2


@pytest.mark.parametrize(
    "command",
    ["search x", "query x", "section 1", "toc 1", "get 1", "ls", "status", "collection list"],
)
def test_no_index_is_told_and_none_is_made(qmd: Qmd, isolated: Path, command: str) -> None:
    result = qmd(*command.split())
    assert said(result) == f"no index at {isolated}/index.sqlite: run 'qmd index DIR' first"
    assert result.exit_code == 2
    assert list(isolated.iterdir()) == []


@pytest.mark.parametrize(
    "command", ["index", "index /nope", "index -c notes", "collection add /nope", "collection add"]
)
def test_a_wrong_start_leaves_no_trace(qmd: Qmd, isolated: Path, command: str) -> None:
    assert qmd(*command.split()).exit_code == 2
    assert list(isolated.iterdir()) == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        pytest.param("languages = 'en'", "'languages' in", id="a value of another kind"),
        pytest.param("chunk_chars = 5", "a whole number from 200 up", id="a number too small"),
        pytest.param("colour = true", "unknown setting 'colour'", id="an unknown key"),
        pytest.param("= 3", "cannot read the settings", id="no TOML"),
        pytest.param(f"a = {'[' * 9000}{']' * 9000}", "cannot read the settings", id="too deep"),
        pytest.param(None, "No such file or directory", id="no file"),
    ],
)
def test_wrong_settings_are_told(
    qmd: Qmd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str | None, message: str
) -> None:
    file = tmp_path / "config.toml"
    monkeypatch.setenv("QMD_CONFIG", str(file))
    if settings:
        file.write_text(settings)
    result = qmd("status")
    assert message in said(result)
    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(
            b"---\na: b: c\n---\npears",
            "front matter is not YAML, so only the text is searched: ",
            id="broken YAML",
        ),
        pytest.param("pears, груши".encode("cp1251"), "not valid UTF-8", id="another encoding"),
    ],
)
def test_a_note_with_a_fault_is_told_and_found(
    qmd: Qmd, notes: Path, content: bytes, problem: str
) -> None:
    (notes / "x.md").write_bytes(content)
    result = qmd("index", "--no-embed")
    assert result.exit_code == 2
    assert result.stdout == "notes: 1 new, 3 unchanged, 1 problem\n"
    assert result.stderr.startswith(f"qmd: {notes}/x.md: {problem}")
    assert result.stderr.count("\n") == 1
    assert qmd("search", "pears").exit_code == 0


def test_a_binary_file_is_told_and_the_rest_is_indexed(qmd: Qmd, notes: Path) -> None:
    (notes / "x.md").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    (notes / "y.md").write_text("pears")
    result = qmd("index", "--no-embed")
    assert result.exit_code == 2
    assert result.stdout == "notes: 1 new, 3 unchanged, 1 problem\n"
    assert result.stderr == f"qmd: {notes}/x.md is a binary file, not a note\n"


def test_a_file_that_cannot_be_read_any_more_is_told(qmd: Qmd, notes: Path) -> None:
    (notes / "apples.md").unlink()
    os.mkfifo(notes / "apples.md")
    result = qmd("section", 1, "Kinds")
    assert said(result) == f"{notes}/apples.md is not a regular file"
    assert result.exit_code == 2


def test_a_lost_folder_is_told_and_loses_nothing(qmd: Qmd, notes: Path) -> None:
    shutil.rmtree(notes)
    result = qmd("index", "--no-embed")
    assert result.exit_code == 2
    assert result.stdout == "notes: nothing changed, 1 problem\n"
    assert result.stderr == (
        f"qmd: {notes} is gone; its 3 notes stay in the index: "
        "bring it back, or drop them with --prune\n"
    )
    assert len(qmd("ls").stdout.splitlines()) == 3
    assert qmd("index", "--no-embed", "--prune").stdout == "notes: 3 removed\n"
    assert qmd("ls").exit_code == 1


def test_a_stale_hit_is_shown_and_told(qmd: Qmd, notes: Path) -> None:
    told = "the file has changed since it was indexed"
    (notes / "bread.md").write_text("edited")
    result = qmd("search", "bread")
    assert result.exit_code == 0
    assert told in result.stdout.splitlines()[0]
    assert result.stderr == f"qmd: notes/bread.md: {told}: run 'qmd index'\n"
    assert json.loads(qmd("search", "bread", "--json").stdout)["results"][0]["stale"] == told


def test_a_pointer_to_a_renamed_heading_names_the_nearest(qmd: Qmd, notes: Path) -> None:
    (notes / "apples.md").write_text(APPLES.replace("# Storing", "# Storage"))
    result = qmd("section", 1, "Storing")
    assert said(result) == (
        'no heading ["Storing"] in the note now: the nearest are ["Storage"] (1:10)'
    )
    assert result.exit_code == 2


def test_a_path_in_two_collections_is_told(qmd: Qmd, notes: Path, tmp_path: Path) -> None:
    shutil.copytree(notes, tmp_path / "copy")
    qmd("index", "--no-embed", tmp_path / "copy")
    result = qmd("get", "bread.md")
    assert said(result) == (
        "'bread.md' could be copy/bread.md (pid 5), notes/bread.md (pid 2): name one of them"
    )
    assert result.exit_code == 2
    assert qmd("get", "copy/bread.md").exit_code == 0


def test_a_damaged_index_is_told(qmd: Qmd, isolated: Path) -> None:
    (isolated / "index.sqlite").write_text("no database " * 100)
    assert "file is not a database" in said(qmd("search", "x"))
    assert qmd("search", "x").exit_code == 2


def test_a_bug_ends_with_status_two(qmd: Qmd, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qmd_py.store.overview.status", lambda _: 1 / 0)
    result = qmd("status")
    assert result.exit_code == 2
    assert "ZeroDivisionError" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("qmd: this is a bug in qmd")


def test_indexing_says_what_it_did(qmd: Qmd, folder: Path) -> None:
    for name in ("a.md", "b.md", "c.md"):
        (folder / name).write_text(name)
    assert qmd("index", "--no-embed", folder).stdout == "notes: 3 new\n"
    assert qmd("index", "--no-embed").stdout == "notes: nothing changed, 3 notes\n"
    (folder / "a.md").write_text("edited")
    (folder / "b.md").rename(folder / "d.md")
    (folder / "c.md").unlink()
    (folder / "e.md").symlink_to(folder / "a.md")
    assert qmd("index", "--no-embed", "-c", "notes").stdout == (
        f"notes: 1 changed, 1 moved, 1 removed, 1 passed over ({folder}/e.md is a symbolic link)\n"
    )


def test_every_reason_why_a_file_was_passed_over_is_told(qmd: Qmd, folder: Path) -> None:
    os.mkfifo(folder / "a.md")
    (folder / "b.md").symlink_to(folder)
    (folder / "c.md").write_text("x")
    assert qmd("index", "--no-embed", folder).stdout == (
        f"notes: 1 new, 2 passed over ({folder}/a.md is not a regular file; "
        f"{folder}/b.md is a symbolic link)\n"
    )


def test_a_collection_from_add_to_remove(qmd: Qmd, folder: Path) -> None:
    (folder / "a.md").write_text("apples")
    (folder / "b.txt").write_text("apples")
    (folder / "c.md").write_text("apples")
    added = qmd(
        "collection",
        "add",
        "--no-embed",
        folder,
        "--name",
        "one",
        "--glob",
        "*.txt",
        "--glob",
        "a.md",
    )
    assert added.stdout == "one: 2 new\n"
    assert qmd("collection", "list").stdout == f"one  2 notes  {folder}\n"
    (shown,) = json.loads(qmd("collection", "show", "one", "--json").stdout)
    assert (shown["root"], shown["globs"], shown["notes"]) == (str(folder), ["*.txt", "a.md"], 2)
    assert qmd("collection", "rename", "one", "two").exit_code == 0
    assert qmd("search", "apples", "-c", "two").exit_code == 0
    assert qmd("collection", "remove", "two").exit_code == 0
    assert qmd("search", "apples").exit_code == 1
    assert (folder / "a.md").read_text() == "apples"


def test_nothing_found_is_status_one_and_no_word(qmd: Qmd, notes: Path) -> None:
    for command in ("search", "query"):
        result = qmd(command, "zzqx")
        assert (result.exit_code, result.stdout, result.stderr) == (1, "", "")


def test_nothing_found_is_still_json_and_csv(qmd: Qmd, notes: Path) -> None:
    result = qmd("search", "zzqx", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["results"] == []
    assert len(list(csv.reader(io.StringIO(qmd("search", "zzqx", "--csv").stdout)))) == 1


def test_json_has_the_promised_keys(qmd: Qmd, notes: Path) -> None:
    for command in ("search", "query"):
        answer = json.loads(qmd(command, "storing apples", "--json").stdout)
        assert list(answer) == ["query", "mode", "retrieved_at", "skipped", "results", "gone"]
        assert (answer["query"], answer["mode"]) == ("storing apples", command)
        best = answer["results"][0]
        assert {"pid", "collection", "path", "title", "score", "toc", "matches", "source"} <= set(
            best
        )
        assert best["toc"] == [
            {
                "title": 'On, "Apples"',
                "level": 0,
                "path": ['On, "Apples"'],
                "anchor": "",
                "line": 4,
            },
            {"title": "Kinds", "level": 1, "path": ["Kinds"], "anchor": "kinds", "line": 6},
            {"title": "Storing", "level": 1, "path": ["Storing"], "anchor": "storing", "line": 10},
        ]
        match = best["matches"][0]
        assert match["toc_path"] == ["Storing"]
        assert match["breadcrumb"] == 'On, "Apples" > Storing'
        assert match["line"] == match["last_line"] == 12
        assert match["snippet"] == "Keep the apples cool."
        assert {"anchor", "score", "evidence"} <= set(match)
        assert set(best["source"]) == {
            "record_id", "revision", "uri", "published_at", "indexed_at", "expires_at", "access",
            "proof", "anchor",
        }  # fmt: skip


def test_a_note_without_headings_has_an_empty_toc_and_path(qmd: Qmd, notes: Path) -> None:
    (hit,) = json.loads(qmd("search", "headings", "--json").stdout)["results"]
    assert (hit["toc"], hit["matches"][0]["toc_path"]) == ([], [])
    assert qmd("section", hit["pid"], "[]").stdout == "No headings, one apple.\n"


def test_a_toc_can_be_left_out(qmd: Qmd, notes: Path) -> None:
    hits = json.loads(qmd("search", "apples", "--json", "--no-toc").stdout)["results"]
    assert hits
    assert all("toc" not in hit for hit in hits)


def test_csv_reads_back_whole(qmd: Qmd, notes: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(qmd("search", "apples", "--csv").stdout)))
    assert [row["path"] for row in rows] == ["apples.md", "plain text.md"]
    assert rows[0]["title"] == 'On, "Apples"'
    assert json.loads(rows[1]["toc_path"]) == []


def test_markdown_names_title_place_and_snippet(qmd: Qmd, notes: Path) -> None:
    shown = qmd("search", "cool", "--md").stdout
    assert shown.startswith(f'## [On, "Apples"](file://{notes}/apples.md#storing)\n')
    assert "notes/apples.md · pid 1 · score" in shown
    assert "> Keep the apples cool." in shown


def test_files_are_listed_each_once_for_other_programs(qmd: Qmd, notes: Path) -> None:
    expected = [f"{notes}/apples.md", f"{notes}/plain text.md"]
    assert qmd("search", "apples", "--files").stdout == "".join(f"{file}\n" for file in expected)
    assert qmd("search", "apples", "-l").stdout == "".join(f"{file}\n" for file in expected)
    for flags in (["-0"], ["-l", "-0"], ["--null"]):
        shown = qmd("search", "apples", *flags).stdout
        assert shown == "".join(f"{file}\0" for file in expected)


def test_people_see_place_pid_breadcrumb_and_snippet(
    qmd: Qmd, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, crumb, snippet = qmd("search", "cool").stdout.splitlines()
    assert place.startswith(f"{notes}/apples.md:12  0.")
    assert crumb == '#1 On, "Apples" > Storing'
    assert snippet == "Keep the apples cool."
    monkeypatch.chdir(notes)
    assert qmd("search", "cool").stdout.startswith("apples.md:12  0.")


def test_control_characters_of_a_note_do_not_reach_the_terminal(qmd: Qmd, folder: Path) -> None:
    (folder / "a.md").write_text("apples \x1b[2J\x1b]0;title\x07 \u202eevil\n")
    qmd("index", "--no-embed", folder)
    shown = qmd("search", "apples").stdout
    assert "�" in shown
    assert not set(shown) & {"\x1b", "\x07", "\u202e"}


def test_brackets_of_a_note_are_no_markup(qmd: Qmd, folder: Path) -> None:
    (folder / "[bold] a.md").write_text("apples [red]and[/red] [x] pears\n")
    qmd("index", "--no-embed", folder)
    assert "apples [red]and[/red] [x] pears" in qmd("search", "apples").stdout


def test_explain_shows_the_rank_in_each_run(qmd: Qmd, notes: Path) -> None:
    assert "bm25" not in qmd("search", "cool").stdout
    explained = qmd("search", "cool", "--explain").stdout
    assert re.search(r"^  bm25 +1 +\d", explained, re.MULTILINE)
    assert re.search(r"^├ retrieve +\d+ ms", explained, re.MULTILINE)
    assert re.search(r"^    bm25 +1 +\d", qmd("query", "cool", "--explain").stdout, re.MULTILINE)


def test_full_shows_whole_notes(qmd: Qmd, notes: Path) -> None:
    (hit,) = json.loads(qmd("search", "cool", "--full", "--json").stdout)["results"]
    assert hit["body"] == APPLES
    for form in ([], ["--md"]):
        assert "Opening words." in qmd("search", "cool", "--full", *form).stdout


@pytest.mark.parametrize("form", ["", "--json", "--csv", "--md"])
def test_a_snippet_is_as_long_as_asked(qmd: Qmd, folder: Path, form: str) -> None:
    (folder / "a.md").write_text("filler " * 50 + "needle")
    qmd("index", "--no-embed", folder)
    shown = qmd("search", "needle", "--snippet", 20, *form.split()).stdout
    assert "needle" in shown
    assert shown.count("filler") <= 3


@pytest.mark.parametrize(
    ("args", "found"),
    [
        pytest.param(["apples", "-cool"], ["plain text.md"], id="a dash leaves out"),
        pytest.param(["-cool", "apples"], ["plain text.md"], id="in the first place too"),
        pytest.param(["apples", '-"keep the"'], ["plain text.md"], id="a dash before a phrase"),
        pytest.param(["-l", "-cool", "-n5", "apples"], ["plain text.md"], id="among options"),
        pytest.param(["-n", "1", "apples"], ["apples.md"], id="a limit and its value"),
        pytest.param(["apples", "-n1"], ["apples.md"], id="a limit with its value"),
        pytest.param(["apples", "--limit=1"], ["apples.md"], id="a long option with its value"),
        pytest.param(["--", "--force"], ["bread.md"], id="what looks like an option"),
        pytest.param(["-l", "--", "bread", "-n"], ["bread.md"], id="an option's name as a word"),
        pytest.param(["bread", "--", "-apples"], ["bread.md"], id="a dash word after the dashes"),
        pytest.param(["keep the apples"], ["apples.md", "plain text.md"], id="one quoted argument"),
        pytest.param(["a - b bread"], ["bread.md"], id="a dash by itself"),
    ],
)
def test_words_and_options(qmd: Qmd, notes: Path, args: list[str], found: list[str]) -> None:
    shown = qmd("search", *(["-l"] if "-l" not in args else []), *args)
    assert shown.stderr == ""
    assert [Path(line).name for line in shown.stdout.splitlines()] == found


@pytest.mark.parametrize("command", ["search", "query"])
def test_a_dash_reads_the_question_from_stdin(qmd: Qmd, notes: Path, command: str) -> None:
    answer = json.loads(qmd(command, "-", "--json", stdin="keep cool\n").stdout)
    assert answer["query"] == "keep cool"
    assert answer["results"][0]["path"] == "apples.md"
    assert said(qmd(command, "-", stdin="\n")).startswith("no question")


def test_more_is_only_ever_appended(qmd: Qmd, vault: Path) -> None:
    qmd("index", "--no-embed", vault)

    def hits(command: str, limit: int) -> list[object]:
        shown = qmd(command, "how", "to", "store", "bread", "-n", limit, "--json").stdout
        return list(json.loads(shown)["results"])

    for command in ("search", "query"):
        longest = hits(command, 50)
        assert len(longest) > 5
        for limit in (1, 2, 5):
            assert hits(command, limit) == longest[:limit]


def test_filters_act_before_the_cut(qmd: Qmd, tmp_path: Path) -> None:
    for name, count in (("A", 300), ("B", 5)):
        (tmp_path / name).mkdir()
        for number in range(count):
            text = "# Apples\n\napples apples" if name == "A" else f"an apple, {number}"
            (tmp_path / name / f"{number}.md").write_text(text)
        qmd("index", "--no-embed", tmp_path / name)

    def hits(*args: object) -> list[str]:
        shown = json.loads(qmd("search", "apples", "--json", *args).stdout)["results"]
        return [hit["collection"] for hit in shown]

    assert hits("-c", "B", "-n", 3) == ["B"] * 3
    assert hits("-c", "B", "-n", 50) == ["B"] * 5
    assert len(hits("-c", "A", "-c", "B", "-n", 400)) == 305
    assert sorted(hits("--path", "4.md", "-n", 3)) == ["A", "B"]


def test_section_prints_markdown_json_or_html(qmd: Qmd, notes: Path) -> None:
    assert qmd("section", 1, "Storing").stdout == "# Storing\n\nKeep the apples cool.\n"
    shown = json.loads(qmd("section", "apples.md", '["Storing"]', "--json").stdout)
    assert (shown["pid"], shown["toc_path"], shown["line"]) == (1, ["Storing"], 10)
    assert 0 < shown["section_tokens"] < shown["note_tokens"]
    html = qmd("section", 1, "#storing", "--html").stdout
    assert html == "<h1>Storing</h1>\n<p>Keep the apples cool.</p>\n"


def test_a_heading_may_begin_with_a_dash(qmd: Qmd, folder: Path) -> None:
    (folder / "a.md").write_text("# -x\n\none\n\n# --json\n\ntwo\n")
    qmd("index", "--no-embed", folder)
    assert qmd("section", 1, "-x").stdout == "# -x\n\none\n"
    assert qmd("section", 1, "--", "--json").stdout == "# --json\n\ntwo\n"


def test_every_hit_leads_to_a_section_that_holds_it(qmd: Qmd, vault: Path) -> None:
    qmd("index", "--no-embed", vault)
    for hit in json.loads(qmd("query", "bread", "-n", 20, "--json").stdout)["results"]:
        lines = (vault / hit["path"]).read_text().splitlines()
        for match in hit["matches"]:
            shown = qmd("section", hit["pid"], *match["toc_path"])
            assert "\n".join(lines[match["line"] - 1 : match["last_line"]]) in shown.stdout
            assert qmd("section", hit["pid"], json.dumps(match["toc_path"])).stdout == shown.stdout


def test_toc_is_a_tree_with_lines(qmd: Qmd, notes: Path) -> None:
    assert qmd("toc", 1).stdout == ' 4  On, "Apples"\n 6  Kinds\n10  Storing\n'
    shown = json.loads(qmd("toc", "apples.md", "--json").stdout)
    assert [entry["path"] for entry in shown["toc"]] == [['On, "Apples"'], ["Kinds"], ["Storing"]]


@pytest.mark.parametrize(
    ("reference", "shown"),
    [
        pytest.param("1", APPLES, id="a pid"),
        pytest.param("apples.md:10", "# Storing\n\nKeep the apples cool.\n", id="from a line"),
        pytest.param("1:10:1", "# Storing\n", id="one line"),
        pytest.param("apples.md:12:99", "Keep the apples cool.\n", id="as many as there are"),
        pytest.param("notes/plain text.md", "No headings, one apple.\n", id="a path with a space"),
    ],
)
def test_get(qmd: Qmd, notes: Path, reference: str, shown: str) -> None:
    assert qmd("get", reference).stdout == shown


def test_every_name_that_is_printed_is_understood(
    qmd: Qmd, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(notes.parent)
    (hit,) = json.loads(qmd("search", "cool", "--json").stdout)["results"]
    printed = qmd("search", "cool").stdout.split("  ")[0]
    (file,) = qmd("search", "cool", "-l").stdout.splitlines()
    pid, path = qmd("ls").stdout.splitlines()[0].split()[:2]
    assert printed == "notes/apples.md:12"
    assert qmd("get", printed + ":1").stdout == "Keep the apples cool.\n"
    for reference in (hit["pid"], f"#{hit['pid']}", hit["path"], file, pid, path):
        assert qmd("get", reference).stdout == APPLES
        assert qmd("section", reference, "Storing").exit_code == 0
        assert qmd("toc", reference).exit_code == 0


def test_ls_takes_a_folder(qmd: Qmd, folder: Path) -> None:
    for name in ("a.md", "work/b.md", "work/deep/c.md", "works/d.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x\n")
    qmd("index", "--no-embed", folder)
    for place in ("notes/work", "notes/work/", "notes/work/*"):
        shown = qmd("ls", place).stdout.splitlines()
        assert [line.split()[1] for line in shown] == ["notes/work/b.md", "notes/work/deep/c.md"]
    assert len(qmd("ls", "notes/").stdout.splitlines()) == 4
    assert json.loads(qmd("ls", "notes/a.md", "--json").stdout)[0]["path"] == "a.md"
    lost = qmd("ls", "notes/wrk")
    assert (lost.exit_code, lost.stdout) == (1, "")
    assert "no note at the path 'notes/wrk' (did you mean 'notes/work'?)" in lost.stderr
    assert "no collection 'note' (did you mean 'notes'?)" in qmd("ls", "note/work").stderr
    assert "no collection '/work'" in qmd("ls", "/work").stderr


def test_ls_and_status(qmd: Qmd, notes: Path) -> None:
    assert qmd("ls").stdout == (
        '1  notes/apples.md  On, "Apples"\n2  notes/bread.md\n3  notes/plain text.md\n'
    )
    assert [note["pid"] for note in json.loads(qmd("ls", "notes", "--json").stdout)] == [1, 2, 3]
    status = json.loads(qmd("status", "--json").stdout)
    assert (status["notes"], status["sections"], status["problems"]) == (3, 3, [])
    assert "3 notes, 3 sections" in qmd("status").stdout


@pytest.mark.parametrize("args", [["--version"], ["--help"], ["-h"], ["search", "-h"]])
def test_help_and_version_are_answers(qmd: Qmd, args: list[str]) -> None:
    result = qmd(*args)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.strip()


def test_version_is_the_packages(qmd: Qmd) -> None:
    assert qmd("--version").stdout == f"qmd {qmd_py.__version__}\n"


@pytest.mark.parametrize("args", [[], ["collection"]])
def test_no_command_shows_the_help_once(qmd: Qmd, args: list[str]) -> None:
    result = qmd(*args)
    assert result.exit_code == 2
    assert result.stdout.count("Usage: qmd") == 1


def process(*args: object, **options: object) -> "subprocess.CompletedProcess[bytes]":
    """Run `python -m qmd_py` as a shell would."""
    command = [sys.executable, "-m", "qmd_py", *map(str, args)]
    return subprocess.run(command, capture_output=True, check=False, **options)  # type: ignore[call-overload,no-any-return]


def test_the_module_is_the_command(notes: Path) -> None:
    shown = process("search", "cool", "-l")
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert shown.stdout.decode() == f"{notes}/apples.md\n"


@pytest.mark.parametrize("reader", ["head -1", "true"])
def test_a_reader_that_leaves_is_no_error(folder: Path, qmd: Qmd, reader: str) -> None:
    (folder / "long.md").write_text("apples\n" * 50_000)
    qmd("index", "--no-embed", folder)
    pipe = f"{sys.executable} -m qmd_py search apples --full | {reader}; echo ${{PIPESTATUS[0]}}"
    shown = subprocess.run(["bash", "-c", pipe], capture_output=True, check=True)
    assert shown.stderr == b""
    assert shown.stdout.splitlines()[-1] == b"0"


def test_a_full_disk_is_an_error(notes: Path) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "qmd_py", "search", "cool"]
        shown = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert shown.returncode == 2
    assert shown.stderr == b"qmd: cannot write the answer: No space left on device\n"


@pytest.mark.parametrize(
    ("closing", "status"),
    [
        pytest.param("search cool >&-", 0, id="no stdout"),
        pytest.param("search cool 2>&-", 0, id="no stderr"),
        pytest.param("bogus 2>&-", 2, id="an error without stderr"),
        pytest.param("search - <&-", 2, id="no stdin"),
    ],
)
def test_closed_streams_change_no_status(notes: Path, closing: str, status: int) -> None:
    shown = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m qmd_py {closing}"], capture_output=True, check=False
    )
    assert shown.returncode == status
    assert b"Traceback" not in shown.stderr
    assert b"qmd:" not in shown.stdout


def test_an_interrupt_is_status_130(notes: Path) -> None:
    code = """
import io, signal, sys
from qmd_py.cli import main
# a job in the background is started with interrupts ignored
signal.signal(signal.SIGINT, signal.default_int_handler)
class Slow(io.BytesIO):
    def read(self, *_):
        signal.raise_signal(signal.SIGINT)
sys.stdin = io.TextIOWrapper(Slow())
main()
"""
    command = [sys.executable, "-c", code, "search", "-"]
    shown = subprocess.run(command, capture_output=True, check=False)
    assert (shown.returncode, shown.stdout, shown.stderr) == (130, b"", b"")


FOR_OTHERS = {
    *("numpy", "rich", "markdown_it", "sqlite_utils", "yaml", "llama_cpp"),
    *("platformdirs", "hashlib", "qmd_py.files", "qmd_py.formats.kinds"),
    *("qmd_py.records.notes", "qmd_py.records.evidence", "qmd_py.records.wordings"),
    *("qmd_py.lexicon", "qmd_py.meaning", "qmd_py.processors"),
    *("qmd_py.store.overview", "qmd_py.cli.choosing", "qmd_py.cli.wording"),
}
"""Modules that a search by words does not pay for, where its files are as they were indexed
and variables name index and settings file."""


def loaded_by_a_search(*form: str, env: Mapping[str, str]) -> set[str]:
    """The modules that another process has loaded in the end, and `….__eq__` for each dataclass of ours
    for which Python had to compile its own."""
    code = """
import os, sys
from qmd_py.cli import main
os._exit = lambda _status: None
try:
    main()
except SystemExit:
    ours = [value for name, module in sys.modules.items() if name.startswith("qmd_py")
            for value in vars(module).values() if hasattr(value, "__dataclass_params__")]
    dear = {f"{value.__name__}.__eq__" for value in ours if value.__dataclass_params__.eq}
    print(*sys.modules, *dear, sep="\\n", file=sys.stderr)
"""
    command = [sys.executable, "-c", code, "search", "cool", *form]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    assert "Keep the apples cool." in shown.stdout
    return set(shown.stderr.split())


def test_a_piped_search_imports_nothing_heavy(notes: Path, tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.touch()
    for form in ([], ["--json"]):
        loaded = loaded_by_a_search(*form, env={**os.environ, "QMD_CONFIG": str(settings)})
        assert not FOR_OTHERS & loaded
        # records that a search needs have it from `Value`
        assert not {name for name in loaded if name.endswith(".__eq__")}


def test_the_c_locale_gives_the_same_bytes(qmd: Qmd, vault: Path, tmp_path: Path) -> None:
    file = tmp_path / "other.sqlite"
    env = {**os.environ, "LC_ALL": "C"}
    assert (
        process("index", "--no-embed", vault, "--index", file, env=env).stdout == b"vault: 15 new\n"
    )
    qmd("index", "--no-embed", vault)
    question = ("search", "пул воркеров", "--csv")
    shown = process(*question, "--index", file, env=env)
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert shown.stdout.decode() == qmd(*question).stdout


def test_the_order_of_equal_things_depends_on_no_hash(qmd: Qmd, vault: Path) -> None:
    qmd("index", "--no-embed", vault)
    shown = {
        process("query", "worker pool", "--csv", env={**os.environ, "PYTHONHASHSEED": seed}).stdout
        for seed in ("1", "2")
    }
    assert len(shown) == 1


def test_an_odd_index_path_is_one_and_the_same_index(qmd: Qmd, folder: Path) -> None:
    (folder / "a.md").write_text("apples")
    for name in ("we#ird?100%25.sqlite", "new folder/index"):
        file = folder.parent / name
        assert qmd("index", "--no-embed", folder, "--index", file).stdout == "notes: 1 new\n"
        assert qmd("search", "apples", "--index", file).exit_code == 0
        with sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True) as connection:
            assert connection.execute("SELECT count(*) FROM notes").fetchone() == (1,)
        connection.close()


def test_a_collection_shows_which_files_are_its_notes(
    qmd: Qmd, notes: Path, tmp_path: Path
) -> None:
    shown = qmd("collection", "show", "notes").stdout
    texts, documents = "*.md, *.markdown, *.mdx, *.txt, *.org", "*.pdf, *.docx, *.epub, *.htm"
    assert f"glob    {texts}, {documents}, *.html, *.pptx\n" in shown
    qmd("collection", "add", tmp_path, "--name", "rst", "--glob", "*.rst", "--no-embed")
    assert "glob    *.rst\n" in qmd("collection", "show", "rst").stdout


@pytest.mark.parametrize("command", [("collection", "add"), ("index",)])
def test_a_folder_that_comes_after_other_settings_makes_the_index_anew(
    qmd: Qmd, notes: Path, isolated: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    (isolated / "qmd-py").mkdir()
    (isolated / "qmd-py/config.toml").write_text('languages = ["de"]')
    other = tmp_path / "other"
    other.mkdir()
    (other / "apfel.md").write_text("apples\n")
    shown = qmd(*command, other, "--no-embed")
    assert shown.stdout == "notes: 3 changed\nother: 1 new\n"
    assert qmd("search", "apples", "-l").stdout.count("\n") == 3


@pytest.mark.parametrize(
    "command", ["index -c notes --no-embed", "search apples --refresh -c notes"]
)
def test_an_index_of_two_makes_is_made_anew_whole(
    qmd: Qmd, notes: Path, isolated: Path, tmp_path: Path, command: str
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.md").write_text("bread\n")
    qmd("index", "--no-embed", other)
    with Writer.open(isolated / "index.sqlite") as store, store.batch():
        # as a run leaves it that is killed after the first of two collections
        store.execute(
            "UPDATE notes SET made_by = replace(made_by, ' 1400', ' 900') WHERE path = 'b.md'"
        )
    told = qmd(*command.split()).output
    assert "other: 1 changed\n" in told
    assert "other" not in qmd(*command.split()).output


def test_the_index_option_wins_over_the_variable_over_the_settings(
    qmd: Qmd, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.toml").write_text(f'index = "{tmp_path}/settings.sqlite"')
    monkeypatch.setenv("QMD_CONFIG", str(tmp_path / "config.toml"))
    (folder / "a.md").write_text("apples")
    made = []
    for name, variable, option in (
        ("option", f"{tmp_path}/variable.sqlite", ["--index", tmp_path / "option.sqlite"]),
        ("variable", f"{tmp_path}/variable.sqlite", []),
        ("settings", "", []),
    ):
        monkeypatch.setenv("QMD_INDEX", variable)
        qmd("index", "--no-embed", folder, *option)
        made.append(name)
        there = {file.stem for file in tmp_path.glob("*.sqlite")}
        assert there == set(made)


def test_nothing_prints_nothing_on_a_terminal() -> None:
    assert styled.coloured([]) == ""


def test_a_note_without_text_is_a_hit_that_says_so(qmd: Qmd, folder: Path) -> None:
    (folder / "only.md").write_text("---\ntitle: Zebra crossing\ntags: [road]\n---\n")
    qmd("index", "--no-embed", folder)
    place, *shown = qmd("search", "zebra").stdout.splitlines()
    assert place.startswith(f"{folder}/only.md:1  ")
    assert shown == ["#1 Zebra crossing", "(no text)"]
    assert ">" not in qmd("search", "zebra", "--md").stdout
    (match,) = json.loads(qmd("search", "zebra", "--json").stdout)["results"][0]["matches"]
    assert (match["snippet"], match["breadcrumb"]) == ("", "Zebra crossing")


@pytest.mark.parametrize(
    "line",
    [
        ("search", "apples", "-c"),
        ("query", "apples", "-c"),
        ("index", "--no-embed", "-c"),
        ("ls",),
        ("collection", "show"),
    ],
)
def test_the_name_of_a_collection_may_be_decomposed(
    qmd: Qmd, folder: Path, line: tuple[str, ...]
) -> None:
    named = folder / "cafe\u0301"
    named.mkdir()
    (named / "a.md").write_text(APPLES)
    qmd("index", "--no-embed", named)
    result = qmd(*line, named.name)
    assert (result.exit_code, result.stderr) == (0, "")


def test_an_index_without_notes_says_so(qmd: Qmd, folder: Path) -> None:
    qmd("index", "--no-embed", folder)
    told = "qmd: the index holds no notes yet: run 'qmd index DIR'\n"
    for line in (("search", "x"), ("query", "x", "--json"), ("search", "--path", "no/such")):
        result = qmd(*line)
        assert (result.exit_code, result.stderr) == (1, told)
    assert "embedded   nothing yet: run 'qmd index DIR'\n" in qmd("status").stdout
