import contextlib
import sqlite3
from pathlib import Path

import pytest

from qmd_py.errors import IndexMissing, IndexUnusable, UsageError
from qmd_py.query import Phrase, Query, Word
from qmd_py.records.answers import Scope
from qmd_py.records.notes import Collection, Note
from qmd_py.records.stored import Chunk, FileState, StoredNote
from qmd_py.store import connection, overview
from qmd_py.store.reader import Reader
from qmd_py.store.rows import Terms, rows_of
from qmd_py.store.writer import Writer

WEIGHTS = (10.0, 8.0, 2.0, 1.0, 0.5)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "index.sqlite"


def add(store: Writer, name: str) -> Collection:
    with store.batch():
        return store.add_collection(name, f"/{name}", (), ())


def put(store: Writer, collection: Collection, file: str, body: str = "", path: str = "") -> int:
    """Write a note of one chunk whose body holds these terms."""
    pid = store.pid_for(collection, file)
    note = Note(path or file, file, (), (), "", {}, (), (Chunk(None, 1, 1, body),))
    terms = Terms("", "", "", body, "")
    state = FileState(1, 2, file)
    rows = rows_of(note, terms, [terms], [b""])
    moment = "2026-01-01T00:00:00Z"
    store.put_note(pid, collection, rows, state, indexed_at=moment, made_by="test")
    return pid


def words(*typed: str) -> Query:
    return Query(" ".join(typed), words=tuple(Word(word, (word,)) for word in typed))


def test_a_missing_index_says_what_to_do(file: Path) -> None:
    with pytest.raises(IndexMissing) as raised:
        Reader.open(file)
    assert str(raised.value) == f"no index at {file}: run 'qmd index DIR' first"
    assert not file.exists()


def _version(number: int, file: Path) -> None:
    with Writer.open(file) as store:
        store.rows(f"PRAGMA user_version = {number}")


def _foreign(file: Path, version: int = 0) -> None:
    other = sqlite3.connect(file)
    other.execute("CREATE TABLE meta (key, value)")
    other.execute("CREATE TABLE notes (text)")
    other.execute(f"PRAGMA user_version = {version}")
    other.commit()
    other.close()


UNUSABLE = [
    pytest.param(
        lambda file: file.write_text("# A note, and no database at all\n" * 100),
        "file is not a database: it is no index of qmd",
        id="a file that is no database",
    ),
    pytest.param(
        lambda file: _version(connection.SCHEMA_VERSION + 1, file),
        "was written by a later qmd: update this one",
        id="an index of a later version",
    ),
]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        *UNUSABLE,
        pytest.param(
            lambda file: _version(1, file),
            "is of an earlier version: run 'qmd index' to bring it up to date",
            id="an index of an earlier version",
        ),
    ],
)
def test_an_unusable_index_is_not_read(file: Path, make, message: str) -> None:
    make(file)
    with pytest.raises(IndexUnusable, match=message):
        Reader.open(file)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        *UNUSABLE,
        pytest.param(Path.mkdir, "unable to open database file", id="a folder"),
        pytest.param(
            _foreign, "is another program's database: choose another", id="a foreign database"
        ),
    ],
)
def test_an_unusable_index_is_not_written(file: Path, make, message: str) -> None:
    make(file)
    before = file.read_bytes() if file.is_file() else None
    with pytest.raises(IndexUnusable, match=message):
        Writer.open(file)
    if before and not before.startswith(b"SQLite"):
        assert file.read_bytes() == before


@pytest.mark.parametrize("version", range(connection.SCHEMA_VERSION + 2))
def test_a_foreign_database_is_left_as_it_is(file: Path, version: int) -> None:
    _foreign(file, version)
    before = file.read_bytes()
    with pytest.raises(IndexUnusable, match="is another program's database: choose another"):
        Writer.open(file)
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir() if path.is_file()] == [file.name]


@pytest.mark.parametrize("version", [0, connection.SCHEMA_VERSION + 1])
def test_a_foreign_database_is_not_read(file: Path, version: int) -> None:
    _foreign(file, version)
    with pytest.raises(IndexUnusable, match="is another program's database: choose another"):
        Reader.open(file)


def test_a_database_without_tables_that_has_a_version_is_not_ours(file: Path) -> None:
    other = sqlite3.connect(file)
    other.execute(f"PRAGMA user_version = {connection.SCHEMA_VERSION}")
    other.close()
    with pytest.raises(IndexUnusable, match="is another program's database: choose another"):
        Writer.open(file)


def test_an_index_of_a_later_version_is_left_as_it_is(file: Path) -> None:
    _version(connection.SCHEMA_VERSION + 1, file)
    other = sqlite3.connect(file)
    other.execute("PRAGMA journal_mode = DELETE")
    other.close()
    before = file.read_bytes()
    with pytest.raises(IndexUnusable, match="was written by a later qmd"):
        Writer.open(file)
    assert file.read_bytes() == before


def test_an_empty_file_becomes_an_index(file: Path) -> None:
    file.touch()
    with Writer.open(file) as store:
        assert store.collections() == []


def test_a_damaged_index_says_so(file: Path) -> None:
    with Writer.open(file) as store, store.batch():
        notes = store.add_collection("notes", "/notes", (), ())
        for number in range(200):
            put(store, notes, f"{number}.md", "word " * 50)
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    file.write_bytes(content)
    with (
        pytest.raises(IndexUnusable, match="malformed: delete the file"),
        Reader.open(file) as reader,
    ):
        reader.notes_of(Scope())


@pytest.mark.parametrize("name", ["we#ird", "what?", "100%25", "a b", "ünï", "x?mode=memory"])
def test_any_path_is_the_path_of_that_very_file(tmp_path: Path, name: str) -> None:
    file = tmp_path / name / name
    with Writer.open(file) as store:
        add(store, "notes")
    with Reader.open(file) as store:
        assert [found.name for found in store.collections()] == ["notes"]
    made = {path.name.removesuffix("-wal").removesuffix("-shm") for path in file.parent.iterdir()}
    assert made == {name}


def test_side_files_left_by_a_deleted_index_do_no_harm(file: Path) -> None:
    with Writer.open(file) as store:
        add(store, "old")
        sides = {side: Path(f"{file}{side}").read_bytes() for side in ("-wal", "-shm")}
    file.unlink()
    for side, content in sides.items():
        Path(f"{file}{side}").write_bytes(content)
    with Writer.open(file) as store:
        assert store.collections() == []
        add(store, "new")
        assert store.rows("PRAGMA integrity_check") == [("ok",)]


def test_a_locked_index_names_the_cause(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Writer.open(file) as store, store.batch():
        monkeypatch.setattr(connection, "_PATIENCE", 0.01)
        with (
            Writer.open(file) as second,
            pytest.raises(IndexUnusable, match="locked: another qmd is writing"),
            second.batch(),
        ):
            pass


def test_one_can_read_while_another_writes(file: Path) -> None:
    with Writer.open(file) as store:
        notes = add(store, "notes")
        with store.batch():
            put(store, notes, "a.md", "word")
            with Reader.open(file) as reader:
                assert reader.notes_of(Scope()) == []


def test_a_reader_cannot_write(file: Path) -> None:
    with Writer.open(file):
        pass
    with Reader.open(file) as store, pytest.raises(IndexUnusable, match="readonly"):
        store.rows("DELETE FROM notes")


def test_opening_again_changes_nothing(file: Path) -> None:
    with Writer.open(file) as store:
        put(store, add(store, "notes"), "a.md")
        schema = store.rows("SELECT sql FROM sqlite_schema ORDER BY 1")
    with Writer.open(file) as store:
        assert store.rows("SELECT sql FROM sqlite_schema ORDER BY 1") == schema
        assert [note.path for note in store.notes_of(Scope())] == ["a.md"]


def test_a_batch_is_all_or_nothing(file: Path) -> None:
    with Writer.open(file) as store:
        notes = add(store, "notes")
        with contextlib.suppress(KeyboardInterrupt), store.batch():
            put(store, notes, "a.md", "word")
            raise KeyboardInterrupt
        assert store.notes_of(Scope()) == []
        assert store.note_run(words("word"), Scope(), 9, WEIGHTS) == []


def test_what_is_no_utf8_is_the_callers_mistake(file: Path) -> None:
    with Writer.open(file) as store, pytest.raises(UsageError, match="is not valid UTF-8"):
        store.notes_at("caf\udce9.md")


def test_a_pid_stays_with_its_path(file: Path) -> None:
    with Writer.open(file) as store:
        notes = add(store, "notes")
        pid = put(store, notes, "a.md")
        put(store, notes, "b.md")
        assert put(store, notes, "a.md", "edited") == pid
        store.delete_note(pid)
        assert store.pid_for(notes, "a.md") == pid


def test_a_pid_is_never_given_again(file: Path) -> None:
    with Writer.open(file) as store:
        notes = add(store, "notes")
        pid = put(store, notes, "a.md")
        store.remove_collection(notes)
        assert put(store, add(store, "notes"), "a.md") > pid


def test_a_moved_note_takes_the_place_of_one_that_is_gone(file: Path) -> None:
    with Writer.open(file) as store:
        notes = add(store, "notes")
        lost, kept = put(store, notes, "a.md"), put(store, notes, "b.md")
        store.delete_note(lost)
        store.move_note(kept, "a.md", "a.md", FileState(3, 4, "b.md"))
        (note,) = store.notes_of(Scope())
        assert (note.pid, note.file, note.path) == (kept, "a.md", "a.md")


def test_a_removed_collection_leaves_nothing_behind(file: Path) -> None:
    with Writer.open(file) as store:
        notes, other = add(store, "notes"), add(store, "other")
        put(store, notes, "a.md", "word")
        put(store, other, "b.md", "word")
        store.remove_collection(notes)
        assert [note.path for note in store.notes_of(Scope())] == ["b.md"]
        for table in ("pids", "notes", "chunks", "chunk_terms", "note_terms", "collections"):
            assert store.rows(f"SELECT count(*) FROM {table}") == [(1,)], table


def test_two_collections_cannot_share_a_name(file: Path) -> None:
    with Writer.open(file) as store:
        add(store, "notes")
        other = add(store, "other")
        with pytest.raises(UsageError, match="there is a collection 'notes' already"):
            add(store, "notes")
        with pytest.raises(UsageError, match="there is a collection 'notes' already"):
            store.rename_collection(other, "notes")
        assert [found.name for found in store.collections()] == ["notes", "other"]


def _places(notes: list[StoredNote]) -> list[str]:
    return [f"{note.collection}/{note.path}" for note in notes]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        pytest.param("sub/a.md", ["one/sub/a.md"], id="the path in its collection"),
        pytest.param("one/sub/a.md", ["one/sub/a.md"], id="the collection before it"),
        pytest.param("same.md", ["one/same.md", "two/same.md"], id="a path in two collections"),
        pytest.param("two/same.md", ["two/same.md"], id="told apart by collection"),
        pytest.param("Cafe\u0301.md", ["one/Café.md"], id="typed in NFD"),
        pytest.param("Café.md", ["one/Café.md"], id="typed in NFC"),
        pytest.param("a.md", [], id="not the file's name alone"),
        pytest.param("SUB/a.md", [], id="case counts"),
        pytest.param("sub/%.md", [], id="no wildcards"),
    ],
)
def test_notes_by_path(file: Path, path: str, found: list[str]) -> None:
    with Writer.open(file) as store:
        one, two = add(store, "one"), add(store, "two")
        put(store, one, "sub/a.md")
        put(store, one, "same.md")
        put(store, two, "same.md")
        put(store, one, "Cafe\u0301.md", path="Café.md")
        assert _places(store.notes_at(path)) == found


def test_files_that_differ_in_unicode_form_alone_are_told_apart_by_it(file: Path) -> None:
    with Writer.open(file) as store:
        one = add(store, "one")
        composed = put(store, one, "Café.md", path="Café.md")
        decomposed = put(store, one, "Cafe\u0301.md", path="Café.md")
        assert [note.pid for note in store.notes_at("Café.md")] == [composed]
        assert [note.pid for note in store.notes_at("Cafe\u0301.md")] == [decomposed]


@pytest.mark.parametrize(
    ("scope", "found"),
    [
        pytest.param(Scope(), "one/a.md one/sub/b.md one/x[1].md two/a.md", id="everything"),
        pytest.param(Scope(("two",)), "two/a.md", id="one collection"),
        pytest.param(Scope(("two", "one"), ("a.md",)), "one/a.md two/a.md", id="two united"),
        pytest.param(Scope(("none",)), "", id="an unknown one holds nothing"),
        pytest.param(Scope(paths=("sub",)), "one/sub/b.md", id="a folder"),
        pytest.param(Scope(paths=("sub/",)), "one/sub/b.md", id="a folder with a slash"),
        pytest.param(Scope(paths=("su",)), "", id="no part of a folder's name"),
        pytest.param(Scope(paths=("*b.md",)), "one/sub/b.md", id="a star crosses folders"),
        pytest.param(Scope(paths=("sub/**",)), "one/sub/b.md", id="two stars are one"),
        pytest.param(Scope(paths=("?.md",)), "one/a.md two/a.md", id="any one character"),
        pytest.param(Scope(paths=("*[1].md",)), "one/x[1].md", id="brackets are literal"),
        pytest.param(
            Scope(("one",), ("a.md", "sub")), "one/a.md one/sub/b.md", id="paths are united"
        ),
        pytest.param(Scope(paths=("' OR 1 --",)), "", id="no SQL"),
    ],
)
def test_scope(file: Path, scope: Scope, found: str) -> None:
    with Writer.open(file) as store:
        one, two = add(store, "one"), add(store, "two")
        for name in ("a.md", "sub/b.md", "x[1].md"):
            put(store, one, name)
        put(store, two, "a.md")
        assert " ".join(_places(store.notes_of(scope))) == found


def test_a_path_glob_may_be_typed_in_nfd(file: Path) -> None:
    with Writer.open(file) as store:
        put(store, add(store, "one"), "Café/a.md")
        assert len(store.notes_of(Scope(paths=("Cafe\u0301/*",)))) == 1
        assert len(store.notes_of(Scope(paths=("Cafe\u0301",)))) == 1


def test_runs_are_best_first_and_higher_is_better(file: Path) -> None:
    with Writer.open(file) as store:
        notes = add(store, "notes")
        often, once = put(store, notes, "z.md", "word word"), put(store, notes, "a.md", "word x")
        for number in range(8):
            put(store, notes, f"{number}.md", "x y")
        for run in (store.note_run, store.chunk_run):
            found = run(words("word"), Scope(), 9, WEIGHTS)
            assert [candidate.pid for candidate in found] == [often, once]
            assert found[0].score > found[1].score > 0


def test_equal_scores_stand_in_order_of_collection_and_path(file: Path) -> None:
    with Writer.open(file) as store:
        two, one = add(store, "two"), add(store, "one")
        for collection, name in ((two, "a.md"), (one, "b.md"), (one, "a.md")):
            put(store, collection, name, "word")
        for run in (store.note_run, store.chunk_run):
            pids = [candidate.pid for candidate in run(words("word"), Scope(), 9, WEIGHTS)]
            notes = store.notes(pids)
            assert _places([notes[pid] for pid in pids]) == ["one/a.md", "one/b.md", "two/a.md"]


def test_the_scope_acts_before_the_cut(file: Path) -> None:
    with Writer.open(file) as store:
        crowd, few = add(store, "crowd"), add(store, "few")
        for number in range(20):
            put(store, crowd, f"{number}.md", "word word word")
        put(store, few, "a.md", "word and much else besides")
        for run in (store.note_run, store.chunk_run):
            assert len(run(words("word"), Scope(("few",)), 1, WEIGHTS)) == 1
            assert len(run(words("word"), Scope(paths=("a.md",)), 1, WEIGHTS)) == 1


@pytest.mark.parametrize(
    ("query", "found"),
    [
        pytest.param(words("alpha", "beta"), "ab a b", id="any word, the more the better"),
        pytest.param(
            Query("", phrases=(Phrase("", ("alpha", "beta")),)), "ab", id="a phrase must occur"
        ),
        pytest.param(
            Query("", words=words("alpha").words, excluded=(Phrase("", ("beta",)),)),
            "a",
            id="an exclusion must not",
        ),
        pytest.param(Query("", words=(Word("al*", ("al",), prefix=True),)), "a ab", id="a prefix"),
        pytest.param(words('al"pha', "OR", "*"), "", id="no syntax of FTS5"),
    ],
)
def test_what_a_question_finds(file: Path, query: Query, found: str) -> None:
    with Writer.open(file) as store:
        notes = add(store, "notes")
        for name, body in (("a", "alpha"), ("b", "beta"), ("ab", "alpha beta"), ("c", "gamma")):
            put(store, notes, name, body)
        for run in (store.note_run, store.chunk_run):
            pids = [candidate.pid for candidate in run(query, Scope(), 9, WEIGHTS)]
            names = store.notes(pids)
            assert " ".join(names[pid].path for pid in pids) == found


def test_any_number_of_ids_can_be_asked_for(file: Path) -> None:
    with Writer.open(file) as store:
        pid = put(store, add(store, "notes"), "a.md")
        assert list(store.notes(range(3000))) == [pid]
        assert list(store.first_chunks(range(3000))) == [pid]


def test_status_counts(file: Path) -> None:
    with Writer.open(file) as store:
        put(store, add(store, "notes"), "a.md")
        add(store, "empty")
        status = overview.status(store)
    assert (status.notes, status.sections, status.chunks) == (1, 0, 1)
    assert [(found.name, found.notes) for found in status.collections] == [
        ("empty", 0),
        ("notes", 1),
    ]
    assert status.last_indexed == "2026-01-01T00:00:00Z"


def test_a_snapshot_stays_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "index.sqlite"
    with Writer.open(file) as writer, Reader.open(file) as reader:
        with reader.snapshot():
            assert reader.collections() == []
            writer.add_collection("later", "/later", (), ())
            assert reader.collections() == []
        assert [found.name for found in reader.collections()] == ["later"]
