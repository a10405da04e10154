import contextlib
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from qmd_py import indexing, registry
from qmd_py.config import Settings
from qmd_py.errors import IndexUnusable, UsageError
from qmd_py.query import parse
from qmd_py.records.answers import Scope
from qmd_py.reports import IndexReport
from qmd_py.store import overview
from qmd_py.store.reader import Reader
from qmd_py.store.writer import Writer
from qmd_py.terms import Analyzer

SETTINGS = Settings()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Writer]:
    with Writer.open(tmp_path / "index.sqlite") as opened:
        yield opened


def put(folder: Path, notes: dict[str, str | bytes]) -> None:
    for name, content in notes.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)


def run(store: Writer, folder: Path, settings: Settings = SETTINGS, *, prune: bool = False) -> str:
    """Index a folder; gives the counts that are not zero."""
    return counts(index(store, folder, settings, prune=prune))


def index(
    store: Writer, folder: Path, settings: Settings = SETTINGS, *, prune: bool = False
) -> IndexReport:
    collection = registry.collection_for(store, folder)
    return indexing.update(store, collection, settings, prune=prune)


def counts(report: IndexReport) -> str:
    return " ".join(
        f"{number} {what}" for what, number in asdict(report).items() if number and what in KINDS
    )


KINDS = ("new", "changed", "moved", "removed", "unchanged")


def pids(store: Reader) -> dict[str, int]:
    return {note.path: note.pid for note in store.notes_of(Scope())}


def found(store: Reader, question: str) -> list[str]:
    query = parse(question, Analyzer(store.languages))
    run = store.note_run(query, Scope(), 1000, (10.0, 8.0, 2.0, 1.0, 0.5))
    notes = store.notes([candidate.pid for candidate in run])
    return [notes[candidate.pid].path for candidate in run]


def contents(store: Reader) -> list[object]:
    """Every row of every table, but for the settings."""
    tables = ("collections", "pids", "notes", "sections", "chunks", "chunk_terms", "note_terms")
    return [store.rows(f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables]


def test_indexing_twice_changes_nothing(store: Writer, vault: Path) -> None:
    assert run(store, vault) == "15 new"
    before = contents(store)
    assert run(store, vault) == "15 unchanged"
    assert contents(store) == before


def test_an_edited_note_is_found_by_its_new_words_under_its_old_pid(
    store: Writer, folder: Path
) -> None:
    put(folder, {"a.md": "about apples", "b.md": "about bread"})
    run(store, folder)
    before = pids(store)
    put(folder, {"a.md": "about apricots"})
    assert run(store, folder) == "1 changed 1 unchanged"
    assert pids(store) == before
    assert found(store, "apples") == []
    assert found(store, "apricots") == ["a.md"]


def test_a_touched_note_is_unchanged(store: Writer, folder: Path) -> None:
    put(folder, {"a.md": "same"})
    run(store, folder)
    before = store.notes_of(Scope())[0].state.mtime_ns
    os.utime(folder / "a.md", ns=(1, before + 10**12))
    assert run(store, folder) == "1 unchanged"
    assert store.notes_of(Scope())[0].state.mtime_ns == before + 10**12


def test_new_bytes_under_the_old_time_are_read(store: Writer, folder: Path) -> None:
    """As synchronising tools leave them."""
    put(folder, {"a.md": "about apples"})
    run(store, folder)
    old = (folder / "a.md").stat()
    time.sleep(0.02)  # longer than the file system's clock ticks
    put(folder, {"a.md": "about quince"})
    os.utime(folder / "a.md", ns=(old.st_atime_ns, old.st_mtime_ns))
    assert (folder / "a.md").stat().st_size == old.st_size
    assert run(store, folder) == "1 changed"


def test_a_deleted_note_is_found_no_more(store: Writer, folder: Path) -> None:
    put(folder, {"a.md": "about apples", "b.md": "about apples too"})
    run(store, folder)
    (folder / "a.md").unlink()
    assert run(store, folder) == "1 removed 1 unchanged"
    assert found(store, "apples") == ["b.md"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("a.md", "b.md", id="renamed"),
        pytest.param("a.md", "sub/deep/a.md", id="moved to another folder"),
        pytest.param("Note.md", "note.md", id="renamed in case alone"),
        pytest.param("Cafe\u0301.md", "Café.md", id="renamed in Unicode form alone"),
    ],
)
def test_the_pid_follows_a_moved_file(store: Writer, folder: Path, old: str, new: str) -> None:
    put(folder, {old: "about apples", "z.md": "other"})
    run(store, folder)
    pid = pids(store)[_nfc(old)]
    (folder / new).parent.mkdir(parents=True, exist_ok=True)
    (folder / old).rename(folder / new)
    assert run(store, folder) == "1 moved 1 unchanged"
    assert pids(store)[_nfc(new)] == pid
    assert found(store, "apples") == [_nfc(new)]
    assert run(store, folder) == "2 unchanged"


def _nfc(path: str) -> str:
    return path.replace("e\u0301", "é")


def test_a_moved_note_without_title_is_named_after_its_new_file(
    store: Writer, folder: Path
) -> None:
    put(folder, {"apples.md": "text", "z.md": "other"})
    run(store, folder)
    (folder / "apples.md").rename(folder / "pears.md")
    run(store, folder)
    assert found(store, "pears") == ["pears.md"]
    assert found(store, "apples") == []


def test_a_copy_is_a_note_of_its_own(store: Writer, folder: Path) -> None:
    put(folder, {"a.md": "about apples"})
    run(store, folder)
    pid = pids(store)["a.md"]
    put(folder, {"b.md": "about apples"})
    assert run(store, folder) == "1 new 1 unchanged"
    assert pids(store)["a.md"] == pid
    (folder / "a.md").unlink()
    run(store, folder)
    assert found(store, "apples") == ["b.md"]


def test_equal_notes_in_a_renamed_folder_keep_their_pids(store: Writer, folder: Path) -> None:
    put(folder, {"old/a.md": "", "old/b.md": "", "old/c.md": ""})
    run(store, folder)
    before = pids(store)
    (folder / "old").rename(folder / "new")
    assert run(store, folder) == "3 moved"
    assert {path.replace("new", "old"): pid for path, pid in pids(store).items()} == before


def test_a_note_that_comes_back_keeps_its_pid(store: Writer, folder: Path) -> None:
    put(folder, {"a.md": "about apples", "b.md": "bread"})
    run(store, folder)
    pid = pids(store)["a.md"]
    (folder / "a.md").unlink()
    run(store, folder)
    put(folder, {"a.md": "about apples again"})
    assert run(store, folder) == "1 new 1 unchanged"
    assert pids(store)["a.md"] == pid


def test_a_new_note_at_the_path_of_a_moved_one_has_a_new_pid(store: Writer, folder: Path) -> None:
    put(folder, {"a.md": "about apples"})
    run(store, folder)
    pid = pids(store)["a.md"]
    (folder / "a.md").rename(folder / "b.md")
    run(store, folder)
    put(folder, {"a.md": "a new one"})
    run(store, folder)
    assert pids(store)["b.md"] == pid
    assert pids(store)["a.md"] > pid


@pytest.mark.parametrize(
    ("lose", "message"),
    [
        pytest.param(shutil.rmtree, "is gone", id="a vanished root"),
        pytest.param(
            lambda folder: (folder / "a.md").unlink(), "has no notes", id="an emptied root"
        ),
        pytest.param(
            lambda folder: folder.rename(folder.with_name("away")), "is gone", id="a moved root"
        ),
    ],
)
def test_notes_of_a_lost_folder_stay_until_pruned(
    store: Writer, folder: Path, lose, message: str
) -> None:
    put(folder, {"a.md": "about apples"})
    run(store, folder)
    lose(folder)
    report = index(store, folder)
    assert counts(report) == ""
    assert report.problems == (
        f"{folder} {message}; its 1 notes stay in the index: bring it back, or drop them with --prune",
    )
    assert found(store, "apples") == ["a.md"]
    assert run(store, folder, prune=True) == "1 removed"
    assert found(store, "apples") == []


def test_a_folder_that_comes_back_is_unchanged(store: Writer, folder: Path) -> None:
    put(folder, {"a.md": "about apples"})
    run(store, folder)
    away = folder.rename(folder.with_name("away"))
    run(store, folder)
    away.rename(folder)
    assert run(store, folder) == "1 unchanged"


def test_changed_ignore_rules_act_on_what_is_indexed(store: Writer, folder: Path) -> None:
    put(folder, {"a.md": "about apples", "drafts/b.md": "about bread"})
    run(store, folder)
    pid = pids(store)["drafts/b.md"]
    put(folder, {".gitignore": "drafts/"})
    assert run(store, folder) == "1 removed 1 unchanged"
    assert found(store, "bread") == []
    (folder / ".gitignore").unlink()
    assert run(store, folder) == "1 new 1 unchanged"
    assert pids(store)["drafts/b.md"] == pid


def test_a_changed_size_limit_acts_on_what_is_indexed(store: Writer, folder: Path) -> None:
    put(folder, {"a.md": "short", "long.md": "long " * 100})
    small = Settings(max_bytes=100)
    report = index(store, folder, small)
    assert counts(report) == "1 new"
    assert report.passed_over == (f"{folder}/long.md is larger than 100 bytes (max_bytes)",)
    assert run(store, folder) == "1 new 1 unchanged"
    assert run(store, folder, small) == "1 removed 1 unchanged"


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(Settings(languages=("de",)), id="languages"),
        pytest.param(Settings(chunk_chars=300), id="the size of chunks"),
    ],
)
def test_changed_settings_make_the_index_anew(
    store: Writer, folder: Path, settings: Settings
) -> None:
    put(folder, {"a.md": "about apples"})
    run(store, folder)
    assert run(store, folder, settings) == "1 changed"
    assert run(store, folder, settings) == "1 unchanged"


def test_a_search_goes_by_the_languages_of_the_index(store: Writer, folder: Path) -> None:
    put(folder, {"a.md": "die Häuser der Stadt"})
    run(store, folder, Settings(languages=("de",)))
    assert store.languages == ("de",)
    assert found(store, "Haus") == ["a.md"]


def test_many_files_in_nested_folders_are_all_counted(store: Writer, folder: Path) -> None:
    for outer in range(10):
        for inner in range(10):
            below = folder / f"{outer}/{inner}"
            below.mkdir(parents=True)
            for number in range(15):
                (below / f"{number}.md").write_bytes(b"tiny %d" % number)
    report = index(store, folder)
    assert report.new == 1500
    assert overview.status(store).notes == 1500
    assert run(store, folder) == "1500 unchanged"


@pytest.mark.parametrize(
    ("name", "content", "question"),
    [
        pytest.param("B.MD", "about apples", "apples", id="an extension in capitals"),
        pytest.param("Cafe\u0301.md", "text", "café", id="a file's name in NFD"),
        pytest.param(
            "x.md", "---\ntitle: Apples\n---\n", "apples", id="front matter alone, by title"
        ),
        pytest.param(
            "x.md", "---\ntags: [apples]\n---\n", "apples", id="front matter alone, by tag"
        ),
        pytest.param("apples.md", "", "apples", id="an empty file, by its name"),
        pytest.param("x.md", "# Apples\n", "apples", id="a heading alone"),
        pytest.param(
            "x.md",
            "before " + "\0" * 10291 + " after",
            "after",
            id="words behind ten thousand NULs",
        ),
        pytest.param(
            "x.md", "about Äpfel".encode("utf-16"), "Äpfel", id="UTF-16 with a byte order mark"
        ),
        pytest.param("x.md", "\ufeff# Apples", "apples", id="UTF-8 with a byte order mark"),
        pytest.param("x.md", "- - 3\n- 2. apples\n* -", "apples", id="odd but legal Markdown"),
        pytest.param("# A & B (Q4) [x].md", "apples", "apples", id="signs in a file's name"),
        pytest.param("a\nb.md", "apples", "apples", id="a line end in a file's name"),
    ],
)
def test_a_note_is_found(
    store: Writer, folder: Path, name: str, content: str | bytes, question: str
) -> None:
    put(folder, {name: content, "z.md": "nothing of the kind"})
    report = index(store, folder)
    assert report.problems == ()
    assert found(store, question) == [_nfc(name)]
    assert store.rows("PRAGMA integrity_check") == [("ok",)]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(
            "Привет, apples".encode("cp1251"), "not valid UTF-8 at byte 0", id="another encoding"
        ),
        pytest.param(
            "---\ntitle: X\nfamily: [[A]]  [[B]]\n---\napples", "is not YAML", id="broken YAML"
        ),
        pytest.param("---\n\ttitle: X\n---\napples", "is not YAML", id="a tab in YAML"),
        pytest.param("---\na: b: c\n---\napples", "is not YAML", id="two colons in YAML"),
        pytest.param("---\ntitle: {{date}}\n---\napples", "is not YAML", id="a template"),
    ],
)
def test_a_note_with_a_fault_is_named_and_found(
    store: Writer, folder: Path, content: str | bytes, problem: str
) -> None:
    put(folder, {"x.md": content})
    report = index(store, folder)
    assert counts(report) == "1 new"
    assert len(report.problems) == 1
    assert report.problems[0].startswith(f"{folder}/x.md: ")
    assert problem in report.problems[0]
    assert found(store, "apples") == ["x.md"]
    assert problem in overview.status(store).problems[0]


def test_files_that_are_no_notes_end_nothing(store: Writer, folder: Path) -> None:
    put(folder, {"a.md": "about apples", "bin.md": b"\x89PNG\r\n\x1a\n\0", "z.md": "bread"})
    os.mkfifo(folder / "pipe.md")
    (folder / "dir.md").mkdir()
    report = index(store, folder)
    assert counts(report) == "2 new"
    assert report.problems == (f"{folder}/bin.md is a binary file, not a note",)
    assert report.passed_over == (f"{folder}/pipe.md is not a regular file",)


def test_a_note_that_cannot_be_read_now_is_named_and_kept(
    store: Writer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder, {"a.md": "about apples", "b.md": "about bread"})
    run(store, folder)
    put(folder, {"a.md": "edited", "b.md": "about buns"})
    opened = os.open

    def denied(path: Path, flags: int, *, dir_fd: int | None = None) -> int:
        if Path(path).name == "a.md":
            raise PermissionError(13, "Permission denied")
        return opened(path, flags, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", denied)
    report = index(store, folder)
    assert counts(report) == "1 changed"
    assert report.problems == (f"cannot read {folder}/a.md: Permission denied",)
    assert found(store, "apples") == ["a.md"]
    monkeypatch.undo()
    assert run(store, folder) == "1 changed 1 unchanged"


def test_notes_of_a_folder_that_cannot_be_read_now_are_kept(
    store: Writer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder, {"a.md": "about apples", "shut/b.md": "about bread"})
    run(store, folder)
    scandir = os.scandir

    def denied(path: Path):
        if Path(path).name == "shut":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", denied)
    report = index(store, folder)
    assert counts(report) == "1 unchanged"
    assert report.problems == (f"cannot read {folder}/shut: Permission denied",)
    assert found(store, "bread") == ["shut/b.md"]


def test_names_that_look_alike_are_four_notes(store: Writer, folder: Path) -> None:
    names = ["my file.md", "my-file.md", "my_file.md", "# Meeting & Co (Q4) [x].md"]
    put(folder, dict.fromkeys(names, "about apples"))
    assert run(store, folder) == "4 new"
    assert sorted(found(store, "apples")) == sorted(names)


def test_both_unicode_forms_of_a_name_are_two_notes(store: Writer, folder: Path) -> None:
    put(folder, {"Café.md": "about apples", "Cafe\u0301.md": "about bread"})
    assert run(store, folder) == "2 new"
    assert {note.file for note in store.notes_of(Scope())} == {"Café.md", "Cafe\u0301.md"}
    assert {note.path for note in store.notes_of(Scope())} == {"Café.md"}


def test_a_collection_is_named_after_its_folder(store: Writer, folder: Path) -> None:
    other = folder / "sub" / "notes"
    other.mkdir(parents=True)
    assert registry.collection_for(store, folder).name == "notes"
    assert registry.collection_for(store, other).name == "notes-2"
    assert registry.collection_for(store, folder / "sub/..").name == "notes"


def test_a_folder_is_one_collection_by_whatever_path(store: Writer, folder: Path) -> None:
    link = folder.with_name("link")
    link.symlink_to(folder)
    assert registry.collection_for(store, link) == registry.collection_for(store, folder)


@pytest.mark.parametrize("name", ["", " ", "a/b", "a\nb", "-x", "--json"])
def test_a_name_that_cannot_be_typed_is_refused(store: Writer, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be a collection's name"):
        registry.checked_name(name)


def test_a_folder_whose_name_cannot_be_typed_is_named_without_its_hyphens(
    store: Writer, folder: Path
) -> None:
    (folder / "--json").mkdir()
    assert registry.collection_for(store, folder / "--json").name == "json"


def test_a_wrong_pattern_registers_nothing(store: Writer, folder: Path) -> None:
    with pytest.raises(UsageError, match="'!' is no pattern"):
        registry.add_collection(store, folder, None, (), ["!"])
    assert store.collections() == []


def test_progress_ends_with_all_notes_that_had_to_be_read(store: Writer, folder: Path) -> None:
    put(folder, {f"{number}.md": "x" for number in range(3)})
    seen: list[tuple[int, int]] = []
    collection = registry.collection_for(store, folder)
    indexing.update(store, collection, SETTINGS, progress=lambda *at: seen.append(at))
    assert seen[-1] == (3, 3)


def child(code: str, *args: object) -> subprocess.Popen[str]:
    """A process of its own that runs some code with these arguments."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, args)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_eight_processes_make_one_new_index(folder: Path, tmp_path: Path) -> None:
    put(folder, {f"{number}.md": f"about apples {number}" for number in range(30)})
    file = tmp_path / "fresh" / "index.sqlite"
    code = """
        import sys
        from qmd_py.cli.whole import app
        from qmd_py import indexing, registry
        from qmd_py.store import writer
        print("ready", flush=True)
        sys.stdin.readline()
        app(["index", "--no-embed", sys.argv[1], "--index", sys.argv[2]])
    """
    with contextlib.ExitStack() as stack:
        children = [stack.enter_context(child(code, folder, file)) for _ in range(8)]
        for process in children:
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
        for process in children:
            assert process.stdin
            process.stdin.write("go\n")
            process.stdin.flush()
        outcomes = [(process.communicate()[1], process.returncode) for process in children]
    assert outcomes == [("", 0)] * 8
    with Writer.open(file) as store:
        assert store.rows("PRAGMA integrity_check") == [("ok",)]
        assert [(found.name, found.notes) for found in store.collections()] == [("notes", 30)]
        assert run(store, folder) == "30 unchanged"


@pytest.mark.parametrize(
    ("moment", "kept"),
    [
        pytest.param(
            "update(*args, progress=lambda *_: die())", 200, id="killed between two batches"
        ),
        pytest.param(
            "Writer.delete_note = lambda *_: dying(); update(*args)",
            200,
            id="killed inside the second batch",
        ),
    ],
)
def test_a_killed_run_leaves_a_good_index_that_the_next_one_completes(
    folder: Path, tmp_path: Path, moment: str, kept: int
) -> None:
    put(folder, {f"{number:03}.md": f"about apples {number}" for number in range(250)})
    file = tmp_path / "index.sqlite"
    code = f"""
        import itertools, os, signal, sys
        from pathlib import Path
        from qmd_py.config import Settings
        from qmd_py.indexing import update
        from qmd_py.registry import collection_for
        from qmd_py.store.writer import Writer
        calls = itertools.count(1)
        def die():
            os.kill(os.getpid(), signal.SIGKILL)
        def dying():
            if next(calls) == 225:
                die()
        with Writer.open(Path(sys.argv[1])) as store:
            args = store, collection_for(store, Path(sys.argv[2])), Settings()
            {moment}
    """
    with child(code, file, folder) as process:
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    with Reader.open(file) as reader:
        assert reader.rows("PRAGMA integrity_check") == [("ok",)]
        assert len(found(reader, "apples")) == kept
        assert overview.status(reader).notes == kept
    with Writer.open(file) as store:
        assert run(store, folder) == f"{250 - kept} new {kept} unchanged"
        assert run(store, folder) == "250 unchanged"


class TestSeveralProcesses:
    """Many notes are read by several processes at once."""

    @pytest.fixture(autouse=True)
    def few_are_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(indexing, "_MANY", 2)
        monkeypatch.setattr("qmd_py.processors.threads", lambda: 2)

    def test_make_the_same_index_as_one(
        self, store: Writer, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put(folder, {f"{at:02}.md": f"# Note {at}\n\nabout apples {at}" for at in range(70)})
        put(folder, {"binary.md": b"\0\xff", "wrong.md": b"about \xff apples"})
        report = index(store, folder)
        assert counts(report) == "71 new"
        assert report.problems == (
            f"{folder}/binary.md is a binary file, not a note",
            f"{folder}/wrong.md: not valid UTF-8 at byte 6",
        )
        monkeypatch.setattr(indexing, "_MANY", 1000)
        with Writer.open(tmp_path / "alone.sqlite") as alone:
            index(alone, folder)
            for table in ("chunk_terms", "note_terms", "chunks", "sections", "pids"):
                sql = f"SELECT * FROM {table} ORDER BY 1, 2"
                assert store.rows(sql) == alone.rows(sql)

    def test_pass_over_what_is_known_and_follow_what_moved(
        self, store: Writer, folder: Path
    ) -> None:
        put(folder, {"a.md": "about apples", "b.md": "about bread", "c.md": "about cheese"})
        assert run(store, folder) == "3 new"
        os.utime(folder / "a.md", (1, 1))
        (folder / "b.md").rename(folder / "d.md")
        put(folder, {"c.md": "about cherries"})
        assert run(store, folder) == "1 changed 1 moved 1 unchanged"

    def test_one_that_is_killed_is_told(
        self, store: Writer, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("qmd_py.entries._end_with_parent", die)
        put(folder, {"a.md": "about apples", "b.md": "about bread"})
        with pytest.raises(IndexUnusable, match="was killed: free some memory"):
            run(store, folder)
        monkeypatch.undo()
        assert run(store, folder) == "2 new"

    def test_run_no_file_of_the_folder_they_are_started_in(
        self, folder: Path, tmp_path: Path
    ) -> None:
        put(folder, {"a.md": "about apples", "b.md": "about bread"})
        put(folder, {"socket.py": "open('ran', 'w').close()"})
        code = """
            import os, sys
            sys.path.remove("")
            from qmd_py import indexing, processors
            from qmd_py.cli import main
            os.chdir(sys.argv[2])
            indexing._MANY, processors.threads = 2, lambda: 2
            sys.argv = ["qmd", "index", "--no-embed", ".", "--index", sys.argv[1]]
            main()
        """
        with child(code, tmp_path / "index.sqlite", folder) as process:
            told, _ = process.communicate(timeout=60)
        assert (told, process.returncode) == ("notes: 2 new\n", 0)
        assert not (folder / "ran").exists()

    def test_leave_the_environment_as_it_was(
        self, store: Writer, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PYTHONSAFEPATH", "")
        put(folder, {"a.md": "about apples", "b.md": "about bread"})
        before = dict(os.environ)
        assert run(store, folder) == "2 new"
        assert dict(os.environ) == before

    @pytest.mark.parametrize(
        ("moment", "status"),
        [
            pytest.param("os.kill(os.getpid(), 9)", -9, id="killed"),
            pytest.param("os.killpg(0, 2)", 130, id="by Ctrl-C, which reaches all of them"),
        ],
    )
    def test_end_with_the_one_they_work_for(
        self, folder: Path, tmp_path: Path, moment: str, status: int
    ) -> None:
        """They hold the error stream open, so its end says that all are gone."""
        put(folder, {f"{at:02}.md": f"about apples {at}" for at in range(200)})
        code = f"""
            import os, sys
            from qmd_py import indexing, processors
            from qmd_py.cli import main
            if __name__ == "__main__":
                indexing._MANY, processors.threads = 2, lambda: 2
                indexing._Work._put = lambda *_: {moment}
                sys.argv = ["qmd", "index", "--no-embed", sys.argv[2], "--index", sys.argv[1]]
                main()
        """
        with child(code, tmp_path / "index.sqlite", folder) as process:
            _, said = process.communicate(timeout=60)
        assert process.returncode == status
        assert "Traceback" not in said
        assert not said or status == -9  # of what it could not put in order itself


def die() -> None:
    os._exit(9)
