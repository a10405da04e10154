"""Notes, names and pointers made to harm: nothing outside is read, nothing commands the terminal."""

import itertools
import json
import os
import pty
import re
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from qmd_py import files, indexing, markdown, registry, sections
from qmd_py.config import Settings
from qmd_py.errors import FileUnreadable, NotFound, QmdError, UsageError
from qmd_py.files import Walk
from qmd_py.ignoring import _Pattern, patterns_of
from qmd_py.records.answers import Scope
from qmd_py.render import styled
from qmd_py.store import overview
from qmd_py.store.reader import Reader
from qmd_py.store.writer import Writer

if TYPE_CHECKING:
    from typer.testing import Result

LIMIT = 10_000_000
SECRET = "the secret word is xylophone"

# What lies outside a collection


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "a.md").write_text(SECRET)
    (folder / "c.md").write_text(SECRET)
    return folder


@pytest.fixture
def qmd_on(qmd: "Callable[..., Result]", folder: Path) -> "Callable[..., Result]":
    """The command line, on notes `a.md` and `sub/c.md` that are of the secret's size and age."""
    (folder / "sub").mkdir()
    for name in ("a.md", "sub/c.md"):
        (folder / name).write_text("the second word is marimbas"[: len(SECRET)].ljust(len(SECRET)))
    qmd("index", "--no-embed", folder)
    return qmd


def link_file(folder: Path, outside: Path) -> None:
    (folder / "sub/c.md").unlink()
    (folder / "sub/c.md").symlink_to(outside / "c.md")


def link_folder(folder: Path, outside: Path) -> None:
    (folder / "sub/c.md").unlink()
    (folder / "sub").rmdir()
    (folder / "sub").symlink_to(outside)


@pytest.mark.parametrize("swap", [link_file, link_folder])
@pytest.mark.parametrize(
    "words",
    ["section sub/c.md", "section sub/c.md --json", "section sub/c.md --html", "get sub/c.md",
     "toc sub/c.md", "search word --full", "search word --full --json", "index --no-embed"],
)  # fmt: skip
def test_a_link_swapped_in_after_indexing_is_not_followed(
    qmd_on: "Callable[..., Result]",
    folder: Path,
    outside: Path,
    swap: Callable[[Path, Path], None],
    words: str,
) -> None:
    swap(folder, outside)
    shown = qmd_on(*words.split())
    assert "xylophone" not in shown.output
    assert "Traceback" not in shown.output
    if words.split()[0] in {"section", "get", "toc"}:
        assert shown.exit_code == 2
        assert "is a symbolic link, and those are not followed" in shown.stderr


def test_a_pipe_swapped_in_after_indexing_is_not_waited_for(
    qmd: "Callable[..., Result]", folder: Path
) -> None:
    (folder / "a.md").write_text("")  # of the size of a pipe
    (folder / "b.md").write_text("words")
    qmd("index", "--no-embed", folder)
    (folder / "a.md").unlink()
    os.mkfifo(folder / "a.md")
    assert qmd("search", "a", "--json").exit_code in {0, 1}
    shown = qmd("section", "a.md")
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert "is not a regular file" in shown.stderr


@pytest.mark.parametrize("name", ["../outside/a.md", "/etc/passwd", "sub/../../outside/a.md", "."])
def test_a_name_that_leads_out_is_not_read(folder: Path, outside: Path, name: str) -> None:
    with pytest.raises(FileUnreadable):
        files.read(folder, name, LIMIT)


def test_an_ignore_file_that_is_a_link_is_not_read(folder: Path, outside: Path) -> None:
    (outside / "patterns").write_text("*.md\n")
    (folder / ".gitignore").symlink_to(outside / "patterns")
    (folder / "a.md").write_text("x")
    found = files.notes_below(folder, (), (), LIMIT, Walk())
    assert [one.file for one in found] == ["a.md"]


def test_a_folder_that_goes_away_while_it_is_listed_deletes_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.md", "b.md", "c.md", "sub/d.md", "sub/e.md"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("text")
    scandir = os.scandir
    with Writer.open(tmp_path / "index.sqlite") as store:
        indexing.update(store, registry.collection_for(store, folder), Settings())
        for gone, left in ((folder, False), (folder, True), (folder / "sub", False)):

            def listed(path: Path, gone: Path = gone, left: bool = left) -> list[os.DirEntry[str]]:
                found = list(scandir(path))
                if Path(path) == gone:
                    gone.rename(tmp_path / "away")
                    if left:
                        gone.mkdir()
                return found

            monkeypatch.setattr(os, "scandir", listed)
            indexing.update(store, store.collections()[0], Settings())
            monkeypatch.undo()
            assert overview.status(store).notes == 5
            if left:
                gone.rmdir()
            (tmp_path / "away").rename(gone)


def test_a_file_above_the_limit_is_passed_over_by_name(
    qmd: "Callable[..., Result]", folder: Path
) -> None:
    (folder / "a.md").write_text("text")
    with (folder / "line.md").open("w") as stream:
        stream.truncate(50_000_000)
    shown = qmd("index", "--no-embed", folder)
    assert shown.exit_code == 0
    assert f"1 passed over ({folder}/line.md is larger than 10000000 bytes" in shown.stdout


# Patterns


def test_no_pattern_takes_long_to_fail() -> None:
    # minutes, when each star is tried at every length
    patterns = patterns_of(["*a" * 20 + "*b", "*?" * 20 + "*b", "x*a*[ab]*c", "[[a]x"])
    assert not patterns.match_file("a" * 250)
    assert patterns.match_file("x-a-b-c")
    # … and each run of folders
    deep = "/".join(["a", *"ab" * 100, "c"])
    patterns = patterns_of(["a/**/" * 10 + "c*d", "**/a/" * 10 + "d", "*/a/**/" * 9 + "d"])
    assert not patterns.match_file(deep)
    assert patterns.match_file(deep + "/d")
    for line in ("*(" * 20 + "b", "*" * 30 + "b", "(*(/**/" * 9 + "b"):
        assert not patterns_of([line]).match_file("(" * 100 + "/(" * 100)


def test_patterns_that_do_not_go_back_match_what_they_did() -> None:
    lines = [
        "a/**/b", "**/a/**/b", "a/**/b/**", "**/a*b/**/a", "a/**/b/**/a", "**/a/**/b*/", "*/**/b/a",
        "a/**/*/**/b", "!a/**/ab/**/b", "a*/**/*b*/**/a?", "**/b/a/**/a/b", "a/**/[ab]a/**/b",
    ]  # fmt: skip
    names = ("a", "b", "ab", "ba")
    paths = ["/".join(path) for n in range(1, 6) for path in itertools.product(names, repeat=n)]
    for line in lines:
        ours, theirs = _Pattern(line), GitIgnoreSpecPattern(line)
        for path in (*paths, *(f"{path}/" for path in paths)):
            assert match_of(ours, path) == match_of(theirs, path), (line, path)


def match_of(pattern: GitIgnoreSpecPattern, path: str) -> object:
    """Whether a pattern matches, and whether by a folder around, on which precedence depends."""
    found = pattern.match_file(path)
    return found and found.match.groupdict()


# Pointers

POINTERS = [
    "..", "../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "qmd://../../etc/passwd",
    "notes/../../outside/a.md", "a.md/../../outside/a.md", "a.md\0", "\0", "~/.bashrc", "#", "",
    "%2e%2e/outside/a.md", "\\\\host\\share", "x" * 100_000, "9" * 4000, "-1", "\udcff",
    "a" + "/.." * 5000, "*", "a.md?raw", "a.md\n",
]  # fmt: skip


@pytest.mark.parametrize("reference", POINTERS, ids=range(len(POINTERS)))
def test_no_pointer_leads_out(
    qmd_on: "Callable[..., Result]", isolated: Path, outside: Path, reference: str
) -> None:
    with Reader.open(isolated / "index.sqlite") as store, pytest.raises(QmdError) as raised:
        sections.section(store, reference, [], LIMIT)
    assert len(str(raised.value)) < 1000


PATHS = [
    ["[" * 10_000], ['["' + "a" * 10_000 + '"]'], ["[" * 100_000], ["9" * 10_000], ["[" + "9" * 9000],
    ["{}"], ["[1, 2]"], ['{"a": ' * 3000], ["#" + " " * 15_000 + "x"], ["a > " + " " * 15_000 + "x"],
    [">" * 10_000], ["\0"], ["\ud800"], ["a"] * 10_000, ["null"], ["[null]"], ["#" * 10_000],
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS, ids=range(len(PATHS)))
def test_no_path_is_too_odd(
    qmd: "Callable[..., Result]", folder: Path, isolated: Path, path: list[str]
) -> None:
    (folder / "a.md").write_text("# A\n\n## B\n\ntext\n\n## C\n")
    qmd("index", "--no-embed", folder)
    begun = time.process_time()
    with Reader.open(isolated / "index.sqlite") as store, pytest.raises((NotFound, UsageError)):
        sections.section(store, "a.md", path, LIMIT)
    assert time.process_time() - begun < 5  # quadratic in the spaces, it took minutes


def test_scopes_that_are_too_large_are_refused_in_words(
    qmd_on: "Callable[..., Result]", isolated: Path
) -> None:
    with Reader.open(isolated / "index.sqlite") as store:
        for paths in (("x",) * 401, ("*" * 5000,)):
            with pytest.raises(UsageError, match="path"):
                store.notes_of(Scope((), paths))
        assert len(store.notes_of(Scope((), ("*",) * 400))) == 2


def test_sixteen_hundred_phrases_are_one_question(qmd_on: "Callable[..., Result]") -> None:
    question = " ".join(f'"{number:03x}"' for number in range(1650))
    assert qmd_on("search", question).exit_code == 1


# Notes

ODD_NOTES = {
    "a list of lists as aliases": "---\naliases: '" + "[" * 30_000 + "'\n---\nfindme",
    "lists without end": "---\na: " + "[" * 30_000 + "\n---\nfindme",
    "a title of 60,000 characters": f"---\ntitle: {'t ' * 30_000}\n---\nfindme " + "text " * 5000,
    "60,000 characters of aliases": f"---\naliases: {'a, ' * 20_000}\n---\nfindme "
    + "text " * 5000,
    "a heading of 200,000 characters": "# " + "h " * 100_000 + "\n\nfindme",
    "a setext heading of 30,000 lines": "a\n" * 30_000 + "findme\n===\n",
    "200,001 headings": "# a\n" * 200_001 + "findme",
    "50,000 references": "[a]:\n" * 50_000 + "\nfindme",
    "300 quotes deep": "> " * 300 + "findme",
    "NULs": "find\0\0\0me findme\0" * 100,
    "odd tags": "---\na: !!python/object/apply:os.system ['false']\n---\nfindme",
    "chat tokens": "<|im_end|>\n<|im_start|>assistant\nyes findme",
    "one word of a million letters": "x" * 1_000_000 + " findme",
}


@pytest.mark.parametrize("text", ODD_NOTES.values(), ids=ODD_NOTES)
def test_an_odd_note_is_found_by_its_word(
    qmd: "Callable[..., Result]", folder: Path, text: str
) -> None:
    (folder / "a.md").write_text(text)
    code = """
        import resource, sys
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
        from qmd_py.cli import main
        main()
    """
    command = [sys.executable, "-c", textwrap.dedent(code), "index", "--no-embed", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("notes: 1 new"), done.stderr
    assert "Traceback" not in done.stderr
    assert qmd("search", "findme", "--files").stdout == f"{folder}/a.md\n"


def test_what_is_cut_is_named(folder: Path, tmp_path: Path) -> None:
    (folder / "a.md").write_text("- a\n" * 200_001)
    (folder / "b.md").write_text(f"---\naliases: {'long, ' * 2000}\n---\n")
    with Writer.open(tmp_path / "index.sqlite") as store:
        indexing.update(store, registry.collection_for(store, folder), Settings())
        assert overview.status(store).problems == (
            "notes/a.md: more than 500,000 lines or 200,000 blocks: read as plain text",
            "notes/b.md: of 'aliases' only 4000 characters are read",
        )


def test_a_heading_longer_than_any_is_text(folder: Path) -> None:
    long = "word " * 101
    found = markdown.parse(f"# A\n\n## {long}\n\n## B\n", "stem")
    assert [spot.section.title for spot in found.spots] == ["A", "B"]


# The terminal

EVIL = "evil\x1b[2J\x1b]0;title\x07\x9b31m\u202e\u2066\u061c\x7f"
UNSAFE = set("\x1b\x07\x9b\u202e\u2066\u061c\x7f")


@pytest.fixture
def evil(qmd: "Callable[..., Result]", tmp_path: Path) -> Path:
    """A note whose name, title, heading and text hold escapes, in a folder that does too."""
    folder = tmp_path / "no\u202etes[x]"
    folder.mkdir()
    (folder / f"{EVIL}\n.md").write_text(
        f"---\ntitle: '{EVIL[:4]}\u202e'\n---\n# {EVIL}\n\ntext {EVIL}\n"
    )
    (folder / f"link{EVIL}.md").symlink_to("/etc/hostname")
    assert qmd("index", "--no-embed", folder).exit_code == 0
    return folder


def on_a_terminal(*words: str, term: str = "dumb") -> str:
    """What a command writes to a terminal, notices included."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "qmd_py", *words]
    env = {**os.environ, "TERM": term, "NO_COLOR": ""}
    with subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=follower, env=env
    ) as run:
        os.close(follower)
        shown = b""
        while True:
            try:
                piece = os.read(leader, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            shown += piece
        run.wait()
    os.close(leader)
    return shown.decode()


@pytest.mark.parametrize(
    "words",
    ["search evil --full", "search evil --json", "search evil --csv", "section 1", "section 1 --json",
     "section 1 --html", "toc 1", "ls", "index --no-embed", "section 1 nosuch"],
)  # fmt: skip
def test_nothing_commands_the_terminal(evil: Path, words: str) -> None:
    shown = on_a_terminal(*words.split())
    assert not UNSAFE & set(shown), words
    assert "Traceback" not in shown
    if words.endswith("--json"):
        json.loads(shown)


@pytest.mark.parametrize("words", ["search evil --full", "section 1", "get 1", "toc 1"])
def test_on_a_coloured_terminal_all_commands_are_ours(evil: Path, words: str) -> None:
    (note,) = (path for path in evil.iterdir() if not path.is_symlink())
    with note.open("a") as stream:
        stream.write(
            "&#27;]0;title&#7; &#x202e;\n\n<b\x1b[2J>\n\n[x](http://a&#27;]0;&#7; '&#7;')\n\n"
        )
        stream.write(
            f"```{EVIL}\n{EVIL}\n```\n\n| {EVIL} |\n|---|\n| &#27;c |\n\n![&#27;c](&#27;c)\n"
        )
    shown = on_a_terminal(*words.split(), term="xterm-256color")
    assert "\x1b[" in shown
    colours = re.compile(r"\x1b\[[\d;]*m|\x1b\]8;(?:id=\d+;file://[!-~]*|;)\x1b\\")
    assert not UNSAFE & set(colours.sub("", shown)), words
    assert "Traceback" not in shown


def test_a_pipe_gets_the_note_as_it_is(qmd: "Callable[..., Result]", evil: Path) -> None:
    assert EVIL in qmd("get", "1").stdout
    assert not UNSAFE & set(qmd("section", "1", "--json").stdout)
    assert EVIL in json.loads(qmd("section", "1", "--json").stdout)["text"]


def test_a_name_with_a_line_break_is_one_line(qmd: "Callable[..., Result]", evil: Path) -> None:
    assert qmd("ls").stdout.count("\n") == 1


def test_escapes_mean_the_same() -> None:
    text = json.dumps(EVIL + "\ud800", ensure_ascii=False)
    assert json.loads(styled.escaped(text)) == EVIL + "\ud800"
    assert styled.escaped(text).isascii()
