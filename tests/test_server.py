"""The tools from inside: arguments, warm models, the index kept up to date, what agents are told."""

import datetime
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import Client

from qmd_py import config, embedding, provenance
from qmd_py.admission import Policy
from qmd_py.cli.serving import _desk, _token
from qmd_py.config import Settings
from qmd_py.errors import Busy
from qmd_py.models import Models
from qmd_py.provenance import Live
from qmd_py.records.answers import Answer
from qmd_py.records.stored import StoredNote
from qmd_py.search.hybrid import hybrid
from qmd_py.server import protocol, teaching, tongues, tools
from qmd_py.server.desk import Desk
from qmd_py.server.freshness import Refresher
from qmd_py.server.tongues import Tongue
from qmd_py.server.tools import Reply
from qmd_py.server.warm import WarmModels
from qmd_py.store import embeddings
from qmd_py.store.contexts import Context
from qmd_py.store.reader import Reader
from qmd_py.store.writer import Writer
from tests.fakes import FakeEmbedder, FakeExpander, FakeReranker
from tests.test_llama import SHAPE, VOCABULARY
from tests.test_search import put
from tests.tiny import reranker_weights, write_qwen3, writer_weights

if TYPE_CHECKING:
    from typer.testing import Result

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
NOTES = {
    "bread.md": "# Bread\n\n## Rising\n\nBread needs an hour to rise.\n\n## Storing\n\nIn a bag.\n",
    "car.md": "# Garages\n\nKeep the car dry.\n",
    "bare.md": "No heading here, only purple words.\n",
}
POLICY = Path(__file__).with_name("policy.toml")
REFRESHED = 30.0  # seconds; more than any look takes
Ask = Callable[..., Reply]


@pytest.fixture
def index(isolated: Path, folder: Path) -> Path:
    file = isolated / "index.sqlite"
    with Writer.open(file) as store:
        put(store, folder, NOTES)
        embedding.embed(store, FakeEmbedder())
    return file


def models() -> Models:
    return Models(FakeEmbedder(), FakeExpander(), FakeReranker(), ("other: remark",))


@pytest.fixture
def desk(index: Path) -> Desk:
    found = config.load({}, index)
    fresh = Refresher(found, FakeEmbedder, every=0.0, patience=REFRESHED, share=1.0)
    return Desk(found, WarmModels(models), fresh, (Tongue("notes", ("en",)),), now=lambda: NOW)


@pytest.fixture
def ask(desk: Desk) -> Ask:
    return lambda tool, **arguments: tools.call(desk, tool, arguments)


def answered(reply: Reply) -> Any:
    assert not reply.failed, reply.texts
    return json.loads(reply.texts[0])


def best(reply: Reply) -> str:
    found: str = answered(reply)["results"][0]["path"]
    return found


class TestTools:
    def test_fields_reach_their_own_searches(
        self, ask: Ask, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fields: dict[str, object] = {
            "query": "x",
            "short_query": "bread",
            "rephrased_query": "the automobile",
            "expected_answer": "It needs an hour.",
            "queries": ["purple"],
            "searches": [{"type": "lex", "query": "garages"}],
            "intent": "to bake",
        }
        seen: list[Answer] = []

        def watched(*args: Any) -> Answer:
            seen.append(hybrid(*args))
            return seen[0]

        monkeypatch.setattr(tools, "hybrid", watched)
        answered(ask("search", **fields))
        kinds = sorted((variant.kind, variant.text) for variant in seen[0].variants)
        assert kinds == [
            ("hyde", "It needs an hour."),
            ("lex", "bread"),
            ("lex", "garages"),
            ("vec", "the automobile"),
        ]
        assert seen[0].widened_by != "no model"

    def test_with_fields_no_generative_model_runs(self, index: Path) -> None:
        expander = FakeExpander()
        found = config.load({}, index)
        warm = WarmModels(lambda: Models(FakeEmbedder(), expander))
        desk = Desk(found, warm, Refresher(found, FakeEmbedder), ())
        tools.call(desk, "search", {"query": "apples", "short_query": "fruit"})
        assert expander.asked == []
        tools.call(desk, "search", {"query": "apples", "intent": "to eat"})
        assert expander.asked == ["apples"]
        tools.call(desk, "search", {"query": "bread", "rerank": False})
        assert expander.asked == ["apples"]

    def test_blank_fields_are_no_fields(self, ask: Ask) -> None:
        plain = ask("search", query="an hour to rise", rerank=False)
        blank = dict.fromkeys(("short_query", "rephrased_query", "expected_answer"), " ")
        empty: dict[str, object] = {"queries": [], "searches": [], "collections": None}
        assert ask("search", query="an hour to rise", rerank=False, **blank, **empty) == plain

    def test_a_reranker_reads_unless_it_is_told_not_to(self, ask: Ask) -> None:
        for passed, read in (({}, True), ({"rerank": True}, True), ({"rerank": False}, False)):
            match = answered(ask("search", query="bread", **passed))["results"][0]["matches"][0]
            assert ("rerank" in match["evidence"]) is read

    def test_what_will_find_less_is_remarked(self, ask: Ask) -> None:
        reply = ask("search", query="x", short_query="how to store my bread, quickly")
        assert not reply.failed
        assert len(reply.texts) == 3

    def test_limit_and_collections(self, ask: Ask) -> None:
        assert len(answered(ask("search", query="bread car purple", limit=1))["results"]) == 1
        assert ask("search", query="bread", collections=["note"]).texts == (
            "no collection 'note' (did you mean 'notes'?): see 'qmd collection list'",
        )

    def test_the_name_of_a_collection_may_be_decomposed(self, desk: Desk, index: Path) -> None:
        with Writer.open(index) as store:
            store.rename_collection(store.collections()[0], "caf\u00e9")
        for query in ("bread", ""):
            asked = {"query": query, "collections": ["cafe\u0301"]}
            assert answered(tools.call(desk, "search", asked))["results"]

    @pytest.mark.parametrize(
        ("filters", "paths"),
        [
            ({"tags": ["#HOME"]}, ["bread.md"]),
            ({"tags": ["home", "home/kitchen"]}, ["bread.md"]),
            ({"tags": ["home", "work"]}, []),
            ({"where": ["status=done"]}, ["car.md"]),
            ({"where": ["rating>3", "status=open"]}, ["bread.md"]),
            ({"paths": ["b*.md"]}, ["bare.md", "bread.md"]),
            ({"paths": ["nowhere"]}, []),
            ({"since": "2026-03", "until": "2026-03-09"}, ["car.md"]),
            ({"collections": ["notes"], "until": "2019"}, []),
        ],
    )
    def test_filters_with_words_and_alone(
        self, desk: Desk, filters: dict[str, object], paths: list[str]
    ) -> None:
        self.tagged(desk)
        for query in ("bread car purple", " "):
            found = answered(tools.call(desk, "search", {"query": query, **filters}))
            assert sorted(hit["path"] for hit in found["results"]) == paths
            assert found["mode"] == ("query" if query.strip() else "list")

    def test_a_path_without_any_note_is_remarked(self, ask: Ask) -> None:
        for query in ("bread", ""):
            _, remark = ask("search", query=query, paths=["brad.md"]).texts
            assert remark.startswith("no note at the path 'brad.md' (did you mean 'bread.md'?): ")

    def test_newer_notes_first(self, desk: Desk) -> None:
        self.tagged(desk)
        asked = {"query": "bread car", "rerank": False, "collections": ["notes"]}
        asked |= {"tags": ["home/kitchen"]}
        plain = answered(tools.call(desk, "search", asked))["results"][0]["score"]
        aged = answered(tools.call(desk, "search", {**asked, "recent": 1}))["results"][0]["score"]
        assert 0 < aged < plain
        listed = {"query": "", "recent": 7, "collections": ["notes"]}
        found = answered(tools.call(desk, "search", listed))["results"]
        assert [hit["path"] for hit in found][-1] == "bread.md"

    def test_under_a_policy_an_unknown_tag_is_one_of_closed_notes(self, desk: Desk) -> None:
        self.tagged(desk)
        shut = replace(desk, policy=Policy("1", frozenset(), unlabelled_is_open=True))
        for filters in ({"tags": ["nope"]}, {"where": ["nope=1"]}):
            for query in ("bread", ""):
                reply = tools.call(shut, "search", {"query": query, **filters})
                assert answered(reply)["results"] == []
                assert "nope" not in reply.texts[0]

    def tagged(self, desk: Desk) -> None:
        with Reader.open(desk.config.index) as store:
            root = Path(store.collections()[0].root)
        for name, front in (
            ("bread.md", "tags: home/kitchen\nstatus: open\nrating: 4\ndate: 2020-01-02"),
            ("car.md", "tags: work\nstatus: done\nrating: 2\ndate: 2026-03-09"),
        ):
            (root / name).write_text(f"---\n{front}\n---\n{NOTES[name]}")

    def test_a_section_and_what_it_cost(self, ask: Ask) -> None:
        pid = answered(ask("search", query="hour rise"))["results"][0]["pid"]
        text, source = ask("section", pid=pid, toc_path=["Rising"]).texts
        assert text == "## Rising\n\nBread needs an hour to rise."
        assert source == (
            f"from Bread > Rising (notes/bread.md, line 3, pid {pid}); "
            "about 10 of the note's 18 tokens"
        )
        form = answered(ask("section", pid=pid, toc_path=["Rising"], format="json"))
        assert (form["section_tokens"], form["note_tokens"]) == (10, 18)
        html = ask("section", pid=str(pid), toc_path="#rising", format="html").texts[0]
        assert html.startswith("<h2>Rising</h2>")

    def test_a_note_without_headings_is_read_whole(self, ask: Ask) -> None:
        hit = answered(ask("search", query="purple"))["results"][0]
        assert hit["matches"][0]["toc_path"] == []
        section = ask("section", pid=hit["pid"], toc_path=[])
        assert section == ask("get", pid=hit["pid"])
        assert section.texts[0].startswith("No heading here")

    def test_a_renamed_heading_is_an_error_that_names_the_nearest(
        self, ask: Ask, folder: Path
    ) -> None:
        pid = answered(ask("search", query="hour rise"))["results"][0]["pid"]
        (folder / "bread.md").write_text("# Bread\n\n## Rising slowly\n\nBread.\n")
        reply = ask("section", pid=pid, toc_path=["Rising"])
        assert reply.failed
        assert (
            'no heading ["Rising"] in the note now: the nearest are ["Rising slowly"]'
            in (reply.texts[0])
        )

    def test_toc_and_status(self, ask: Ask) -> None:
        pid = answered(ask("search", query="hour rise"))["results"][0]["pid"]
        entries = answered(ask("toc", pid=pid))["toc"]
        assert [entry["path"] for entry in entries] == [["Bread"], ["Rising"], ["Storing"]]
        state = answered(ask("status"))
        assert state["spoken"] == {"notes": ["en"]}
        assert state["tools_version"] == teaching.VERSION

    def test_the_gate_stands_before_every_tool(self, desk: Desk, ask: Ask) -> None:
        pid = answered(ask("search", query="hour rise"))["results"][0]["pid"]

        shut = replace(desk, policy=Policy("1", frozenset(), unlabelled_is_open=False))
        found = tools.call(shut, "search", {"query": "bread"})
        answer = answered(found)
        assert (answer["status"], answer["results"]) == ("stop", [])
        assert answer["reasons"] == ["access-label-not-granted"]
        for tool in ("section", "toc", "get"):
            path = {"toc_path": ["Rising"]} if tool == "section" else {}
            reply = tools.call(shut, tool, {"pid": pid, **path})
            assert reply.failed
            assert reply.texts[0].startswith("access-label-not-granted: ")
        assert answered(tools.call(shut, "status", {}))["policy"] == "1"

    def test_tools_show_the_text_that_was_judged(
        self, desk: Desk, ask: Ask, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pid = answered(ask("search", query="hour rise"))["results"][0]["pid"]
        looked = provenance.look

        def changed_afterwards(note: StoredNote, *args: Any, **options: Any) -> Live:
            live = looked(note, *args, **options)
            (folder / note.file).write_text("---\naccess: board\n---\n## Rising\n\nClosed.\n")
            return live

        monkeypatch.setattr(provenance, "look", changed_afterwards)
        opened = replace(desk, policy=Policy("1", frozenset(), unlabelled_is_open=True))
        for tool in ("section", "toc", "get"):
            (folder / "bread.md").write_text(NOTES["bread.md"])
            path = {"toc_path": ["Rising"]} if tool == "section" else {}
            reply = tools.call(opened, tool, {"pid": pid, **path})
            assert (reply.failed, reply.texts[0].split(":")[0]) == (True, "stale-index")


HOSTILE = [
    ("search", {}, "search needs query: a text"),
    ("search", {"query": None}, "search needs query: a text"),
    ("search", {"query": 5}, "query must be a text"),
    ("search", {"query": ["x"]}, "query must be a text"),
    ("search", {"query": "  "}, "query is empty: pass the user's question"),
    ("search", {"query": "?!"}, "nothing to look for: "),
    ("search", {"query": "x" * 10_001}, "query has 10001 characters: "),
    ("search", {"query": "a\0b"}, "query holds characters that are no text: "),
    ("search", {"query": "\ud800"}, "query holds characters that are no text: "),
    ("search", {"query": '{"searches": ['}, "the searches are no valid JSON"),
    ("search", {"query": "x", "index": "/etc/passwd"}, "search has no argument 'index': "),
    ("search", {"query": "x", "admit": []}, "search has no argument 'admit': "),
    ("search", {"query": "x", "a\nb" * 99: 1}, "search has no argument 'a\\nba"),
    ("search", {"query": "x", "limit": 0}, "limit must be a whole number from 1 up"),
    ("search", {"query": "x", "limit": True}, "limit must be a whole number"),
    ("search", {"query": "x", "limit": 1e99}, "limit must be a whole number from 1 up"),
    ("search", {"query": "x", "limit": float("nan")}, "limit must be a whole number"),
    ("search", {"query": "x", "limit": 10**6}, "limit is 1000000: ask for at most 100 notes"),
    ("search", {"query": "x", "rerank": "yes"}, "rerank must be true or false"),
    ("search", {"query": "x", "collections": "notes"}, "collections must be a list of texts"),
    ("search", {"query": "x", "collections": [1]}, "collections must be a list of texts"),
    ("search", {"query": "x", "collections": ["../.."]}, "no collection '../..': "),
    ("search", {"query": "x", "collections": [""]}, "no collection '': "),
    ("search", {"query": "", "short_query": "x", "tags": ["y"]}, "query is empty: "),
    ("search", {"query": "", "recent": 7}, "query is empty: "),
    ("search", {"query": "", "tags": []}, "query is empty: "),
    ("search", {"query": "x", "tags": "y"}, "tags must be a list of texts"),
    ("search", {"query": "x", "tags": [""]}, "--tag '' names no tag: "),
    ("search", {"query": "", "tags": ["nope"]}, "no note has the tag 'nope': "),
    ("search", {"query": "x", "where": ["nope=1"]}, "no note has the property 'nope': "),
    ("search", {"query": "x", "where": ["nope"]}, "--where 'nope': write KEY=VALUE"),
    ("search", {"query": "x", "where": {"a": 1}}, "where must be a list of texts"),
    ("search", {"query": "x", "since": "soon"}, "--since 'soon' is no date: "),
    ("search", {"query": "", "until": ""}, "--until '' is no date: "),
    ("search", {"query": "x", "until": 2026}, "until must be a text"),
    ("search", {"query": "x", "paths": [""]}, "--path '' is empty: "),
    ("search", {"query": "x", "paths": [" / "]}, "--path ' / ' is empty: "),
    ("search", {"query": "x", "recent": 0}, "recent must be a number above 0"),
    ("search", {"query": "x", "recent": float("nan")}, "recent must be a number above 0"),
    ("search", {"query": "x", "recent": True}, "recent must be a number above 0"),
    ("search", {"query": "x", "recent": "7"}, "recent must be a number above 0"),
    ("search", {"query": "x", "queries": ["y"] * 101}, "queries has 101 items: "),
    ("search", {"query": "x", "queries": [f"y{n}" for n in range(40)]}, "40 searches for one "),
    ("search", {"query": "x", "searches": {}}, "searches must be a list of searches"),
    ("search", {"query": "x", "searches": [1]}, "each search must have just "),
    ("search", {"query": "x", "searches": [{"type": "sql", "query": "y"}]}, "unknown search type"),
    ("search", {"query": "x", "searches": [{"type": "lex", "query": "\0"}]}, "searches holds "),
    ("section", {"pid": 1}, "section needs toc_path: a list of headings"),
    ("section", {"pid": -1, "toc_path": []}, "pid must be a whole number from 1 up"),
    ("section", {"pid": 10**30, "toc_path": []}, "pid must be a whole number from 1 up"),
    ("section", {"pid": "../../etc/passwd", "toc_path": []}, "pid must be a whole number"),
    ("section", {"pid": 1, "toc_path": [["x"]]}, "toc_path must be a list of headings"),
    ("section", {"pid": 1, "toc_path": ["../../etc/passwd"]}, "the note has no headings"),
    ("section", {"pid": 1, "toc_path": [], "format": "exe"}, "format must be markdown, html or"),
    ("section", {"pid": 1, "toc_path": [], "format": {}}, "format must be markdown, html or"),
    ("get", {"pid": 999}, "no note with pid 999: "),
    ("toc", {"pid": 999}, "no note with pid 999: "),
    ("status", {"x": 1}, "status has no argument 'x': it takes no arguments"),
    ("../search", {}, "no such tool: there are search, section, toc, get, status"),
]


@pytest.mark.parametrize(("tool", "arguments", "message"), HOSTILE)
def test_hostile_arguments_are_told_in_one_line(
    desk: Desk, tool: str, arguments: dict[str, object], message: str
) -> None:
    reply = tools.call(desk, tool, arguments)
    assert reply.failed
    assert len(reply.texts) == 1
    assert reply.texts[0].startswith(message)
    assert "\n" not in reply.texts[0]
    assert len(reply.texts[0]) < 400


def test_a_bug_is_one_line_for_the_agent_and_a_traceback_for_the_user(
    desk: Desk, ask: Ask, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("qmd_py.server.tools.hybrid", lambda *_: 1 / 0)
    assert ask("search", query="x") == Reply(("this is a bug in qmd: search broke down",), True)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "ZeroDivisionError" in printed.err


def test_a_missing_model_leaves_its_stage_out(desk: Desk) -> None:
    missing = ("dense: gone", "expand: gone", "rerank: gone")
    bare = replace(desk, models=WarmModels(lambda: Models(missing=missing)))
    assert answered(tools.call(bare, "search", {"query": "bread"}))["skipped"] == list(missing)
    unasked = {"query": "bread", "rerank": False, "short_query": "bread"}
    assert answered(tools.call(bare, "search", unasked))["skipped"] == ["dense: gone"]


def test_local_models_answer_from_any_thread(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qmd_py.processors.threads", lambda: 1)
    judge, writer = reranker_weights(SHAPE, VOCABULARY), writer_weights(SHAPE, VOCABULARY, seed=18)
    write_qwen3(tmp_path / "judge.gguf", judge, SHAPE, VOCABULARY, head=True)
    write_qwen3(tmp_path / "writer.gguf", writer, SHAPE, VOCABULARY)
    chosen = tmp_path / "config.toml"
    chosen.write_text('embed = "none"\nrerank = "judge.gguf"\nexpand = "writer.gguf"\n')
    desk = _desk(config.load({"QMD_CONFIG": str(chosen)}, index), "cpu", None)
    with ThreadPoolExecutor(3) as pool:
        asked = [{"query": f"bread and car {n}", "intent": "to drive"} for n in range(6)]
        for reply in pool.map(lambda arguments: tools.call(desk, "search", arguments), asked):
            answer = answered(reply)
            assert answer["skipped"] == []
            assert all("rerank" in hit["matches"][0]["evidence"] for hit in answer["results"])


class TestWarmModels:
    def test_they_are_loaded_once_and_given_back_when_idle(self) -> None:
        now, loads, closed = [0.0], [], []

        class Closing(FakeReranker):
            def close(self) -> None:
                closed.append(self)

        def load() -> Models:
            loads.append(Models(reranker=Closing()))
            return loads[-1]

        warm = WarmModels(load, idle=60.0, clock=lambda: now[0])
        for _ in range(2):
            with warm.lent(expander=True, reranker=True) as lent:
                now[0] += 100.0
                assert lent.reranker
                assert len(loads) == 1
                assert not warm.release_idle()
        now[0] += 59.0
        assert not warm.release_idle()
        now[0] += 1.0
        assert warm.release_idle()
        assert (len(loads), len(closed)) == (1, 1)
        assert not warm.loaded
        assert not warm.release_idle()
        with warm.lent(expander=True, reranker=True):
            assert len(loads) == 2

    def test_a_running_server_gives_them_back(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("qmd_py.server.protocol._LOOK", 0.01)
        idle = replace(desk, models=WarmModels(models, idle=0.0))

        async def search() -> None:
            async with Client(protocol.made(idle)) as client:
                await client.call_tool("search", {"query": "bread"})
                with anyio.fail_after(REFRESHED):
                    while idle.models.loaded:
                        await anyio.sleep(0.01)

        anyio.run(search)

    def test_a_cancelled_search_gives_up_its_turn(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It read on to its end, and all other searches waited."""
        begun, ended = threading.Event(), threading.Event()
        unwanted: list[Callable[[], bool]] = []
        read: list[str] = []
        call = tools.call

        def noted(desk: Desk, name: str, arguments: Any, told: Callable[[], bool]) -> Reply:
            unwanted.append(told)
            try:
                return call(desk, name, arguments, told)
            finally:
                ended.set()

        class Patient(FakeReranker):
            def scores(self, question: str, passages: Sequence[str]) -> Iterator[float]:
                assert len(passages) > 1
                for passage in passages:
                    begun.set()
                    end = time.monotonic() + REFRESHED
                    while not unwanted[0]() and time.monotonic() < end:
                        time.sleep(0.01)
                    read.append(passage)
                    yield 0.5

        monkeypatch.setattr(tools, "call", noted)
        lent = replace(desk, models=WarmModels(lambda: Models(FakeEmbedder(), reranker=Patient())))

        async def search() -> None:
            async with Client(protocol.made(lent)) as client:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(client.call_tool, "search", {"query": "bread"})
                    assert await anyio.to_thread.run_sync(begun.wait, REFRESHED)
                    tasks.cancel_scope.cancel()
                assert await anyio.to_thread.run_sync(ended.wait, REFRESHED)

        anyio.run(search)
        assert len(read) == 1

    def test_a_search_that_nobody_waits_for_does_not_take_its_turn(self) -> None:
        with (
            pytest.raises(Busy, match="nobody waits"),
            WarmModels(models).lent(expander=True, reranker=True, unwanted=lambda: True),
        ):
            pass

    def test_the_slow_ones_serve_one_search_at_a_time(self) -> None:
        warm = WarmModels(models)
        inside = threading.Event()
        done = threading.Event()

        def wait() -> None:
            with warm.lent(expander=True, reranker=True):
                inside.set()
                done.wait(REFRESHED)

        threads = [threading.Thread(target=wait) for _ in range(9)]
        for thread in threads:
            thread.start()
        assert inside.wait(REFRESHED)
        with warm.lent(expander=False, reranker=False) as quick:
            assert quick.embedder is not None
            assert quick.reranker is None
        while warm._waiting._value:
            pass
        with (
            pytest.raises(Busy, match="rerank false"),
            warm.lent(expander=True, reranker=True),
        ):
            pass
        done.set()
        for thread in threads:
            thread.join()


class TestFreshness:
    def test_what_was_written_is_found_at_the_next_search(self, ask: Ask, folder: Path) -> None:
        assert answered(ask("search", query="walrus"))["results"][0]["path"] != "new.md"
        (folder / "new.md").write_text("# Walrus\n\nA walrus sings.\n")
        assert best(ask("search", query="walrus")) == "new.md"
        (folder / "new.md").unlink()
        assert best(ask("search", query="walrus")) != "new.md"

    def test_it_is_embedded_too(self, desk: Desk, ask: Ask, folder: Path, index: Path) -> None:
        (folder / "new.md").write_text("# Feline\n\nIt purrs.\n")
        ask("search", query="bread")
        desk.fresh.finish(REFRESHED)
        with Reader.open(index) as store:
            assert embeddings.overview(store)[0].pending == 0
        hit = answered(ask("search", query="кошка"))["results"][0]
        assert hit["path"] == "new.md"

    def test_notes_that_were_never_embedded_are_left_to_the_user(
        self, desk: Desk, folder: Path, index: Path
    ) -> None:
        with Writer.open(index) as store:
            embedding.drop_others(store, FakeEmbedder("another"))
        loads = []

        def load() -> FakeEmbedder:
            loads.append(FakeEmbedder())
            return loads[-1]

        fresh = Refresher(desk.config, load, every=0.0, patience=REFRESHED, share=1.0)
        (folder / "new.md").write_text("# Feline\n")
        for _ in range(2):
            fresh.look()
            fresh.finish(REFRESHED)
        assert len(loads) == 1
        assert loads[0].seen == []

    def test_looks_are_rare(self, desk: Desk, ask: Ask, folder: Path) -> None:
        patient = replace(desk, fresh=Refresher(desk.config, FakeEmbedder, every=1000.0))
        tools.call(patient, "search", {"query": "walrus"})
        (folder / "new.md").write_text("# Walrus\n")
        assert best(tools.call(patient, "search", {"query": "walrus"})) != "new.md"

    def test_a_writer_at_work_hinders_nobody(
        self, desk: Desk, folder: Path, index: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("qmd_py.store.connection._PATIENCE", 0.2)
        fresh = Refresher(desk.config, FakeEmbedder, every=0.0, patience=REFRESHED, share=1.0)
        hindered = replace(desk, fresh=fresh)
        (folder / "new.md").write_text("# Walrus\n")
        with Writer.open(index) as other, other.batch():
            assert best(tools.call(hindered, "search", {"query": "bread"})) == "bread.md"
            assert "locked" in (fresh.problem or "")
        assert best(tools.call(hindered, "search", {"query": "walrus"})) == "new.md"
        assert fresh.problem is None

    def test_a_deleted_index_is_not_made_anew(self, ask: Ask, index: Path) -> None:
        for file in index.parent.glob("index.sqlite*"):
            file.unlink()
        reply = ask("search", query="bread")
        assert reply.failed
        assert reply.texts[0].startswith("no index at ")
        assert not index.exists()

    def test_a_broken_index_is_told(self, ask: Ask, index: Path) -> None:
        for file in index.parent.glob("index.sqlite-*"):
            file.unlink()
        index.write_bytes(b"no index" * 1000)
        assert "it is no index of qmd" in ask("search", query="bread").texts[0]

    def test_what_cannot_be_read_is_tried_once(
        self, desk: Desk, ask: Ask, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (folder / "binary.md").write_bytes(b"\0\xff\xfe\0" * 9)
        ask("search", query="bread")
        monkeypatch.setattr("qmd_py.indexing.update", lambda *_: pytest.fail("tried again"))
        assert best(ask("search", query="bread")) == "bread.md"
        assert desk.fresh.problem is None

    def test_a_bug_is_told(
        self,
        desk: Desk,
        ask: Ask,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setattr("qmd_py.indexing.changes", lambda *_: int("a bug"))
        assert best(ask("search", query="bread")) == "bread.md"
        told = answered(ask("status"))["refresh_problem"]
        assert told == "this is a bug in qmd: the look for changed notes broke down"
        desk.fresh.finish(REFRESHED)
        assert "ValueError: invalid literal" in capsys.readouterr().err

    def test_other_settings_leave_the_index_alone(self, desk: Desk, folder: Path) -> None:
        changed = replace(desk.config, settings=Settings(languages=("de",)))
        fresh = Refresher(changed, FakeEmbedder, every=0.0, patience=REFRESHED)
        (folder / "new.md").write_text("# Walrus\n")
        fresh.look()
        assert "run 'qmd index'" in (fresh.problem or "")


class TestTeaching:
    def test_a_change_of_words_needs_another_version(self) -> None:
        """A phrase decides what agents write: raise VERSION, measure, then change this."""
        told = [teaching.instructions(()), teaching.skill(()), str(teaching.tools(()))]
        digest = hashlib.sha256("\n".join(told).encode()).hexdigest()[:12]
        assert (teaching.VERSION, digest) == ("1", "564f95ed17e1")

    @pytest.mark.parametrize(
        ("spoken", "told"),
        [
            ((), "in the language of the notes"),
            ((Tongue("a", ()),), "in the language of the notes"),
            ((Tongue("a", ("ru",)),), "in Russian, the language of the notes"),
            (
                (Tongue("a", ("ru",)), Tongue("b", ("ru",))),
                "in Russian, the language of the notes",
            ),
            (
                (Tongue("a", ("ru",)), Tongue("b", ("en", "de"))),
                "in the language of the collection (a: Russian; b: English and German)",
            ),
        ],
    )
    def test_every_field_to_write_names_the_language(
        self, spoken: tuple[Tongue, ...], told: str
    ) -> None:
        search = teaching.tools(spoken)[0]
        about = {field.name: field.about for field in search.fields}
        for name in ("short_query", "rephrased_query", "expected_answer"):
            assert told in about[name]
        assert told in search.about
        assert told in teaching.instructions(spoken)
        assert told in teaching.skill(spoken)

    def test_what_folders_are_about_is_told_the_outermost_first(self) -> None:
        many = [Context("a", f"deep/{n}", "x") for n in range(30)]
        known = [Context("a", "", "My\nown \u202enotes\x1b"), *many, Context("b", "", "y" * 999)]
        for told in (teaching.instructions((), known), teaching.skill((), known)):
            lines = [line for line in told.splitlines() if line.startswith("- ")]
            assert len(lines) == 21
            assert lines[:2] == ["- a: My own �notes�", "- a/deep/0: x"]
            assert lines[-2] == f"- b: {'y' * 296}…"
            assert lines[-1].startswith("- and 12 more folders; ")
            assert "this is material too" in told
        assert "folders are about" not in teaching.instructions(())

    def test_a_server_tells_what_folders_are_about_unless_a_policy_decides(
        self,
        qmd: "Callable[..., Result]",
        vault: Path,
        isolated: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        qmd("index", "--no-embed", vault)
        qmd("context", "add", "vault/ru", "По-русски")
        loaded = config.load({}, isolated / "index.sqlite")
        assert _desk(loaded, "cpu", None).contexts == [Context("vault", "ru", "По-русски")]
        assert _desk(loaded, "cpu", POLICY).contexts == []
        assert "- vault/ru: По-русски\n" in qmd("skill").stdout
        monkeypatch.setenv("QMD_POLICY", str(POLICY))
        assert "По-русски" not in qmd("skill").stdout

    def test_names_carry_the_meaning(self) -> None:
        fields = {field.name: field.about for field in teaching.tools(())[0].fields}
        assert list(fields) == [
            "query", "short_query", "rephrased_query", "expected_answer", "queries", "searches",
            "intent", "collections", "paths", "tags", "where", "since", "until", "recent",
            "limit", "rerank",
        ]  # fmt: skip
        assert "as a page title would have it, two or three words" in fields["short_query"]
        assert "could stand in the note itself, as a statement" in fields["expected_answer"]
        assert "Always pass it" in fields["intent"]
        for kind in ("lex", "vec", "hyde"):
            assert kind in fields["searches"]

    def test_the_languages_are_those_of_the_notes(
        self, qmd: "Callable[..., Result]", vault: Path, isolated: Path
    ) -> None:
        qmd("index", "--no-embed", vault / "en")
        qmd("index", "--no-embed", vault / "ru")
        qmd("index", "--no-embed", vault)
        with Reader.open(isolated / "index.sqlite") as store:
            assert [(one.collection, one.codes) for one in tongues.detected(store)] == [
                ("en", ("en",)),
                ("ru", ("ru",)),
                ("vault", ("en", "ru")),
            ]


class TestSkill:
    @pytest.fixture
    def home(self, isolated: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setattr(Path, "home", lambda: isolated)
        return isolated

    def test_it_is_printed_without_an_index(self, qmd: "Callable[..., Result]") -> None:
        found = qmd("skill")
        assert found.exit_code == 0
        assert found.stdout == teaching.skill(())
        _, front, _ = found.stdout.split("---\n", 2)
        assert list(yaml.safe_load(front)) == ["name", "description"]

    def test_it_is_installed_where_tools_look(
        self, qmd: "Callable[..., Result]", home: Path
    ) -> None:
        assert qmd("skill", "install").exit_code == 2
        (home / ".claude").mkdir()
        (home / ".agents").mkdir()
        for _ in range(2):  # its own file may be replaced
            assert qmd("skill", "install").exit_code == 0
        for name in (".claude", ".agents"):
            file = home / name / "skills" / "qmd" / "SKILL.md"
            assert file.read_text() == teaching.skill(())
        assert not (home / ".codex").exists()

    def test_another_file_stays(self, qmd: "Callable[..., Result]", folder: Path) -> None:
        file = folder / "qmd" / "SKILL.md"
        file.parent.mkdir()
        file.write_text("mine")
        found = qmd("skill", "install", "--dir", folder)
        assert found.exit_code == 2
        assert "replace it with --force" in found.stderr
        assert file.read_text() == "mine"
        assert qmd("skill", "install", "--dir", folder, "--force").exit_code == 0
        assert file.read_text() == teaching.skill(())

    def test_a_folder_that_cannot_be_made(self, qmd: "Callable[..., Result]", folder: Path) -> None:
        (folder / "file").write_text("")
        found = qmd("skill", "install", "--dir", folder / "file")
        assert found.exit_code == 2
        assert "cannot write" in found.stderr


def test_the_token_of_the_environment(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    assert _token(None) is None
    monkeypatch.setenv("QMD_MCP_TOKEN", " a secret\n")
    assert _token(None) == "a secret"
    (folder / "token").write_text("another\n")
    assert _token(folder / "token") == "another"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
CALLS = st.sampled_from(teaching.tools(())).flatmap(
    lambda tool: st.tuples(
        st.just(tool.name),
        st.fixed_dictionaries(
            {field.name: JSON | st.text(min_size=1) for field in tool.fields if field.required},
            optional={field.name: JSON for field in tool.fields if not field.required},
        ),
    )
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(CALLS)
def test_whatever_is_passed_no_tool_breaks_down(
    desk: Desk, call: tuple[str, dict[str, object]]
) -> None:
    reply = tools.call(desk, *call)
    assert not reply.texts[0].startswith("this is a bug"), reply
    json.dumps(reply.texts).encode()
    "".join(reply.texts).encode()
