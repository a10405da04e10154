"""`qmd mcp` from outside: the SDK's own client over both transports, and whoever means ill."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import TextContent

from qmd_py import indexing, passages, registry
from qmd_py.config import Settings
from qmd_py.server.protocol import MOST_BYTES
from qmd_py.server.web import Guard
from qmd_py.store.writer import Writer
from tests.conftest import VAULT

QMD = (sys.executable, "-m", "qmd_py")
TOKEN = "an open sesame"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@dataclass(frozen=True)
class Place:
    """Where a server of these tests has its things."""

    folder: Path

    @property
    def index(self) -> Path:
        return self.folder / "index.sqlite"

    @property
    def environment(self) -> dict[str, str]:
        own = {"QMD_INDEX": str(self.index), "HOME": str(self.folder), "NO_COLOR": "1"}
        homes = {f"XDG_{name}_HOME": str(self.folder) for name in ("DATA", "CONFIG", "CACHE")}
        return {**os.environ, **own, **homes}


def put(index: Path, notes: Path) -> None:
    with Writer.open(index) as writer:
        indexing.update(writer, registry.collection_for(writer, notes), Settings())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    found = Place(tmp_path_factory.mktemp("served"))
    put(found.index, VAULT)
    return found


def started(place: Place, *args: str) -> tuple[subprocess.Popen[bytes], str]:
    """A server over HTTP and its address."""
    process = subprocess.Popen(
        [*QMD, "mcp", "--http", "--port", "0", *args],
        env=place.environment,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    assert process.stderr
    line = process.stderr.readline().decode()
    assert line.startswith("qmd: serving MCP at http://127.0.0.1:"), line
    return process, line.split()[-1]


def ended(process: subprocess.Popen[bytes]) -> str:
    """What a server had to say on stderr when it was interrupted; it ends with the right status."""
    process.send_signal(signal.SIGINT)
    try:
        _, said = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == 130
    return said.decode()


@pytest.fixture(scope="module")
def address(place: Place) -> Iterator[str]:
    process, found = started(place)
    yield found
    assert ended(process) == ""


def post(address: str, content: object, **headers: str) -> httpx2.Response:
    known = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
    } | {name.replace("_", "-"): value for name, value in headers.items()}
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return httpx2.post(address, content=body, headers=known, timeout=60, trust_env=False)


def call(id_: int, tool: str, **arguments: object) -> dict[str, object]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}


def told(response: httpx2.Response) -> Any:
    """The JSON in a tool's first text."""
    return json.loads(response.json()["result"]["content"][0]["text"])


def text(result: Any) -> str:
    assert not result.is_error, result
    first = result.content[0]
    assert isinstance(first, TextContent)
    return first.text


async def follow(server: StdioServerParameters | str, mode: str) -> None:
    """Search, read toc_path, fetch that section, and a sibling from the same toc."""
    async with Client(server, mode=mode) as client:
        assert "toc_path" in (client.instructions or "")
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == ["search", "section", "toc", "get", "status"]
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in listed.tools)
        for question, heading in (
            ("limit concurrency Go", "Worker pool"),
            ("ограничить конкурентность Go", "Пул воркеров"),
        ):
            found = await client.call_tool("search", {"query": question, "intent": "a limit"})
            hit = json.loads(text(found))["results"][0]
            match = hit["matches"][0]
            assert match["toc_path"][-1] == heading
            pointer = {"pid": hit["pid"], "toc_path": match["toc_path"]}
            read = text(await client.call_tool("section", pointer))
            assert read.startswith(f"### {heading}\n")
            whole = text(await client.call_tool("get", {"pid": hit["pid"]}))
            assert passages.tokens(read) == match["section_tokens"]
            assert passages.tokens(read) * 5 <= passages.tokens(whole) == hit["note_tokens"]
            sibling = next(
                entry
                for entry in hit["toc"]
                if entry["path"][:-1] == match["toc_path"][:-1]
                and entry["path"] != match["toc_path"]
            )
            pointer = {"pid": hit["pid"], "toc_path": sibling["path"]}
            beside = text(await client.call_tool("section", pointer))
            assert sibling["title"] in beside.splitlines()[0]


def test_the_whole_flow_over_stdio(place: Place) -> None:
    server = StdioServerParameters(
        command=QMD[0], args=[*QMD[1:], "mcp"], env=place.environment, cwd=place.folder
    )
    anyio.run(follow, server, "auto")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_whole_flow_over_http(address: str, mode: str) -> None:
    anyio.run(follow, address, mode)


def test_without_fields_the_answer_is_that_of_the_command(place: Place, address: str) -> None:
    question = "limit concurency Go"
    answer = post(address, call(1, "search", query=question)).json()
    printed = subprocess.run(
        [*QMD, "query", question, "--json"], env=place.environment, capture_output=True, check=True
    ).stdout.decode()
    now = json.loads(printed)["retrieved_at"]
    given = answer["result"]["content"][0]["text"]
    assert given.replace(json.loads(given)["retrieved_at"], now) == printed
    assert len(answer["result"]["content"]) == 1


@pytest.mark.parametrize(
    ("question", "arguments", "options"),
    [
        ("flour", {"tags": ["bread"]}, ["--tag", "bread"]),
        ("starter", {"paths": ["en"], "where": ["created>2025-10"]}, ["--path", "en", "--where", "created>2025-10"]),
        ("", {"since": "2025-11", "until": "2025-11", "limit": 3}, ["--since", "2025-11", "--until", "2025-11", "-n", "3"]),
    ],
)  # fmt: skip
def test_with_filters_too(
    place: Place, address: str, question: str, arguments: dict[str, Any], options: list[str]
) -> None:
    given = told(post(address, call(1, "search", query=question, **arguments)))
    printed = subprocess.run(
        [*QMD, "query", *question.split(), "--json", *options],
        env=place.environment,
        capture_output=True,
        check=True,
    ).stdout
    command = json.loads(printed)
    assert command["results"]
    assert given | {"retrieved_at": ""} == command | {"retrieved_at": ""}


class TestConcurrency:
    def test_many_searches_while_notes_are_indexed(self, place: Place, address: str) -> None:
        """None fails, and none has another's answer."""
        questions = ["worker pool", "закваска", "WAL mode", "чугунная сковорода", "cold brew"]
        best = {q: _best(told(post(address, call(1, "search", query=q)))) for q in questions}
        more = place.folder / "more"
        more.mkdir()
        stop = anyio.Event()

        def index(turn: int) -> None:
            for at in range(20):
                note = more / f"{at}.md"
                note.write_text(f"# Turn {turn}\n\nzyzzyva number {at} of turn {turn}\n")
            put(place.index, more)

        async def ask(client: httpx2.AsyncClient, at: int) -> None:
            question = questions[at % len(questions)]
            message = call(at, "search", query=question, collections=["vault"])
            response = await client.post(address, json=message, headers=headers)
            assert response.status_code == 200, response.text
            assert response.json()["id"] == at
            answer = told(response)
            assert answer["query"] == question
            assert _best(answer) == best[question]

        async def run() -> None:
            async with (
                httpx2.AsyncClient(timeout=120, trust_env=False, limits=limits) as client,
                anyio.create_task_group() as tasks,
            ):
                tasks.start_soon(keep_indexing)
                async with anyio.create_task_group() as asking:
                    for at in range(200):
                        asking.start_soon(ask, client, at)
                stop.set()

        async def keep_indexing() -> None:
            turn = 0
            while not stop.is_set():
                turn += 1
                await anyio.to_thread.run_sync(index, turn)

        headers = {"accept": "application/json, text/event-stream"}
        limits = httpx2.Limits(max_connections=200)
        anyio.run(run)
        with Writer.open(place.index) as writer:
            gone = next(found for found in writer.collections() if found.name == "more")
            writer.remove_collection(gone)


def _best(answer: dict[str, Any]) -> tuple[str, list[str]]:
    """What does not hang on how rare the words are in other notes."""
    hit = answer["results"][0]
    return hit["path"], hit["matches"][0]["toc_path"]


class TestRefusals:
    """A refused request is answered in a line and changes nothing."""

    @pytest.fixture(autouse=True)
    def unshaken(self, address: str) -> Iterator[None]:
        yield
        assert post(address, PING).json() == {"jsonrpc": "2.0", "id": 1, "result": {}}

    @pytest.mark.parametrize(
        ("headers", "status"),
        [
            ({"host": "evil.example"}, 421),
            ({"host": "evil.example:80"}, 421),
            ({"host": "127.0.0.1"}, 421),
            ({"host": "127.0.0.1:1"}, 421),
            ({"host": "localhost:{port}.evil.example"}, 421),
            ({"origin": "http://evil.example"}, 403),
            ({"origin": "https://localhost:{port}"}, 403),
            ({"origin": "http://localhost:{port}.evil.example"}, 403),
            ({"origin": "null"}, 403),
            ({"origin": ""}, 403),
            # rebinding: the name resolves to this machine, and the page is of that name
            ({"host": "evil.example:{port}", "origin": "http://evil.example:{port}"}, 421),
        ],
    )
    def test_host_and_origin(self, address: str, headers: dict[str, str], status: int) -> None:
        port = address.split(":")[2].split("/")[0]
        filled = {name: value.format(port=port) for name, value in headers.items()}
        response = post(address, PING, **filled)
        assert response.status_code == status
        assert response.text.count("\n") == 1

    @pytest.mark.parametrize("header", ["host", "origin"])
    def test_the_servers_own_names_pass(self, address: str, header: str) -> None:
        host = address.split("/")[2].replace("127.0.0.1", "localhost")
        value = host if header == "host" else f"http://{host}"
        assert post(address, PING, **{header: value}).status_code == 200

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"{",
            b"null",
            b"[]",
            b'"x"',
            b"\xff\xfe",
            b"[" * 100_000,
            b'{"jsonrpc":"2.0","id":1}',
        ],
    )
    def test_what_is_no_message(self, address: str, content: bytes) -> None:
        response = post(address, content)
        assert response.status_code == 400
        assert response.json()["error"]["message"] == "the message is no JSON-RPC"

    def test_a_huge_message(self, address: str) -> None:
        assert post(address, b" " * (MOST_BYTES + 1)).status_code == 413

    def test_a_huge_message_in_pieces(self, address: str) -> None:
        with connected(address) as connection:
            connection.sendall(head(address, "Transfer-Encoding: chunked"))
            piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
            try:
                for _ in range(MOST_BYTES // 0x10000 + 2):
                    connection.sendall(piece)
            except OSError:
                pass  # refused before all was sent
            assert connection.recv(100).startswith(b"HTTP/1.1 413 ")

    def test_half_a_message_of_a_client_that_dies(self, address: str) -> None:
        with connected(address) as connection:
            connection.sendall(head(address, "Content-Length: 500") + b'{"jsonrpc":"2.0"')

    def test_a_client_that_dies_while_it_is_answered(self, address: str) -> None:
        body = json.dumps(call(1, "search", query="worker pool")).encode()
        with connected(address) as connection:
            connection.sendall(head(address, f"Content-Length: {len(body)}") + body)

    def test_no_http_at_all(self, address: str) -> None:
        with connected(address) as connection:
            connection.sendall(b"\x16\x03\x01" * 100 + b"\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 400 ")

    @pytest.mark.parametrize(
        ("method", "path", "status"),
        [
            ("GET", "/mcp", 405),
            ("DELETE", "/mcp", 405),
            ("OPTIONS", "/mcp", 405),
            ("POST", "/", 404),
        ],
    )
    def test_other_methods_and_paths(
        self, address: str, method: str, path: str, status: int
    ) -> None:
        there = address.removesuffix("/mcp") + path
        assert httpx2.request(method, there, trust_env=False).status_code == status


class TestGuard:
    """What would take too long to try from outside."""

    def asked(self, *messages: dict[str, Any]) -> list[int]:
        """The statuses of answers to a request that comes in these messages, and then no more."""
        coming, statuses = list(messages), []

        async def app(*_: object) -> None:
            statuses.append(0)

        async def receive() -> Any:
            if not coming:
                await anyio.sleep_forever()
            return coming.pop(0)

        async def send(message: Any) -> None:
            statuses.append(message.get("status", -1))

        headers = [(b"host", b"localhost:1")]
        scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers}
        guard = Guard(app, 1, None, patience=0.01)
        anyio.run(guard, scope, receive, send)
        return [status for status in statuses if status >= 0]

    def test_a_request_that_never_ends_is_given_up(self) -> None:
        half = {"type": "http.request", "body": b"{", "more_body": True}
        assert self.asked(half) == [408]

    def test_a_sender_that_has_left_is_not_answered(self) -> None:
        half = {"type": "http.request", "body": b"{", "more_body": True}
        assert self.asked(half, {"type": "http.disconnect"}) == []

    def test_a_request_in_pieces_is_served(self) -> None:
        body = json.dumps(PING).encode()
        pieces: list[dict[str, Any]] = [
            {"type": "http.request", "body": body[:9], "more_body": True},
            {"type": "http.request", "body": body[9:]},
        ]
        assert self.asked(*pieces) == [0]


def connected(address: str) -> socket.socket:
    host, _, port = address.split("/")[2].partition(":")
    return socket.create_connection((host, int(port)), timeout=20)


def head(address: str, *headers: str) -> bytes:
    known = ["Content-Type: application/json", "Accept: application/json, text/event-stream"]
    lines = ["POST /mcp HTTP/1.1", f"Host: {address.split('/')[2]}", *known, *headers]
    return "\r\n".join([*lines, "", ""]).encode()


def test_a_token_is_asked_for(place: Place, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN + "\n")
    process, address = started(place, "--token-file", str(tmp_path / "token"))
    for given in ({}, {"authorization": "Bearer sesame"}, {"authorization": f"Basic {TOKEN}"}):
        response = post(address, PING, **given)
        assert response.status_code == 401
        assert response.headers["www-authenticate"] == "Bearer"
    for scheme in ("Bearer", "bearer"):
        assert post(address, PING, authorization=f"{scheme} {TOKEN}").status_code == 200
    assert ended(process) == ""


class TestPipe:
    """The server at the end of a pipe, spoken to by hand."""

    @pytest.fixture
    def process(self, place: Place) -> Iterator[subprocess.Popen[bytes]]:
        with subprocess.Popen(
            [*QMD, "mcp"],
            env=place.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as started_:
            self.say(started_, INITIALIZE)
            assert self.hear(started_)["result"]["serverInfo"]["name"] == "qmd"
            yield started_
            started_.kill()

    def say(self, process: subprocess.Popen[bytes], content: object) -> None:
        assert process.stdin
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        process.stdin.write(body + b"\n")
        process.stdin.flush()

    def hear(self, process: subprocess.Popen[bytes]) -> dict[str, Any]:
        assert process.stdout
        found: dict[str, Any] = json.loads(process.stdout.readline())
        return found

    def quiet_end(self, process: subprocess.Popen[bytes]) -> int:
        assert process.stderr
        status = process.wait(20)
        assert process.stderr.read() == b""
        return status

    def test_nothing_but_the_protocol(self, process: subprocess.Popen[bytes]) -> None:
        for content in (b"garbage", b"\xff", b"[]", b" " * 3 + b"a" * (2 * MOST_BYTES)):
            self.say(process, content)
            assert self.hear(process)["error"]["code"] == -32700
        self.say(process, b"  ")
        self.say(process, call(7, "search", query="worker pool"))
        answer = self.hear(process)
        assert answer["id"] == 7
        assert json.loads(answer["result"]["content"][0]["text"])["results"]
        assert process.stdin
        process.stdin.close()
        assert process.stdout
        assert process.stdout.read() == b""
        assert self.quiet_end(process) == 0

    def test_a_reader_that_has_left(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout
        process.stdout.close()
        self.say(process, PING)
        assert self.quiet_end(process) == 0

    def test_an_interrupt(self, process: subprocess.Popen[bytes]) -> None:
        process.send_signal(signal.SIGINT)
        assert self.quiet_end(process) == 130

    def test_an_index_that_goes_and_comes_back(
        self, process: subprocess.Popen[bytes], place: Place
    ) -> None:
        away = place.index.with_suffix(".away")
        place.index.rename(away)
        self.say(process, call(1, "search", query="worker pool"))
        result = self.hear(process)["result"]
        assert result["isError"]
        assert result["content"][0]["text"].startswith("no index at ")
        assert not place.index.exists()
        away.rename(place.index)
        self.say(process, call(2, "search", query="worker pool"))
        assert not self.hear(process)["result"].get("isError")


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(place: Place) -> Run:
    return partial(subprocess.run, env=place.environment, capture_output=True, text=True, input="")


def test_without_the_extra_it_says_how_to_get_it(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mcp_types.py").write_text("raise ModuleNotFoundError(name='mcp_types')\n")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from qmd_py.cli import main; main()"
    found = run([sys.executable, "-c", code, "mcp"])
    assert found.returncode == 2
    assert found.stderr == (
        "qmd: the server for agents needs mcp_types: run pip install 'qmd-py[mcp]'\n"
    )


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--index", "nowhere.sqlite"], "no index at "),
        (["--http", "--port", "70000"], "cannot listen on port 70000: "),
        (["--http", "--token-file", "nowhere"], "cannot read the token in nowhere: "),
        (["--token-file", "nowhere"], "--token-file is for --http: "),
        (["--device", "abacus"], "no device 'abacus': "),
    ],
)
def test_a_wrong_start(run: Run, args: list[str], message: str) -> None:
    found = run([*QMD, "mcp", *args])
    assert found.returncode == 2
    assert found.stdout == ""
    assert found.stderr.startswith(f"qmd: {message}")
    assert found.stderr.count("\n") == 1


def test_a_port_that_is_taken(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        found = run([*QMD, "mcp", "--http", "--port", port])
    assert found.returncode == 2
    assert found.stderr.endswith("choose another --port\n")
