import contextlib
import json
import math
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qmd_py import config
from qmd_py.cache import AnswerCache, Cache, NoCache, damage
from qmd_py.cache import file as cache_file
from qmd_py.records.wordings import Variant

if TYPE_CHECKING:
    from typer.testing import Result

HOUR = 3600
VARIANTS = (Variant("lex", "stop sync"), Variant("hyde", "Чтобы остановить синхронизацию, …"))


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "answers.sqlite"


@pytest.fixture
def cache(path: Path, clock: Clock) -> Iterator[Cache]:
    with Cache(path, clock=clock) as opened:
        yield opened


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_file, "_PATIENCE", 0.05)


def passages(count: int, first: int = 0) -> dict[bytes, float]:
    return {f"passage {n}".encode(): (n % 100) / 100 for n in range(first, first + count)}


def problem(cache: Cache) -> str | None:
    return cache.problem  # a call, since the type checker takes an attribute for constant


def fill(path: Path, questions: int = 50) -> None:
    with Cache(path) as cache:
        for number in range(questions):
            cache.put_scores("model", f"question {number}", passages(40))


def checked(path: Path) -> str:
    with contextlib.closing(sqlite3.connect(path)) as db:
        return str(db.execute("PRAGMA integrity_check").fetchone()[0])


def test_what_was_put_is_found(cache: Cache) -> None:
    cache.put_expansion("expander", "stop sync?", VARIANTS)
    cache.put_scores("reranker", "stop sync?", {b"a": 0.25, b"b": 1.0})
    assert cache.expansion("expander", "stop sync?") == VARIANTS
    assert cache.scores("reranker", "stop sync?", [b"b", b"c", b"a"]) == {b"a": 0.25, b"b": 1.0}
    assert cache.problem is None


def test_it_is_found_by_another_process_too(path: Path) -> None:
    with Cache(path) as first:
        first.put_expansion("expander", "sync", VARIANTS)
        first.put_scores("reranker", "sync", {b"a": 0.1 + 0.2})
    with Cache(path) as second:
        assert second.expansion("expander", "sync") == VARIANTS
        assert second.scores("reranker", "sync", [b"a"]) == {b"a": 0.1 + 0.2}


def test_a_new_answer_replaces_the_old_one_and_leaves_the_others(cache: Cache) -> None:
    cache.put_expansion("expander", "sync", VARIANTS)
    cache.put_expansion("expander", "sync", VARIANTS[:1])
    cache.put_scores("reranker", "sync", {b"a": 0.1, b"b": 0.2})
    cache.put_scores("reranker", "sync", {b"b": 0.9})
    assert cache.expansion("expander", "sync") == VARIANTS[:1]
    assert cache.scores("reranker", "sync", [b"a", b"b"]) == {b"a": 0.1, b"b": 0.9}


@pytest.mark.parametrize(
    ("fingerprint", "question"),
    [
        pytest.param("model 2", "sync", id="another model"),
        pytest.param("model", "Sync", id="another case of letters"),
        pytest.param("model", "sync?", id="another question"),
        pytest.param("models", "ync", id="the same text cut elsewhere"),
    ],
)
def test_another_model_or_question_is_a_miss(cache: Cache, fingerprint: str, question: str) -> None:
    cache.put_expansion("model", "sync", VARIANTS)
    cache.put_scores("model", "sync", {b"a": 0.5})
    assert cache.expansion(fingerprint, question) is None
    assert cache.scores(fingerprint, question, [b"a"]) == {}


def test_white_space_and_unicode_form_make_no_other_question(cache: Cache) -> None:
    cache.put_expansion("model", "  Cafe\u0301\n menu ", VARIANTS)
    assert cache.expansion("model", "Café menu") == VARIANTS


def test_an_expander_and_a_reranker_of_one_name_do_not_meet(cache: Cache) -> None:
    cache.put_scores("model", "sync", {b"a": 0.5})
    assert cache.expansion("model", "sync") is None
    cache.put_expansion("model", "sync", VARIANTS)
    assert cache.scores("model", "sync", [b"a"]) == {b"a": 0.5}


def test_bytes_that_are_no_text_are_a_question_like_any_other(cache: Cache) -> None:
    odd = b"caf\xe9".decode(errors="surrogateescape")
    cache.put_expansion("model", odd, (Variant("vec", odd),))
    assert cache.expansion("model", odd) == (Variant("vec", odd),)
    assert cache.problem is None


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf, -0.01, 1.01])
def test_impossible_scores_are_not_kept(cache: Cache, score: float) -> None:
    cache.put_scores("model", "sync", {b"bad": score, b"good": 0.5})
    assert cache.scores("model", "sync", [b"bad", b"good"]) == {b"good": 0.5}


def test_nothing_is_not_kept_and_makes_no_file(cache: Cache, path: Path) -> None:
    cache.put_expansion("model", "sync", ())
    cache.put_expansion("model", "sync", (Variant("vec", "  "),))
    cache.put_scores("model", "sync", {})
    cache.put_scores("model", "sync", {b"a": math.nan})
    assert cache.expansion("model", "sync") is None
    assert cache.scores("model", "sync", [b"a"]) == {}
    assert cache.scores("model", "sync", []) == {}
    assert not path.parent.exists()


def test_no_cache_is_a_cache_that_keeps_nothing() -> None:
    cache: AnswerCache = NoCache()
    cache.put_expansion("model", "sync", VARIANTS)
    cache.put_scores("model", "sync", {b"a": 0.5})
    assert cache.expansion("model", "sync") is None
    assert cache.scores("model", "sync", [b"a"]) == {}
    assert cache.problem is None
    cache.close()


def test_the_question_least_recently_asked_is_forgotten_first(path: Path, clock: Clock) -> None:
    bound = 300_000
    with Cache(path, bound, clock=clock) as cache:
        for number in range(100):
            clock.now += 1
            cache.put_scores("model", f"question {number}", passages(40))
        clock.now += 2 * HOUR
        assert cache.scores("model", "question 0", [b"passage 7"]) == {b"passage 7": 0.07}
        for number in range(100, 200):
            clock.now += 1
            cache.put_scores("model", f"question {number}", passages(40))
        kept = [
            number
            for number in range(200)
            if cache.scores("model", f"question {number}", [b"passage 7"])
        ]
    assert kept[0] == 0
    assert kept[1:] == list(range(200 - len(kept) + 1, 200))
    assert 60 < len(kept) < 190


def test_the_file_stays_within_its_bound(path: Path) -> None:
    bound = 400_000
    random_ = random.Random(4)
    most = 0
    with Cache(path, bound) as cache:
        for number in range(500):
            cache.put_scores("model", f"question {number}", passages(40, number))
            cache.put_expansion("model", f"question {number}", (Variant("vec", "x" * 300),))
            cache.scores("model", f"question {random_.randrange(500)}", [b"passage 1"])
            most = max(most, path.stat().st_size)
        assert cache.scores("model", "question 499", list(passages(40, 499)))
        assert cache.problem is None
    assert bound / 2 < most <= bound
    assert checked(path) == "ok"


def test_an_answer_larger_than_the_bound_is_not_kept(path: Path) -> None:
    with Cache(path, 100_000) as cache:
        cache.put_scores("model", "small", {b"a": 0.5})
        cache.put_expansion("model", "large", (Variant("vec", "x" * 200_000),))
        assert cache.expansion("model", "large") is None
        cache.put_scores("model", "small", {b"a": 0.5})
        assert cache.scores("model", "small", [b"a"]) == {b"a": 0.5}
        assert cache.problem is None


def test_a_use_is_noted_once_an_hour(cache: Cache, clock: Clock) -> None:
    cache.put_expansion("model", "sync", VARIANTS)
    before = cache.state().newest_use
    clock.now += HOUR - 1
    cache.expansion("model", "sync")
    assert cache.state().newest_use == before == "2023-11-14T22:13:20Z"
    clock.now += 1
    cache.expansion("model", "sync")
    assert cache.state().newest_use == "2023-11-14T23:13:20Z"


def test_a_clock_that_was_ahead_is_forgiven(cache: Cache, clock: Clock) -> None:
    clock.now += 1000 * HOUR
    cache.put_expansion("model", "sync", VARIANTS)
    clock.now -= 1000 * HOUR
    cache.expansion("model", "sync")
    assert cache.state().newest_use == "2023-11-14T22:13:20Z"


def test_state_counts(cache: Cache, path: Path) -> None:
    assert cache.state().bytes == 0
    assert not path.exists()
    cache.put_expansion("model", "sync", VARIANTS)
    cache.put_scores("model", "sync", passages(40))
    cache.put_scores("model 2", "sync", passages(2))
    state = cache.state()
    assert (state.expansions, state.scores) == (1, 42)
    assert 0 < state.bytes < 200_000
    assert state.bound == 64_000_000


def test_clearing_forgets_all_and_gives_the_room_back(path: Path) -> None:
    fill(path, 200)
    with Cache(path) as cache:
        before = cache.state().bytes
        assert cache.clear()
        assert cache.state().scores == 0
        assert cache.state().bytes < before / 4
        assert cache.scores("model", "question 1", [b"passage 1"]) == {}


def test_clearing_what_is_not_there_makes_no_file(cache: Cache, path: Path) -> None:
    assert cache.clear()
    assert not path.exists()


def _text(path: Path) -> None:
    path.write_text("# not a database\n" * 1000)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: 3 * 4096 + 100])


def _overwritten(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))


def _zeroed(path: Path) -> None:
    path.write_bytes(b"\0" * path.stat().st_size)


@pytest.mark.parametrize("damage", [_text, _cut, _overwritten, _zeroed])
def test_a_damaged_file_makes_room_for_a_new_one(
    path: Path, damage: Callable[[Path], None]
) -> None:
    fill(path)
    damage(path)
    damaged = path.read_bytes()
    with Cache(path) as cache:
        assert cache.scores("model", "question 1", [b"passage 1"]) == {}
        assert cache.expansion("model", "question 1") is None
        assert cache.problem == (
            f"the cache {path} was damaged: it is answers.sqlite.damaged now, a new one begins"
        )
        cache.put_scores("model", "question 1", {b"passage 1": 0.5})
        assert cache.scores("model", "question 1", [b"passage 1"]) == {b"passage 1": 0.5}
    assert path.with_name("answers.sqlite.damaged").read_bytes() == damaged
    assert checked(path) == "ok"
    with Cache(path) as again:
        assert again.scores("model", "question 1", [b"passage 1"]) == {b"passage 1": 0.5}
        assert again.problem is None


def test_damage_that_a_writer_meets_first(path: Path) -> None:
    fill(path)
    _text(path)
    with Cache(path) as cache:
        cache.put_scores("model", "sync", {b"a": 0.5})
        assert cache.problem is not None
        cache.put_scores("model", "sync", {b"a": 0.5})
        assert cache.scores("model", "sync", [b"a"]) == {b"a": 0.5}


def test_a_good_file_is_never_put_aside(path: Path) -> None:
    fill(path)
    before = path.read_bytes()
    damage.put_aside(path, 1)
    assert path.read_bytes() == before


def test_variants_that_cannot_be_read_are_a_miss_until_they_are_put_again(path: Path) -> None:
    with Cache(path) as cache:
        cache.put_expansion("model", "sync", VARIANTS)
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE questions SET variants = x'5b5b'")
    with Cache(path) as cache:
        assert cache.expansion("model", "sync") is None
        assert cache.problem is not None
        cache.put_expansion("model", "sync", VARIANTS)
    with Cache(path) as cache:
        assert cache.expansion("model", "sync") == VARIANTS


def test_another_programs_database_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE bookmarks (url)")
    before = path.read_bytes()
    with Cache(path) as cache:
        cache.put_scores("model", "sync", {b"a": 0.5})
        assert cache.scores("model", "sync", [b"a"]) == {}
        assert not cache.clear()
        assert cache.problem == (
            f"cannot use the cache {path}: it is no cache of this qmd; "
            "choose another with QMD_CACHE"
        )
    assert path.read_bytes() == before


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with Cache(tmp_path / "file" / "cache" / "answers.sqlite") as cache:
        assert cache.expansion("model", "sync") is None
        assert problem(cache) is None
        cache.put_expansion("model", "sync", VARIANTS)
        assert "Not a directory" in str(problem(cache))
        assert cache.expansion("model", "sync") is None


def test_a_folder_in_the_files_place(tmp_path: Path) -> None:
    with Cache(tmp_path) as cache:
        cache.put_expansion("model", "sync", VARIANTS)
        assert cache.expansion("model", "sync") is None
        assert cache.problem == f"cannot use the cache {tmp_path}: unable to open database file"


def test_a_file_that_may_not_be_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(sqlite3, "connect", refuse)
    with Cache(path) as cache:
        assert cache.scores("model", "question 1", [b"passage 1"]) == {}
        assert cache.problem == f"cannot use the cache {path}: Permission denied"


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        pytest.param("query_only = 1", "attempt to write a readonly database", id="read-only"),
        pytest.param("max_page_count = 1", "the disk is full; free some space", id="disk full"),
    ],
)
def test_a_cache_that_cannot_grow_still_answers(
    path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, limit: str, words: str
) -> None:
    fill(path, 5)
    with Cache(path, clock=clock) as cache:
        cache.scores("model", "question 1", [b"passage 1"])
        cache._file._opened().execute(f"PRAGMA {limit}").fetchall()
        clock.now += 9 * HOUR  # so that the reader has a time of use to note
        assert cache.scores("model", "question 1", [b"passage 1"]) == {b"passage 1": 0.01}
        assert problem(cache) is None
        cache.put_expansion("model", "sync", (Variant("vec", "x" * 50_000),))
        assert problem(cache) == f"cannot use the cache {path}: {words}"
        assert cache.expansion("model", "sync") is None
        assert cache.scores("model", "question 1", [b"passage 1"]) == {b"passage 1": 0.01}
    assert checked(path) == "ok"


@pytest.mark.usefixtures("impatient")
def test_a_locked_cache_costs_one_wait_and_is_read_all_the_same(path: Path, clock: Clock) -> None:
    fill(path, 5)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with Cache(path, clock=clock) as cache:
            started = time.monotonic()
            for _ in range(50):
                cache.put_scores("model", "sync", {b"a": 0.5})
                assert cache.scores("model", "question 1", [b"passage 1"])
            assert time.monotonic() - started < 1
            assert cache.problem == f"cannot use the cache {path}: another program holds it"
    assert checked(path) == "ok"


@pytest.mark.usefixtures("impatient")
def test_a_cache_that_another_program_keeps_to_itself_is_empty(path: Path) -> None:
    fill(path, 5)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN EXCLUSIVE")
        with Cache(path) as cache:
            started = time.monotonic()
            for _ in range(50):
                assert cache.scores("model", "question 1", [b"passage 1"]) == {}
            assert time.monotonic() - started < 1
            assert cache.problem == f"cannot use the cache {path}: another program holds it"


def test_opening_and_reading_are_cheap(path: Path) -> None:
    fill(path, 500)
    taken = []
    for number in range(20):
        started = time.perf_counter()
        with Cache(path) as cache:
            found = cache.scores("model", f"question {number}", list(passages(40)))
        taken.append(time.perf_counter() - started)
        assert len(found) == 40
    assert min(taken) < 0.003


def test_only_the_standard_library_is_loaded() -> None:
    heavy = "{'sqlite_utils', 'numpy', 'platformdirs', 'typer'} & set(sys.modules)"
    script = f"import sys, qmd_py.cache; sys.exit(1 if {heavy} else 0)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


WORKER = """
import sys, time
from pathlib import Path
from qmd_py.cache import Cache
from qmd_py.records.wordings import Variant

folder, start, me = Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
for number in range(10):  # each file is new to all eight, at the same instant
    time.sleep(max(0, start + number / 8 - time.time()))
    with Cache(folder / f"{number}.sqlite") as cache:
        for question in range(8):
            scores = {f"{me} {n}".encode(): n / 40 for n in range(40)}
            cache.put_scores("model", f"question {question}", scores)
            cache.put_expansion("model", f"{me} {question}", [Variant("vec", me)])
            assert cache.scores("model", f"question {question}", list(scores)) == scores
            assert cache.expansion("model", f"{me} {question}") == (Variant("vec", me),)
        assert cache.problem is None, cache.problem
"""


def eight(script: str, *args: object) -> list[str]:
    """Run a script in eight processes at once; what each printed."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, *map(str, args), str(me)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for me in range(8)
    ]  # fmt: skip
    ended = [process.communicate(timeout=60) for process in processes]
    assert [errors for _, errors in ended] == [""] * 8
    return [output for output, _ in ended]


def test_eight_processes_make_write_and_read_at_once(tmp_path: Path) -> None:
    eight(WORKER, tmp_path, time.time() + 1)
    for number in range(10):
        file = tmp_path / f"{number}.sqlite"
        assert checked(file) == "ok"
        with Cache(file) as cache:
            state = cache.state()
            assert (state.expansions, state.scores) == (64, 8 * 8 * 40)


MENDER = """
import sys
from pathlib import Path
from qmd_py.cache import Cache

with Cache(Path(sys.argv[1])) as cache:
    for question in range(50):
        cache.put_scores("model", f"{sys.argv[2]} {question}", {b"a": 0.5})
        if cache.scores("model", f"{sys.argv[2]} {question}", [b"a"]):
            print(f"{sys.argv[2]} {question}")
"""


def test_eight_processes_at_a_damaged_file_lose_nothing_that_was_kept(path: Path) -> None:
    fill(path)
    _text(path)
    kept = "".join(eight(MENDER, path)).splitlines()
    assert checked(path) == "ok"
    assert len(kept) >= 50
    with Cache(path) as cache:
        assert all(cache.scores("model", question, [b"a"]) for question in kept)


KILLER = """
import os, random, signal, sqlite3, sys, time
from pathlib import Path
from qmd_py.cache import Cache
from qmd_py.records.wordings import Variant

folder, moments = Path(sys.argv[1]), int(sys.argv[2])
random_ = random.Random(7)

def write_on(path, start):
    number = start
    while True:
        with Cache(path, 300_000) as cache:
            for number in range(number, number + 20):
                cache.put_scores("model", f"q {number}", {f"{n}".encode(): n / 40 for n in range(40)})
                cache.put_expansion("model", f"q {number}", [Variant("vec", "x" * 500)])

for moment in range(moments):
    path = folder / f"{moment // 10}.sqlite"  # ten deaths a file, the first soon after its birth
    child = os.fork()
    if child == 0:
        write_on(path, moment * 1000)
    time.sleep(random_.uniform(0, 0.004 if moment % 10 == 0 else 0.04))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if path.is_file():
        db = sqlite3.connect(path)
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)], moment
        db.close()
    with Cache(path, 300_000) as cache:
        cache.put_scores("model", "after", {b"a": 0.5})
        assert cache.scores("model", "after", [b"a"]) == {b"a": 0.5}, moment
        assert cache.problem is None, cache.problem
print(moments)
"""


def test_a_writer_killed_at_any_moment_leaves_a_good_cache(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLER, str(tmp_path), "100"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.stderr) == ("100\n", "")
    assert not list(tmp_path.glob("*.damaged"))


def test_the_variable_names_the_file(tmp_path: Path) -> None:
    chosen = config.load({"QMD_CACHE": str(tmp_path / "a.sqlite")}).cache
    assert chosen == tmp_path / "a.sqlite"
    default = config.load({}).cache
    assert default.name == "answers.sqlite"
    assert default.parent.name == "qmd-py"


@pytest.fixture
def kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A filled cache that the command line uses."""
    monkeypatch.setenv("QMD_CACHE", str(path))
    fill(path, 3)
    return path


def test_show_tells_what_is_kept(qmd: "Callable[..., Result]", kept: Path) -> None:
    shown = qmd("cache", "show")
    assert shown.exit_code == 0
    assert f"{kept} (0.0 of 64 MB)" in shown.stdout
    assert "0 expansions, 120 rerank scores" in shown.stdout
    found = json.loads(qmd("cache", "show", "--json").stdout)
    assert (found["file"], found["scores"]) == (str(kept), 120)
    assert found["oldest_use"] <= found["newest_use"]


def test_show_without_a_cache_makes_none(qmd: "Callable[..., Result]", isolated: Path) -> None:
    shown = qmd("cache", "show")
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert "never" in shown.stdout
    assert not list(isolated.rglob("answers.sqlite"))


def test_show_says_what_is_wrong(qmd: "Callable[..., Result]", kept: Path) -> None:
    _text(kept)
    shown = qmd("cache", "show")
    assert (shown.exit_code, shown.stderr.count("\n")) == (0, 1)
    assert "was damaged" in shown.stderr


def test_clear_forgets(qmd: "Callable[..., Result]", kept: Path) -> None:
    done = qmd("cache", "clear", "--force")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == (
        "qmd: forgot 0 expansions, 120 rerank scores; notes and index are untouched\n"
    )
    assert json.loads(qmd("cache", "show", "--json").stdout)["scores"] == 0


@pytest.mark.parametrize("there", [True, False])
def test_clear_forgets_what_models_have_read(
    qmd: "Callable[..., Result]", kept: Path, there: bool
) -> None:
    ours = [
        cache_file.state_file(kept.parent, bytes(12)),
        kept.with_name(f"prefix-{'0' * 24}.123456"),
    ]
    others = [kept.with_name(name) for name in ("prefix-notes.state", "prefix-list.txt")]
    for file in [*ours, *others]:
        file.touch()
    if not there:
        kept.unlink()
    assert qmd("cache", "clear", "--force").exit_code == 0
    assert [file.exists() for file in [*ours, *others]] == [False, False, True, True]


def test_clear_says_when_the_folder_may_not_be_entered(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_file", refuse)
    with Cache(path) as cache:
        assert not cache.clear()
        assert cache.problem == f"cannot use the cache {path}: Permission denied"


def test_clear_refuses_what_is_no_cache(
    qmd: "Callable[..., Result]", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.sqlite"
    with contextlib.closing(sqlite3.connect(other)) as db, db:
        db.execute("CREATE TABLE bookmarks (url)")
    monkeypatch.setenv("QMD_CACHE", str(other))
    done = qmd("cache", "clear", "--force")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "no cache of this qmd" in done.stderr
