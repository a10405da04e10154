"""Models on servers, good and bad ones, through the command line."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qmd_py import catalogue
from qmd_py.catalogue import Server
from qmd_py.errors import ConfigError
from qmd_py.remote import server as remote
from qmd_py.remote.server import Client, is_here
from tests.servers import TinyServer

if TYPE_CHECKING:
    from typer.testing import Result

Qmd = Callable[..., "Result"]

NAMES = {"embed": "mine", "expand": "writer", "rerank": "judge"}


@pytest.fixture
def server() -> Iterator[TinyServer]:
    made = TinyServer()
    yield made
    made.close()


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Writes the user's own list of models: role → keys of its model."""
    file = tmp_path / "own.toml"
    monkeypatch.setenv("QMD_MODELS", str(file))

    def write(**roles: dict[str, object]) -> Path:
        chosen = [
            f'{role} = "{NAMES[role] if role in roles else "none"}"' for role in catalogue.ROLES
        ]
        parts = ["[defaults]", *chosen]
        for role, keys in roles.items():
            parts.append(f"[{role}.{NAMES[role]}]")
            parts += [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
        file.write_text("\n".join(parts))
        return file

    return write


@pytest.fixture
def at(server: TinyServer) -> dict[str, object]:
    """The keys that every entry of a server has."""
    return {"engine": "http", "source": server.url, "model": "tiny", "seconds": 5}


@pytest.fixture
def notes(folder: Path) -> Path:
    (folder / "a.md").write_text("# Automobile\n\nan automobile to purchase\n")
    (folder / "b.md").write_text("# Apple\n\nan apple a day\n")
    (folder / "c.md").write_text("# Cat\n\na cat asleep\n")
    return folder


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_PAUSE", 0.001)


def paths(result: "Result") -> list[str]:
    return [hit["path"] for hit in json.loads(result.stdout)["results"]]


def skipped(result: "Result") -> list[str]:
    found: list[str] = json.loads(result.stdout)["skipped"]
    return found


def test_vectors_come_from_a_server(
    qmd: Qmd, notes: Path, server: TinyServer, models: Callable[..., Path], at: dict[str, object]
) -> None:
    models(embed={**at, "query_prefix": "q: ", "passage_prefix": "p: ", "batch": 2})
    indexed = qmd("index", notes)
    assert (indexed.exit_code, indexed.stderr) == (0, "")
    assert indexed.stdout == "notes: 3 new\nembedded 3 passages\n"
    sizes = [len(body["input"]) for _, body, _ in server.asked]
    assert sizes == [1, 2, 1]  # a word for the length, then batches
    assert server.asked[1][0] == "/v1/embeddings"
    assert server.asked[1][1]["model"] == "tiny"
    assert server.asked[1][1]["input"][0].startswith("p: Automobile")
    assert paths(qmd("vsearch", "buy a car", "--json"))[0] == "a.md"
    assert server.asked[-1][1]["input"] == ["q: buy a car"]
    assert "authorization" not in {name.lower() for name in server.asked[-1][2]}


def test_results_in_another_order_are_put_right(
    qmd: Qmd, notes: Path, server: TinyServer, models: Callable[..., Path], at: dict[str, object]
) -> None:
    server.spoil = lambda answer: {"data": answer["data"][::-1]}
    models(embed=at)
    qmd("index", notes)
    assert paths(qmd("vsearch", "buy a car", "--json"))[0] == "a.md"


def test_a_server_words_the_question_and_another_reads_the_candidates(
    qmd: Qmd, notes: Path, server: TinyServer, models: Callable[..., Path], at: dict[str, object]
) -> None:
    models(expand=at, rerank={**at, "batch": 2})
    qmd("index", notes)
    found = qmd("query", "unheard asleep apple", "--json")
    assert skipped(found) == []
    asked = [path for path, _, _ in server.asked]
    assert asked[0] == "/v1/chat/completions"
    assert set(asked[1:]) == {"/v1/rerank"}
    assert all(len(body["documents"]) <= 2 for _, body, _ in server.asked[1:])
    evidence = json.loads(found.stdout)["results"][0]["matches"][0]["evidence"]
    assert evidence["rerank"] == pytest.approx(1 / 3)
    before = len(server.asked)
    assert paths(qmd("query", "unheard asleep apple", "--json")) == paths(found)
    assert len(server.asked) == before  # the cache answers the second time


def test_a_reranker_of_the_shape_of_tei(
    qmd: Qmd, notes: Path, server: TinyServer, models: Callable[..., Path], at: dict[str, object]
) -> None:
    models(rerank={**at, "format": "tei"})
    qmd("index", notes)
    assert skipped(qmd("query", "asleep", "--json")) == []
    assert server.asked[-1][1]["truncate"] is True


def test_logits_become_probabilities(
    qmd: Qmd, notes: Path, server: TinyServer, models: Callable[..., Path], at: dict[str, object]
) -> None:
    def logits(answer: Any) -> Any:
        return {"results": [{**one, "relevance_score": -1e9} for one in answer["results"]]}

    server.spoil = logits
    qmd("index", notes, "--no-embed")
    models(rerank=at)
    said = skipped(qmd("query", "asleep", "--json"))
    assert said == [
        f'rerank: {server.url[7:-3]} answers the score -1e+09, which needs scores = "logits": is it '
        "the right model for rerank.judge?"
    ]
    models(rerank={**at, "scores": "logits"})
    found = json.loads(qmd("query", "asleep", "--json").stdout)
    assert found["results"][0]["matches"][0]["evidence"]["rerank"] == 0.0


# what a bad server does → what is said of it when notes are embedded
Spoil = Callable[[TinyServer], None]


def spoiled(change: Callable[[Any], Any]) -> Spoil:
    def spoil(server: TinyServer) -> None:
        server.spoil = change

    return spoil


def _rows(change: Callable[[int, list[float]], object]) -> Spoil:
    return spoiled(
        lambda answer: {
            "data": [
                {"index": one["index"], "embedding": change(at, one["embedding"])}
                for at, one in enumerate(answer["data"])
            ]
        }
    )


def _html(server: TinyServer) -> None:
    server.raw = b"<html><title>Please log in</title></html>"


def _sends_on(server: TinyServer) -> None:
    server.statuses = [307] * 9
    server.headers = {"Location": "http://elsewhere.example/v1/embeddings"}


def _sends_nowhere(server: TinyServer) -> None:
    server.statuses = [302] * 9
    server.headers = {"Location": "http://[bad"}


def _huge(server: TinyServer) -> None:
    server.raw = b" " * 70_000_000


def _drips(server: TinyServer) -> None:
    server.drip = 0.05


def _packs(server: TinyServer) -> None:
    import gzip

    server.raw = gzip.compress(b" " * 1_000_000)
    server.headers = {"Content-Encoding": "gzip"}


def _statuses(*statuses: int) -> Spoil:
    def spoil(server: TinyServer) -> None:
        server.statuses = list(statuses)
        server.spoil = lambda answer: {"error": {"message": "no\nentry"}} if statuses else answer

    return spoil


BAD = {
    "a page": (_html, "answers no JSON"),
    "a redirect": (_sends_on, "sends on to elsewhere.example, which is not asked"),
    "a huge answer": (_huge, "answers more than 64000000 bytes"),
    "a dripping answer": (_drips, "did not answer within 0.3 seconds"),
    "a packed answer": (_packs, "answers no JSON"),
    "refused": (_statuses(401), "answers 401 (no entry)"),
    "no such path": (_statuses(404), "answers 404 (no entry)"),
    "always busy": (_statuses(503, 503, 503), "answers 503 (no entry)"),
    "too few": (spoiled(lambda answer: {"data": answer["data"][1:]}), "results for 1 texts"),
    "too many": (spoiled(lambda answer: {"data": answer["data"] * 2}), "answers 2 results for 1"),
    "wrong indices": (
        spoiled(lambda answer: {"data": [{**one, "index": 7} for one in answer["data"]]}),
        "indices are not those of the texts",
    ),
    "odd indices": (
        spoiled(lambda answer: {"data": [{**one, "index": [0]} for one in answer["data"]]}),
        "indices are not those of the texts",
    ),
    "a list": (spoiled(lambda answer: [answer]), "answers 0 results for 1 texts"),
    "deep": (spoiled(lambda answer: json.loads("[" * 900 + "]" * 900)), "answers 0 results"),
    "texts for numbers": (_rows(lambda _, row: ["x" for _ in row]), "something else than numbers"),
    "a vector of a vector": (_rows(lambda _, row: [row]), "something else than numbers"),
    "endless numbers": (_rows(lambda _, row: [10**400 for _ in row]), "beyond all bounds"),
    "an odd redirect": (_sends_nowhere, "sends on to another address"),
    "no vector": (_rows(lambda _, row: []), "answers no vector"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_server_is_named_and_ends_the_run(
    qmd: Qmd,
    notes: Path,
    server: TinyServer,
    models: Callable[..., Path],
    at: dict[str, object],
    name: str,
) -> None:
    spoil, said = BAD[name]
    spoil(server)
    models(embed={**at, "seconds": 0.3 if name == "a dripping answer" else 5})
    indexed = qmd("index", notes)
    assert indexed.exit_code == 2
    assert indexed.stdout == "notes: 3 new\n"
    (line,) = indexed.stderr.splitlines()
    assert said in line
    assert "embed.mine" in line
    assert len(server.asked) <= 3
    assert qmd("search", "apple").exit_code == 0


def test_a_server_that_is_busy_for_a_while_is_asked_again(
    qmd: Qmd, notes: Path, server: TinyServer, models: Callable[..., Path], at: dict[str, object]
) -> None:
    server.statuses = [503, 429]
    models(embed=at)
    assert qmd("index", notes).stdout == "notes: 3 new\nembedded 3 passages\n"


def test_no_server_at_all(
    qmd: Qmd, notes: Path, server: TinyServer, models: Callable[..., Path], at: dict[str, object]
) -> None:
    models(embed={**at, "dimensions": 64})
    qmd("index", notes)
    models(embed={**at, "dimensions": 64}, rerank=at, expand=at)
    server.close()
    try:
        found = qmd("query", "unheard apple", "--json")
        assert found.exit_code == 0
        assert found.stderr.count("is the server running?") == 3
        assert paths(found)[0] == "b.md"
        assert [line.partition(":")[0] for line in skipped(found)] == ["dense", "expand", "rerank"]
        assert all("cannot reach 127.0.0.1" in line for line in skipped(found))
    finally:
        server.__init__()  # type: ignore[misc]  # the fixture closes it


def test_a_server_that_changes_its_vectors_is_found_out(
    qmd: Qmd, notes: Path, server: TinyServer, models: Callable[..., Path], at: dict[str, object]
) -> None:
    models(embed=at)
    qmd("index", notes)
    _rows(lambda _, row: row[:32])(server)
    (said,) = skipped(qmd("query", "apple", "--json"))[:1]
    assert said.startswith("dense: the model gives 32 numbers a vector, the index has 64")
    (notes / "d.md").write_text("dogs")
    indexed = qmd("index", notes)
    assert indexed.exit_code == 2
    assert "the model gives 32 numbers a vector, the index has 64" in indexed.stderr


def test_a_server_that_lies_about_its_vectors_is_found_out(
    qmd: Qmd, notes: Path, server: TinyServer, models: Callable[..., Path], at: dict[str, object]
) -> None:
    models(embed={**at, "dimensions": 65})
    assert "answers 64 numbers a vector, not 65" in qmd("index", notes).stderr
    _rows(lambda number, row: row[number:])(server)
    models(embed=at)
    assert "numbers a vector, not 64" in qmd("index", notes).stderr


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, 0, 1e300])
def test_a_text_without_a_usable_vector_is_counted_and_the_others_kept(
    qmd: Qmd,
    notes: Path,
    server: TinyServer,
    models: Callable[..., Path],
    at: dict[str, object],
    value: float | None,
) -> None:
    def change(answer: Any) -> Any:
        if (
            len(answer["data"]) == 1
            and server.asked[-1][1]["input"][0].startswith("Apple") is False
        ):
            return answer
        rows = [
            [value for _ in one["embedding"]] if text.startswith("Apple") else one["embedding"]
            for one, text in zip(answer["data"], server.asked[-1][1]["input"], strict=True)
        ]
        return {"data": [{"index": at, "embedding": row} for at, row in enumerate(rows)]}

    server.spoil = change
    models(embed=at)
    indexed = qmd("index", notes)
    assert indexed.exit_code == 2
    assert "1 passages gave no usable vector" in indexed.stderr
    assert "embedded 2 passages" in indexed.stdout
    assert paths(qmd("vsearch", "buy a car", "--json"))[0] == "a.md"


def test_a_text_that_the_server_refuses_costs_that_text(
    qmd: Qmd, notes: Path, server: TinyServer, models: Callable[..., Path], at: dict[str, object]
) -> None:
    models(embed={**at, "dimensions": 64})
    server.statuses = [500, 200, 400, 200]  # the batch, then one by one
    indexed = qmd("index", notes)
    assert "embedded 2 passages" in indexed.stdout
    assert "1 passages gave no usable vector" in indexed.stderr


def test_a_server_that_refuses_every_text_ends_the_run(
    qmd: Qmd, folder: Path, server: TinyServer, models: Callable[..., Path], at: dict[str, object]
) -> None:
    for number in range(60):
        (folder / f"{number}.md").write_text(f"note {number}")
    models(embed={**at, "dimensions": 64})
    server.statuses = [500] * 100
    assert "answers 500" in qmd("index", folder).stderr
    assert len(server.asked) == 20


@pytest.mark.parametrize(
    "answer",
    [{}, {"choices": []}, {"choices": [{"message": {"content": None}}]}, {"choices": 3}, "x"],
)
def test_a_chat_that_is_none_costs_the_variants(
    qmd: Qmd,
    notes: Path,
    server: TinyServer,
    models: Callable[..., Path],
    at: dict[str, object],
    answer: object,
) -> None:
    qmd("index", notes, "--no-embed")
    server.spoil = lambda _: answer
    models(expand=at)
    found = qmd("query", "unheard asleep apple", "--json")
    assert paths(found) != []
    (said,) = skipped(found)
    assert said.startswith("expand: 127.0.0.1")


def test_thoughts_and_talk_are_no_variants(
    qmd: Qmd, notes: Path, server: TinyServer, models: Callable[..., Path], at: dict[str, object]
) -> None:
    server.written = (
        "<think>lex: no</think>Sure!\n- **lex**: sleeping apple\nvec: apple that sleeps"
    )
    qmd("index", notes, "--no-embed")
    models(expand=at)
    found = qmd("query", "unheard asleep apple", "--explain").stdout
    assert "sleeping apple" in found
    assert "Sure" not in found


def test_the_key_comes_from_the_variable_and_is_shown_nowhere(
    qmd: Qmd,
    notes: Path,
    server: TinyServer,
    models: Callable[..., Path],
    at: dict[str, object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    models(embed={**at, "key_env": "TINY_KEY"})
    without = qmd("index", notes)
    assert without.stderr == "qmd: skipped dense: mine wants a key: set TINY_KEY\n"
    assert server.asked == []
    monkeypatch.setenv("TINY_KEY", "se\ncret")
    assert "TINY_KEY holds what can be no key" in qmd("index").stderr
    monkeypatch.setenv("TINY_KEY", "secret")
    assert qmd("index").exit_code == 0
    assert server.asked[-1][2]["Authorization"] == "Bearer secret"
    server.statuses = [401]
    refused = qmd("vsearch", "apple")
    listed = qmd("models", "list", "--json")
    assert "answers 401" in refused.stderr
    assert "secret" not in refused.output + listed.output
    assert "se cret" not in refused.output


def test_what_leaves_the_machine_is_said_once(server: TinyServer) -> None:
    told: list[str] = []
    away = Server("https://api.example.com/v1", "m")
    client = Client("embed.mine", away, None, told.append)
    for _ in range(2):
        client._say("the text of your notes")
    Client("embed.mine", Server("http://nas.local/v1", "m"), None, told.append)._say("a question")
    Client("embed.mine", Server(server.url, "m"), None, told.append)._say("nothing")
    assert told == [
        "embed.mine sends the text of your notes to api.example.com",
        "embed.mine sends a question to nas.local, unencrypted",
    ]


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://localhost:8080/v1", True),
        ("http://127.0.0.1/v1", True),
        ("http://[::1]:1/v1", True),
        ("http://localhost.example.com/v1", False),
        ("http://127.0.0.1.example.com/v1", False),
        ("http://192.168.1.4/v1", False),
    ],
)
def test_which_addresses_are_this_machine(url: str, here: bool) -> None:
    assert is_here(url) is here


def test_the_notice_is_given_before_anything_is_sent(
    qmd: Qmd,
    notes: Path,
    server: TinyServer,
    models: Callable[..., Path],
    at: dict[str, object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remote, "is_here", lambda url: False)
    monkeypatch.setenv("NO_PROXY", "*")
    models(embed={**at, "dimensions": 64})
    host = server.url[7:-3]
    indexed = qmd("index", notes)
    said = f"qmd: embed.mine sends the text of your notes to {host}, unencrypted\n"
    assert indexed.stderr == said
    asked = qmd("vsearch", "apple")
    assert asked.stderr == f"qmd: embed.mine sends your question to {host}, unencrypted\n"


def test_no_list_of_ours_names_a_server() -> None:
    assert not [spec for spec in catalogue.load().models if isinstance(spec.source, Server)]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"engine": None}, 'is an address: write engine = "http"'),
        ({"engine": "ftp"}, "must be one of http, llama"),
        ({"source": "api.example.com"}, "write the address of the server"),
        ({"source": "ftp://x/v1"}, "write the address of the server"),
        ({"source": "http://x y/v1"}, "write the address of the server"),
        ({"source": "http://x:99999/v1"}, "write the address of the server"),
        ({"source": "https://me:key@x/v1"}, "may hold no user, key or query"),
        ({"source": "https://x/v1?key=1"}, "may hold no user, key or query"),
        ({"key_env": "sk-1234"}, "never the key itself"),
        ({"seconds": 0}, "must be a number above 0"),
        ({"seconds": True}, "must be a number above 0"),
        ({"batch": 1.5}, "must be a number above 0"),
        ({"dimensions": -1}, "must be a number above 0"),
        ({"sha256": "0" * 64}, "unknown key of embed.mine 'sha256'"),
        ({"api_key": "x"}, "unknown key of embed.mine 'api_key'"),
    ],
)
def test_an_impossible_entry_is_refused(
    models: Callable[..., Path], keys: dict[str, object], said: str
) -> None:
    entry = {"engine": "http", "source": "http://127.0.0.1:1/v1", **keys}
    file = models(embed={key: value for key, value in entry.items() if value is not None})
    with pytest.raises(ConfigError) as caught:
        catalogue.load([file])
    assert said in str(caught.value)


def test_the_models_of_servers_are_listed_and_have_no_files(
    qmd: Qmd, models: Callable[..., Path], at: dict[str, object]
) -> None:
    models(embed=at)
    assert any(
        "mine" in line and "server" in line for line in qmd("models", "list").stdout.split("\n")
    )
    listed = json.loads(qmd("models", "list", "--json").stdout)
    (mine,) = [one for one in listed if one["name"] == "mine"]
    assert (mine["source"], mine["file"], mine["here"]) == (at["source"], None, True)
    for command in ("path", "pull", "verify", "remove"):
        done = qmd("models", command, "mine")
        assert done.exit_code == 2, command
        assert "mine" in done.stderr


def test_a_search_without_servers_imports_no_network(notes: Path, qmd: Qmd) -> None:
    qmd("index", notes, "--no-embed")
    program = (
        "import os, sys; from qmd_py.cli import main\n"
        "os._exit = sys.exit\n"
        "try: main()\nexcept SystemExit: print('httpx2' in sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-c", program, "query", "apple", "--without", "dense"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == "False"
