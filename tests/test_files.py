import errno
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from qmd_py import files
from qmd_py.errors import FileUnreadable, NotText, QmdError, UsageError
from qmd_py.files import Walk

LIMIT = 1000  # bytes


def put(folder: Path, names: str | dict[str, str]) -> None:
    """Write files: `{name: text}`, or only names, separated by spaces."""
    wanted = names if isinstance(names, dict) else dict.fromkeys(names.split(), "x\n")
    for name, text in wanted.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def walked(
    folder: Path, walk: Walk | None = None, globs: Sequence[str] = (), ignores: Sequence[str] = ()
) -> str:
    """The notes below a folder in order, separated by spaces."""
    found = files.notes_below(folder, globs, ignores, LIMIT, walk or Walk())
    return " ".join(sorted(note.file for note in found))


@pytest.mark.parametrize(
    ("names", "notes"),
    [
        pytest.param(
            "a.md b.markdown c.mdx d.txt e f.org g.py",
            "a.md b.markdown c.mdx d.txt f.org",
            id="Markdown and plain text count",
        ),
        pytest.param("A.MD B.Markdown", "A.MD B.Markdown", id="in any case of letters"),
        pytest.param(
            "readme.md README.md", "README.md readme.md", id="case alone tells files apart"
        ),
        pytest.param("x/y/z/a.md x/b.md", "x/b.md x/y/z/a.md", id="folders are entered"),
        pytest.param(".a.md .git/b.md .obsidian/c.md d.md", "d.md", id="what is hidden is not"),
        pytest.param("node_modules/a.md x/node_modules/y/b.md c.md", "c.md", id="nor node_modules"),
        pytest.param("dir.md/a.md", "dir.md/a.md", id="a folder named like a note is a folder"),
    ],
)
def test_which_files_are_notes(folder: Path, names: str, notes: str) -> None:
    put(folder, names)
    assert walked(folder) == notes


@pytest.mark.parametrize(
    ("rules", "notes"),
    [
        pytest.param({".gitignore": "drafts/"}, "a.md sub/b.md", id="an ignored folder"),
        pytest.param(
            {".gitignore": "drafts/*\n!drafts/keep.md"},
            "a.md drafts/keep.md sub/b.md",
            id="a negation keeps a file",
        ),
        pytest.param(
            {".gitignore": "drafts/\n!drafts/keep.md"},
            "a.md sub/b.md",
            id="as in git, nothing comes back from an ignored folder",
        ),
        pytest.param(
            {".gitignore": "b.md\n*.MD", "sub/.gitignore": "!b.md"},
            "a.md drafts/keep.md drafts/no.md sub/b.md",
            id="the innermost file decides",
        ),
        pytest.param(
            {"sub/.gitignore": "/b.md\n/a.md"},
            "a.md drafts/keep.md drafts/no.md",
            id="a file speaks of its own folder only",
        ),
        pytest.param(
            {".gitignore": "!\n[z-a]\n\\\n# drafts/\n\ndrafts/"},
            "a.md sub/b.md",
            id="lines that mean nothing are passed over",
        ),
        pytest.param({".gitignore": "\ufeffdrafts/"}, "a.md sub/b.md", id="a byte order mark"),
    ],
)
def test_gitignore(folder: Path, rules: dict[str, str], notes: str) -> None:
    put(folder, "a.md drafts/keep.md drafts/no.md sub/b.md")
    put(folder, rules)
    assert walked(folder) == notes


@pytest.mark.parametrize(
    ("patterns", "notes"),
    [
        pytest.param({"ignores": ["sub/"]}, "a.md", id="an ignore pattern"),
        pytest.param({"ignores": ["*", "!a.md"]}, "a.md", id="an ignore pattern with negation"),
        pytest.param({"ignores": ["node_modules/", "A.md"]}, "a.md sub/b.md", id="case counts"),
        pytest.param({"globs": ["*.rst"]}, "c.rst", id="a glob instead of Markdown"),
        pytest.param({"globs": ["/*.md", "*.RST"]}, "a.md c.rst", id="two globs united"),
        pytest.param({"globs": ["sub/**"]}, "sub/b.md", id="a folder as glob"),
    ],
)
def test_patterns_of_a_collection(folder: Path, patterns: dict[str, list[str]], notes: str) -> None:
    put(folder, "a.md sub/b.md c.rst")
    assert walked(folder, None, **patterns) == notes


@pytest.mark.parametrize(
    ("above", "notes"),
    [
        pytest.param({".git/x": "", ".gitignore": "b.md"}, "a.md", id="rules of the repository"),
        pytest.param({".gitignore": "b.md"}, "a.md b.md", id="no repository, no rules"),
        pytest.param(
            {".git/x": "", ".gitignore": "notes/\nb.md"},
            "a.md",
            id="a folder that is named is wanted though the repository ignores it",
        ),
        pytest.param(
            {".git/x": "", ".gitignore": "b.md", "notes/.git": ""},
            "a.md b.md",
            id="a repository of its own",
        ),
    ],
)
def test_ignore_files_above_the_root(folder: Path, above: dict[str, str], notes: str) -> None:
    put(folder, "a.md b.md")
    put(folder.parent, above)
    assert walked(folder) == notes


def test_symbolic_links_are_not_followed(folder: Path, tmp_path: Path) -> None:
    put(folder, "sub/a.md")
    put(tmp_path, "outside/secret.md")
    (folder / "link.md").symlink_to(tmp_path / "outside/secret.md")
    (folder / "linked").symlink_to(tmp_path / "outside")
    (folder / "sub/loop").symlink_to(folder)
    walk = Walk()
    assert walked(folder, walk) == "sub/a.md"
    assert walk.passed_over == [f"{folder}/link.md is a symbolic link"]


def test_what_is_no_regular_file_or_too_large_is_passed_over(folder: Path) -> None:
    os.mkfifo(folder / "pipe.md")
    put(folder, {"fits.md": "x" * LIMIT, "large.md": "x" * (LIMIT + 1)})
    walk = Walk()
    assert walked(folder, walk) == "fits.md"
    assert walk.passed_over == [
        f"{folder}/large.md is larger than 1000 bytes (max_bytes)",
        f"{folder}/pipe.md is not a regular file",
    ]
    assert walk.problems == []


def test_a_name_that_is_not_utf8_is_a_problem(folder: Path) -> None:
    (folder / os.fsdecode(b"caf\xe9.md")).write_text("x")
    put(folder, "b.md")
    walk = Walk()
    assert walked(folder, walk) == "b.md"
    assert len(walk.problems) == 1
    assert "is not UTF-8" in walk.problems[0]


def test_a_folder_whose_name_is_not_utf8_is_told_and_the_rest_goes_on(folder: Path) -> None:
    put(folder, "a.md in/b.md")
    odd = folder / "in" / os.fsdecode(b"caf\xe9")
    put(odd, "c.md deep/d.md")
    walk = Walk()
    assert walked(folder, walk) == "a.md in/b.md"
    assert walk.problems == [f"the name of {os.fsencode(odd)!r} is not UTF-8"]
    assert walk.unseen == [os.fsdecode(b"in/caf\xe9/")]
    put(folder, {".gitignore": "caf*"})
    assert walked(folder, ignored := Walk()) == "a.md in/b.md"
    assert ignored.problems == []


def test_a_name_comes_as_the_file_system_spells_it(folder: Path) -> None:
    put(folder, {"Cafe\u0301.md": "x"})
    assert walked(folder) == "Cafe\u0301.md"


def test_a_folder_that_cannot_be_read_is_told_and_the_rest_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder, "a.md shut/b.md")
    scandir = os.scandir

    def denied(path: Path) -> Any:
        if path == folder / "shut":
            raise PermissionError(errno.EACCES, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", denied)
    walk = Walk()
    assert walked(folder, walk) == "a.md"
    assert walk.problems == [f"cannot read {folder}/shut: Permission denied"]
    assert walk.unseen == ["shut/"]


def test_a_file_deleted_during_the_walk_is_no_problem(folder: Path) -> None:
    put(folder, "a.md b.md")
    walk = Walk()
    notes = files.notes_below(folder, (), (), LIMIT, walk)
    assert next(notes).file == "a.md"
    (folder / "b.md").unlink()
    assert list(notes) == []
    assert walk.problems == []


def test_time_and_size_are_the_files(folder: Path) -> None:
    put(folder, {"a.md": "three"})
    os.utime(folder / "a.md", ns=(5, 4_700_000_000_123_456_789))
    (note,) = files.notes_below(folder, (), (), LIMIT, Walk())
    assert (note.size, note.mtime_ns) == (5, 4_700_000_000_123_456_789)


def test_a_time_that_was_set_back_is_when_that_was_done(folder: Path) -> None:
    put(folder, {"a.md": "three"})
    os.utime(folder / "a.md", ns=(5, 5))
    (note,) = files.notes_below(folder, (), (), LIMIT, Walk())
    assert note.mtime_ns == (folder / "a.md").stat().st_ctime_ns > 5


@pytest.mark.parametrize(
    ("content", "text", "problem"),
    [
        pytest.param(b"", "", None, id="nothing"),
        pytest.param("Привет".encode(), "Привет", None, id="UTF-8"),
        pytest.param("\ufeff# A".encode(), "# A", None, id="UTF-8 with a byte order mark"),
        pytest.param("Привет".encode("utf-16"), "Привет", None, id="UTF-16 in machine order"),
        pytest.param(
            b"\xfe\xff" + "Привет".encode("utf-16-be"), "Привет", None, id="UTF-16, big end first"
        ),
        pytest.param("Привет".encode("utf-32"), "Привет", None, id="UTF-32"),
        pytest.param(b"a\0b", "a\0b", None, id="a NUL alone does not make it binary"),
        pytest.param(b"a\r\nb\r", "a\r\nb\r", None, id="line ends are kept"),
        pytest.param(
            "ok: Привет".encode("cp1251"),
            "ok: ������",
            "not valid UTF-8 at byte 4",
            id="another encoding is read as far as it goes",
        ),
        pytest.param(b"caf\xe9", "caf�", "not valid UTF-8 at byte 3", id="Latin-1 likewise"),
        pytest.param(
            b"\xef\xbb\xbfa\xff", "a�", "not valid UTF-8 at byte 4", id="UTF-8 marked, but broken"
        ),
        pytest.param(
            b"\xff\xfea\0b", "a�", "not valid UTF-16 at byte 4", id="UTF-16 cut in the middle"
        ),
    ],
)
def test_reading(folder: Path, content: bytes, text: str, problem: str | None) -> None:
    (folder / "a.md").write_bytes(content)
    read = files.read(folder, "a.md", LIMIT)
    assert read == files.Text(text, hashlib.sha256(content).hexdigest(), problem)


def _refuse(path: Path) -> None:
    """Leave it to `test_what_cannot_be_read` to refuse the opening."""
    path.write_text("x")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        pytest.param(
            lambda file: None,
            FileUnreadable,
            "cannot read {}: No such file or directory",
            id="gone",
        ),
        pytest.param(Path.mkdir, FileUnreadable, "cannot read {}: Is a directory", id="a folder"),
        pytest.param(os.mkfifo, FileUnreadable, "{} is not a regular file", id="a pipe"),
        pytest.param(
            lambda file: file.write_bytes(b"\x89PNG\r\n\x1a\n\0"),
            NotText,
            "{} is a binary file, not a note",
            id="binary",
        ),
        pytest.param(
            lambda file: file.write_bytes(b"x" * (LIMIT + 1)),
            FileUnreadable,
            "{} is larger than 1000 bytes: raise max_bytes to read it",
            id="too large",
        ),
        pytest.param(
            _refuse, FileUnreadable, "cannot read {}: Permission denied", id="not permitted"
        ),
    ],
)
def test_what_cannot_be_read(
    folder: Path, make: Any, error: type[QmdError], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / "a.md"
    make(file)
    if make is _refuse:
        denied = PermissionError(errno.EACCES, "Permission denied")
        monkeypatch.setattr(os, "open", lambda *_, **__: (_ for _ in ()).throw(denied))
    with pytest.raises(error) as raised:
        files.read(folder, "a.md", LIMIT)
    assert str(raised.value) == message.format(file)


@pytest.mark.parametrize("pattern", ["!", "[z-a]", "\\"])
def test_a_pattern_that_means_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(UsageError, match=r"is no pattern: write it as in a \.gitignore file"):
        files.check_patterns(["drafts/", pattern])


def test_usual_patterns_are_accepted() -> None:
    files.check_patterns(["drafts/", "!keep.md", "**/x", "[a-z].md", "# comment", ""])
