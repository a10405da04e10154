"""What searches and readers let out under a policy, through the command line."""

import hashlib
import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qmd_py import embedding, indexing, moments, provenance
from qmd_py.admission import Policy
from qmd_py.cli.loading import Loader
from qmd_py.config import Settings
from qmd_py.gate import Gate
from qmd_py.models import Models
from qmd_py.provenance import Live, Reading
from qmd_py.records.stored import StoredNote
from qmd_py.search.asking import Ask
from qmd_py.search.hybrid import hybrid
from qmd_py.search.simple import by_words
from qmd_py.store.reader import Reader
from qmd_py.store.writer import Writer
from tests.admission.notes import AS_OF, ASKED, FORMS, NOTES, POLICY, WORDS
from tests.conftest import Qmd
from tests.fakes import FakeEmbedder, FakeReranker

AT = moments.parse(AS_OF)


def only(folder: Path, qmd: Qmd, *kept: str) -> None:
    for name in NOTES:
        if name.removesuffix(".md") not in kept:
            (folder / name).unlink()
    assert qmd("index", folder, "--no-embed").exit_code == 0


def test_the_fixture_through_the_command_line(indexed: Path, policy: Path, qmd: Qmd) -> None:
    only(indexed, qmd, "adapter-v1", "adapter-v3")
    plain = json.loads(qmd("search", *ASKED, "--json").stdout)
    assert [hit["path"] for hit in plain["results"]] == ["adapter-v1.md", "adapter-v3.md"]
    result = qmd("search", *ASKED, "--policy", policy, "--as-of", AS_OF, "--json")
    answer = json.loads(result.stdout)
    assert result.exit_code == 0
    assert answer["status"] == "needs-human-verification"
    assert answer["retrieved_at"] == AS_OF
    assert [hit["path"] for hit in answer["results"]] == ["adapter-v3.md"]
    evidence = answer["evidence"][0]
    assert evidence["revision"] == "v3"
    assert evidence["anchor"] == "schema-upgrade"
    assert evidence["uri"].endswith("/adapter-v3.md#schema-upgrade")
    assert evidence["published_at"] == "2025-03-02T06:00:00Z"
    assert "Zebraold" not in result.output
    assert "expired-at-retrieval-time" in result.stderr


@pytest.mark.parametrize(
    ("note", "reason"),
    [
        ("adapter-v1", "expired-at-retrieval-time"),
        ("closed", "access-label-not-granted"),
        ("unversioned", "missing-revision"),
        ("plain", "missing-exact-citation"),
    ],
)
def test_what_is_refused_stops_and_shows_nothing(
    note: str, reason: str, indexed: Path, policy: Path, qmd: Qmd
) -> None:
    only(indexed, qmd, note)
    for command in ("query", "search"):
        for form in FORMS:
            result = qmd(command, *ASKED, "--policy", policy, "--as-of", AS_OF, *form)
            assert result.exit_code == 1
            assert WORDS[note] not in result.output
            assert note not in result.output
            assert reason in result.output
    answer = json.loads(qmd("query", *ASKED, "--policy", policy, "--as-of", AS_OF, "--json").stdout)
    assert (answer["status"], answer["reasons"]) == ("stop", [reason])
    assert answer["results"] == answer["evidence"] == []


def test_what_is_refused_takes_nobodys_place(indexed: Path, policy: Path, qmd: Qmd) -> None:
    answer = json.loads(
        qmd("search", *ASKED, "--policy", policy, "--as-of", AS_OF, "-n", 1, "--json").stdout
    )
    assert [hit["path"] for hit in answer["results"]] == ["adapter-v3.md"]


@pytest.mark.parametrize("command", ["section", "toc", "get", "cite"])
def test_a_pointer_to_a_closed_note_says_no_more_than_that(
    command: str, indexed: Path, policy: Path, qmd: Qmd
) -> None:
    for reference in (pid_of(indexed / "closed.md", qmd), "closed.md", str(indexed / "closed.md")):
        result = qmd(command, reference, "--policy", policy)
        assert result.exit_code == 2
        assert "Okapi" not in result.output
        assert result.stderr.startswith("qmd: access-label-not-granted: ")
        assert not result.stdout


def pid_of(file: Path, qmd: Qmd) -> str:
    notes = json.loads(qmd("ls", "--json").stdout)
    return str(next(note["pid"] for note in notes if note["path"] == file.name))


def test_an_ambiguous_path_names_only_what_may_be_read(
    indexed: Path, policy: Path, qmd: Qmd, tmp_path: Path
) -> None:
    other = tmp_path / "secretplans"
    other.mkdir()
    (other / "adapter-v3.md").write_text(NOTES["closed.md"])
    qmd("index", other, "--no-embed")
    assert "secretplans" in qmd("section", "adapter-v3.md").stderr
    result = qmd("section", "adapter-v3.md", "Schema upgrade", "--policy", policy)
    assert result.exit_code == 0
    assert "Quaggacurrent" in result.stdout
    assert "secretplans" not in result.output


def test_ls_lists_what_may_be_read(indexed: Path, policy: Path, qmd: Qmd) -> None:
    result = qmd("ls", "--policy", policy, "--as-of", AS_OF, "--json")
    assert [note["path"] for note in json.loads(result.stdout)] == ["adapter-v3.md", "plain.md"]


@pytest.mark.parametrize("command", ["section", "get", "toc", "links", "related", "cite"])
def test_a_misspelt_note_names_only_what_may_be_read(
    indexed: Path, policy: Path, qmd: Qmd, command: str
) -> None:
    assert "did you mean 'notes/closed.md'?" in qmd("toc", "closd.md").stderr
    policed = ("--policy", policy, "--as-of", AS_OF)
    for typed in ("closd.md", "Okapisecrt title", "notes/clsed.md:3"):
        result = qmd(command, typed, *policed)
        assert result.exit_code == 2
        assert "did you mean" not in result.output
    # the nearest has expired
    assert "did you mean 'notes/adapter-v3.md'?" in qmd(command, "adapter-v1", *policed).stderr


def test_a_misspelt_word_does_not_tell_words_of_closed_notes(
    indexed: Path, policy: Path, qmd: Qmd
) -> None:
    asked = ("Okapisecrt", "adapter")
    assert "okapisecret" in qmd("query", *asked, "--explain").stdout.lower()
    result = qmd("query", *asked, "--explain", "--policy", policy, "--as-of", AS_OF)
    assert "okapisecret" not in result.output.lower()


def test_a_configured_policy_always_decides(
    indexed: Path, policy: Path, qmd: Qmd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QMD_POLICY", str(policy))
    assert "Okapi" not in qmd("search", *ASKED).output
    assert qmd("get", "closed.md").exit_code == 2
    assert "closed" not in qmd("ls").output


def test_a_policy_in_the_settings(
    indexed: Path, policy: Path, qmd: Qmd, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text(f'policy = "{policy.name}"\n')
    monkeypatch.setenv("QMD_CONFIG", str(settings))
    assert qmd("get", "closed.md").exit_code == 2


def test_keys_of_the_front_matter_are_a_setting(
    folder: Path, policy: Path, qmd: Qmd, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (folder / "a.md").write_text(
        "---\nrev: 7\nFür: engineering-read\n---\n# A\n\n## Zebra\n\nzebra\n"
    )
    qmd("index", folder, "--no-embed")
    assert qmd("search", "zebra", "--policy", policy).exit_code == 1
    settings = tmp_path / "config.toml"
    settings.write_text('[metadata]\nrevision = ["rev"]\naccess = ["für"]\n')
    monkeypatch.setenv("QMD_CONFIG", str(settings))
    answer = json.loads(qmd("search", "zebra", "--policy", policy, "--json").stdout)
    assert answer["evidence"][0]["revision"] == "7"


@pytest.mark.parametrize(
    "text",
    [
        None,
        "version = ",
        'labels = ["a"]\nunlabelled = "open"',
        'version = "1"\nunlabelled = "open"',
        'version = "1"\nlabels = ["a"]',
        'version = "1"\nlabels = ["a"]\nunlabelled = "perhaps"',
        'version = "1"\nlabels = ["a"]\nunlabelled = ["open"]',
        'version = "1"\nlabels = "a"\nunlabelled = "open"',
        'version = "1"\nlabels = ["a"]\nunlabelled = "open"\nproofs = ["mtime"]',
        'version = "1"\nlabels = ["a"]\nunlabelled = "open"\nrequire = "citation"',
        'version = "1"\nlabels = ["a"]\nunlabelled = "open"\nlabel = ["b"]',
        'version = "1"\nlabels = ["a"]\nunlabelled = "open"\nline_ranges = "no"',
        'version = 1\nlabels = ["a"]\nunlabelled = "open"',
        "\x00",
    ],
)
def test_a_policy_that_is_not_clear_stops(
    text: str | None, indexed: Path, qmd: Qmd, tmp_path: Path
) -> None:
    file = tmp_path / "unclear.toml"
    if text is not None:
        file.write_text(text)
    result = qmd("search", *ASKED, "--policy", file, "--json")
    assert result.exit_code == 2
    answer = json.loads(result.stdout)
    assert (answer["status"], answer["reasons"], answer["results"]) == (
        "stop",
        ["unknown-policy"],
        [],
    )
    assert result.stderr.startswith("qmd: unknown-policy: ")
    assert result.stderr.count("\n") == 1
    assert qmd("get", "adapter-v3.md", "--policy", file).exit_code == 2


def test_every_question_of_a_batch_is_told_that_a_policy_is_not_known(
    indexed: Path, qmd: Qmd, tmp_path: Path
) -> None:
    file = tmp_path / "unclear.toml"
    file.write_text("version = 1")
    alone = json.loads(qmd("query", "adapter", "--policy", file, "--json").stdout)
    result = qmd("query", "--batch", "--policy", file, stdin="adapter\nschema\n")
    first, second = map(json.loads, result.stdout.splitlines())
    assert first | {"retrieved_at": ""} == alone | {"retrieved_at": ""}
    assert (second["query"], second["reasons"]) == ("schema", ["unknown-policy"])
    assert result.exit_code == 2
    assert result.stderr.startswith("qmd: adapter: unknown-policy: ")
    assert result.stderr.count("\n") == 2


def test_admit_without_any_policy_stops(indexed: Path, qmd: Qmd) -> None:
    result = qmd("query", *ASKED, "--admit")
    assert result.exit_code == 2
    assert not result.stdout
    assert "unknown-policy" in result.stderr


def test_a_policy_that_cannot_be_read_names_its_owner(
    indexed: Path, qmd: Qmd, tmp_path: Path
) -> None:
    file = tmp_path / "unclear.toml"
    file.write_text('owner = "docs@example.org"')
    assert "ask docs@example.org" in qmd("search", "x", "--policy", file).stderr


@pytest.mark.parametrize(
    ("revision", "changed", "reason"),
    [
        pytest.param("v3", "v3", "missing-revision", id="the same revision with another text"),
        pytest.param("v3", "v4", "stale-index", id="another revision"),
        pytest.param("v3", "", "missing-revision", id="no revision any more"),
    ],
)
def test_a_note_edited_since_is_never_cited_from_the_old_text(
    folder: Path, qmd: Qmd, tmp_path: Path, revision: str, changed: str, reason: str
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY)
    text = NOTES["adapter-v3.md"]
    note = folder / "a.md"
    note.write_text(text)
    qmd("index", folder, "--no-embed")
    stated = f"revision: {changed}" if changed else "status: draft"
    note.write_text(text.replace(f"revision: {revision}", stated).replace("while", "before"))
    for form in ("--json", "--full", "--explain", "--md"):
        result = qmd("search", *ASKED, "--policy", policy, "--as-of", AS_OF, form)
        assert result.exit_code == 1
        assert "Quagga" not in result.output
        assert reason in result.output
    qmd("index", folder, "--no-embed")
    result = qmd("search", *ASKED, "--policy", policy, "--as-of", AS_OF)
    assert "before the adapter serves" in result.stdout


@pytest.mark.parametrize(
    "command",
    [
        ("section", "adapter-v3.md", "Schema upgrade"),
        ("section", "adapter-v3.md", "--json"),
        ("get", "adapter-v3.md"),
        ("get", "adapter-v3.md:1"),
        ("toc", "adapter-v3.md"),
        ("cite", "adapter-v3.md", "Schema upgrade"),
    ],
)
def test_the_text_that_is_printed_is_the_text_that_was_judged(
    command: tuple[str, ...],
    indexed: Path,
    policy: Path,
    qmd: Qmd,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = provenance.look

    def closed_afterwards(note: StoredNote, *args: Any, **options: Any) -> Live:
        live = looked(note, *args, **options)
        closed = NOTES["closed.md"].replace("## Okapi", "## Schema upgrade\n\n## Okapi")
        (indexed / note.file).write_text(closed)
        return live

    monkeypatch.setattr(provenance, "look", closed_afterwards)
    result = qmd(*command, "--policy", policy, "--as-of", AS_OF)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "qmd: stale-index: the file changed while it was read: ask again\n"


def test_an_anchor_that_is_gone_is_said_to_be(folder: Path, qmd: Qmd, policy: Path) -> None:
    note = folder / "a.md"
    note.write_text(NOTES["adapter-v3.md"])
    qmd("index", folder, "--no-embed")
    text = NOTES["adapter-v3.md"].replace("v3", "v4").replace("## Schema upgrade", "## Migration")
    note.write_text(text)
    result = qmd("search", *ASKED, "--policy", policy, "--json")
    assert json.loads(result.stdout)["reasons"] == ["anchor-not-found"]


def test_a_label_taken_away_counts_at_once(indexed: Path, policy: Path, qmd: Qmd) -> None:
    note = indexed / "adapter-v3.md"
    note.write_text(note.read_text().replace("[engineering-read, ops]", "hr"))
    result = qmd("search", *ASKED, "--policy", policy, "--as-of", AS_OF, "--json")
    assert json.loads(result.stdout)["status"] == "stop"
    assert "Quagga" not in result.output
    assert qmd("section", "adapter-v3.md", "--policy", policy).exit_code == 2


def test_the_index_is_not_believed(indexed: Path, policy: Path, qmd: Qmd, isolated: Path) -> None:
    with sqlite3.connect(isolated / "index.sqlite") as index:
        index.execute(
            "UPDATE notes SET metadata = ? WHERE path = 'closed.md'",
            [json.dumps({"revision": "v9", "access": "engineering-read"})],
        )
    result = qmd("search", *ASKED, "--policy", policy, "--as-of", AS_OF, "--json")
    assert "Okapi" not in result.output


@pytest.mark.parametrize(
    "text",
    [
        "---\nrevision: [\naccess: hr\n---\n# Okapi\n\n## Upgrade\n\nokapi\n",
        "--- \nrevision: 1\naccess: hr\n---\n# Okapi\n\n## Upgrade\n\nokapi\n",
        "---\nrevision: 1\naccess: hr\n\n# Okapi\n\n## Upgrade\n\nokapi\n",
        "\n---\nAccess: hr\n---\n# Okapi\n\n## Upgrade\n\nokapi\n",
        "---\nrevision: 1\nACCESS: hr\n---\n# Okapi\n\n## Upgrade\n\nokapi\n",
        "---\nrevision: 1\naccess: {hr: true}\n---\n# Okapi\n\n## Upgrade\n\nokapi\n",
        "---\nrevision: 1\naccess: [[engineering-read]]\n---\n# Okapi\n\n## Upgrade\n\nokapi\n",
    ],
)
def test_labels_that_cannot_be_read_close_a_note(
    text: str, folder: Path, qmd: Qmd, tmp_path: Path
) -> None:
    policy = tmp_path / "open.toml"
    policy.write_text('version = "1"\nlabels = ["engineering-read"]\nunlabelled = "open"\n')
    (folder / "a.md").write_text(text)
    qmd("index", folder, "--no-embed")
    assert "Okapi" in qmd("search", "okapi").stdout
    result = qmd("search", "okapi", "--policy", policy)
    assert result.exit_code == 1
    assert "Okapi" not in result.output


def test_the_trace_is_for_the_owner(indexed: Path, policy: Path, qmd: Qmd, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    qmd("search", *ASKED, "--policy", policy, "--as-of", AS_OF, "--trace", trace)
    text = trace.read_text()
    told = json.loads(text)
    digest = hashlib.sha256(policy.read_bytes()).hexdigest()
    assert told["policy"] == {"version": "2025-03", "owner": "docs@example.org", "digest": digest}
    assert told["question_digest"] == hashlib.sha256(" ".join(ASKED).encode()).hexdigest()
    assert (told["retrieved_at"], told["top_k"]) == (AS_OF, 10)
    reasons = {one["record_id"].split("/")[1]: one["reason"] for one in told["candidates"]}
    pids = {name: pid_of(indexed / f"{name}.md", qmd) for name in ("closed", "adapter-v1")}
    assert reasons[pids["closed"]] == "access-label-not-granted"
    assert reasons[pids["adapter-v1"]] == "expired-at-retrieval-time"
    assert "text" not in text
    assert str(indexed) not in text
    assert trace.stat().st_mode & 0o077 == 0


def test_nothing_is_shown_when_the_trace_cannot_be_written(
    indexed: Path, policy: Path, qmd: Qmd, tmp_path: Path
) -> None:
    result = qmd("search", *ASKED, "--policy", policy, "--trace", tmp_path / "no" / "trace.json")
    assert (result.exit_code, result.stdout) == (2, "")


@pytest.mark.parametrize("wrong", [("--as-of", "soon"), ("--trace", "x.json")])
def test_wrong_input(wrong: tuple[str, str], indexed: Path, qmd: Qmd) -> None:
    result = qmd("search", "adapter", *wrong)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1


SECRETS = st.fixed_dictionaries(
    {
        "revision": st.sampled_from(["", "revision: v1\n"]),
        "expires": st.sampled_from(
            ["", "expires: 2025-03-17\n", "expires: 2099-01-01\n", "expires: soon\n"]
        ),
        "access": st.sampled_from(
            ["", "access: hr\n", "access: engineering-read\n", "access: [hr, engineering-read]\n"]
        ),
        "heading": st.booleans(),
        "edited": st.booleans(),
        "broken": st.booleans(),
        "fence": st.sampled_from(["---", "---", "--- ", "----", "+++"]),
    }
)


def secret_note(at: int, told: dict[str, Any]) -> str:
    """A note whose title, headings, dates and text each hold a word of its own."""
    word = f"secret{at}xq"
    front = (
        told["revision"]
        + told["expires"]
        + told["access"]
        + ("broken: [\n" if told["broken"] else "")
    )
    heading = f"## Heading {word}\n\n" if told["heading"] else ""
    fence = told["fence"]
    return f"{fence}\n{front}alias: alias {word}\n---\n# Title {word}\n\n{heading}Text {word}: adapter schema.\n"


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(SECRETS, min_size=1, max_size=4),
    st.sampled_from(["open", "closed"]),
    st.sets(st.sampled_from(["hr", "engineering-read"])),
    st.sampled_from([["front-matter"], ["front-matter", "git", "content"]]),
    st.booleans(),
)
def test_no_word_of_a_refused_note_is_ever_shown(
    tmp_path: Path,
    qmd: Qmd,
    told: list[dict[str, Any]],
    unlabelled: str,
    labels: set[str],
    proofs: list[str],
    line_ranges: bool,
) -> None:
    home = Path(tempfile.mkdtemp(dir=tmp_path))
    vault = home / "vault"
    vault.mkdir()
    for at, one in enumerate(told):
        (vault / f"path secret{at}xq.md").write_text(secret_note(at, one))
    index = ("--index", home / "index.sqlite")
    qmd("index", vault, "--no-embed", *index)
    for at, one in enumerate(told):
        if one["edited"]:
            note = vault / f"path secret{at}xq.md"
            note.write_text(note.read_text() + f"edited secret{at}xq adapter\n")
    file = home / "policy.toml"
    file.write_text(
        f'version = "1"\nlabels = {json.dumps(sorted(labels))}\nunlabelled = "{unlabelled}"\n'
        f"proofs = {json.dumps(proofs)}\nline_ranges = {json.dumps(line_ranges)}\n"
    )
    policed = ("--policy", file, "--as-of", AS_OF, *index)
    answer = json.loads(qmd("search", "adapter", "--json", *policed).stdout)
    shown = {hit["pid"] for hit in answer["results"]}
    listed = {note["pid"] for note in json.loads(qmd("ls", "--json", *policed).stdout)}
    assert shown <= listed
    hidden = [at for at in range(len(told)) if at + 1 not in shown]
    output = "".join(
        qmd(command, "adapter", "secret0xw", *form, *policed).output
        for command in ("search", "query")
        for form in FORMS
    )
    assert not [at for at in hidden if f"secret{at}xq" in output]
    for at in range(len(told)):
        if at + 1 in listed:
            continue
        for command in ("section", "get", "toc", "cite"):
            result = qmd(command, at + 1, *policed)
            assert result.exit_code == 2
            assert f"secret{at}xq" not in result.output
        assert f"secret{at}xq" not in qmd("ls", *policed).output
        assert f"secret{at}xq" not in qmd("section", at + 1, "No such heading", *policed).output


def test_git_proves_what_is_committed(
    folder: Path, qmd: Qmd, tmp_path: Path, git: Callable[..., str]
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'version = "1"\nlabels = []\nunlabelled = "open"\nproofs = ["front-matter", "git"]\n'
    )
    note = folder / "sub dir" / "ёж.md"
    note.parent.mkdir()
    note.write_text("# Zebra\n\n## Stripes\n\nzebra stripes\n")
    git("init", "-q")
    qmd("index", folder, "--no-embed")
    refused = qmd("search", "zebra", "--policy", policy, "--json")
    assert json.loads(refused.stdout)["reasons"] == ["missing-revision"]
    git("add", "-A")
    git("commit", "-q", "-m", "zebra")
    blob = git("rev-parse", "HEAD:./sub dir/ёж.md").strip()
    answer = json.loads(qmd("search", "zebra", "--policy", policy, "--json").stdout)
    assert (answer["evidence"][0]["revision"], answer["evidence"][0]["proof"]) == (
        f"git:{blob}",
        "git",
    )
    plain = json.loads(qmd("search", "zebra", "--json").stdout)
    assert plain["results"][0]["source"]["revision"] == f"git:{blob}"
    note.write_text("# Zebra\n\n## Stripes\n\nzebra spots\n")
    qmd("index", folder, "--no-embed")
    assert qmd("search", "zebra", "--policy", policy).exit_code == 1


OPEN = """---
revision: r1
access: engineering-read
---
Before any heading: quokkaintro.

# Zebra open

intro zebra
"""


@pytest.fixture
def beside(folder: Path, policy: Path) -> Callable[[str], Path]:
    """Puts a closed note beside an open one."""

    def put(text: str) -> Path:
        (folder / "open.md").write_text(OPEN)
        closed = folder / "closed.md"
        closed.write_text(f"---\nrevision: r1\naccess: hr\n---\n{text}")
        return closed

    return put


def test_a_refused_note_lends_its_certainty_to_nobody(
    beside: Callable[[str], Path], folder: Path, policy: Path, qmd: Qmd
) -> None:
    closed = beside("# Secret zebra\n\nzebra salaries xyzzyterm\n")
    qmd("index", folder)
    ask = ("query", "xyzzyterm salaries zebra", "--policy", policy, "--json", "--explain")
    found = json.loads(qmd(*ask).stdout)
    closed.unlink()
    qmd("index", folder)
    alone = json.loads(qmd(*ask).stdout)
    assert found["results"][0]["score"] == pytest.approx(alone["results"][0]["score"], abs=0.15)
    assert found["widened_by"] == alone["widened_by"]


def test_neither_ranks_nor_counts_tell_what_stands_above(
    beside: Callable[[str], Path], folder: Path, policy: Path, qmd: Qmd
) -> None:
    beside("# Zebra\n\nzebra zebra zebra\n")
    qmd("index", folder, "--no-embed")
    for command in ("search", "query"):
        ask = (command, "zebra", "--policy", policy, "--explain")
        (hit,) = json.loads(qmd(*ask, "--json").stdout)["results"]
        assert (hit["explain"], hit["matches"][0]["evidence"]) == ([], {})
        assert "run  " not in qmd(*ask).stdout
        assert "--min-score" not in qmd(*ask, "--min-score", "0.99").output
        counted = [stage["note"] for stage in json.loads(qmd(*ask, "--json").stdout)["stages"]]
        assert counted[-1] == "1 shown"
        assert not any(counted[:-1])
        assert json.loads(qmd(command, "zebra", "--explain", "--json").stdout)["results"][0][
            "explain"
        ]


def test_a_whole_note_is_shown_as_far_as_it_can_be_cited(
    beside: Callable[[str], Path], folder: Path, policy: Path, qmd: Qmd
) -> None:
    beside("# Okapi\n\nzebra\n")
    qmd("index", folder, "--no-embed")
    asked = ("search", "zebra", "--full", "--json", "--policy", policy)
    (hit,) = json.loads(qmd(*asked).stdout)["results"]
    assert hit["body"] == "# Zebra open\n\nintro zebra"
    policy.write_text(policy.read_text() + "line_ranges = true\n")
    (hit,) = json.loads(qmd(*asked).stdout)["results"]
    assert hit["body"] == OPEN


def test_an_old_title_is_not_listed(
    beside: Callable[[str], Path], folder: Path, policy: Path, qmd: Qmd
) -> None:
    closed = beside("# Layoffs\n\nx\n")
    qmd("index", folder, "--no-embed")
    closed.write_text("---\nrevision: r2\naccess: engineering-read\n---\n# Lunch\n\nx\n")
    for command in (
        ("ls",),
        ("ls", "--json"),
        ("toc", "closed.md"),
        ("toc", "closed.md", "--json"),
    ):
        shown = qmd(*command, "--policy", policy).stdout
        assert "Lunch" in shown
        assert "Layoffs" not in shown


def test_slips_and_unclear_labels_open_nothing(folder: Path, qmd: Qmd, tmp_path: Path) -> None:
    policy = tmp_path / "open.toml"
    policy.write_text('version = "1"\nlabels = ["eng"]\nunlabelled = "open"\n')
    heads = (
        "--- \n{}\n---\n", "\n---\n{}\n---\n", "---\n{}\n...\n", "---\n{}\n", "+++\n{}\n+++\n",
        "---\n{}\n---\n",
    )  # fmt: skip
    lines = ("expires: 2020-01-01", '"access": [hr]', "access: #hr", "Access: [eng]\naccess: [hr]")
    for at, (head, line) in enumerate((head, line) for head in heads for line in lines):
        (folder / f"{at}.md").write_text(head.format(f"revision: r1\n{line}") + "# Gnu\n\ngnu\n")
    (folder / "plain.md").write_text("# Gnu\n\ngnu\n")
    qmd("index", folder, "--no-embed")
    found = json.loads(qmd("search", "gnu", "-n", 99, "--policy", policy, "--json").stdout)
    assert [hit["path"] for hit in found["results"]] == ["plain.md"]


def test_what_a_note_states_forges_no_line(folder: Path, qmd: Qmd, policy: Path) -> None:
    stated = '"r1\\nnotes/9/fake  revision r9  verified\\u2028x\\e[2J"'
    (folder / "a.md").write_text(
        f"---\nrevision: {stated}\npublished: {stated}\naccess: engineering-read\n---\n# Gnu\n\ngnu\n"
    )
    qmd("index", folder, "--no-embed")
    for told in (
        qmd("search", "gnu", "--policy", policy).output,
        qmd("cite", "a.md", "Gnu", "--claim", "x").output,
    ):
        assert not any(line.startswith("notes/9") for line in told.splitlines())
        assert "\x1b" not in told


def test_the_last_of_two_rankings_is_decided_over(indexed: Path, isolated: Path) -> None:
    gate = Gate(Policy("1", frozenset({"hr"}), False), AT, Reading())
    asked = Ask(limit=9, gate=gate)
    with Reader.open(isolated / "index.sqlite") as store:
        for question, judged in (("adapter schema", len(NOTES)), ("quaggacurrent", 1)):
            answer = by_words(store, question, asked, Models(), AT)
            assert answer.decision
            assert len(gate.judged) == judged
            assert len(answer.decision.refused) == judged - len(answer.hits)


class Reindexing(FakeReranker):
    """While it reads, a note gets shorter, and another takes the ids of the chunks that are gone."""

    def __init__(self, index: Path, folder: Path) -> None:
        super().__init__(says={"": 0.9})
        self._index, self._folder = index, folder

    def scores(self, question: str, passages: Sequence[str]) -> Iterator[float]:
        """Index the changed folder before anything is said."""
        shorter, closed = ["emu"] * 4, ["okapisecret"] * 4
        for name, text in (
            ("a.md", in_sections("engineering-read", shorter)),
            ("later.md", in_sections("hr", closed)),
        ):
            (self._folder / name).write_text(text)
            with Writer.open(self._index) as store:
                (found,) = store.collections()
                indexing.update(store, found, Settings())
        yield from super().scores(question, passages)


def in_sections(access: str, texts: Sequence[str]) -> str:
    """A note with a section of each text."""
    sections = "".join(f"## Part {at}\n\n{text}\n\n" for at, text in enumerate(texts))
    return f"---\nrevision: r1\naccess: {access}\n---\n# Note\n\n{sections}"


@pytest.fixture
def reindexing(folder: Path, isolated: Path, qmd: Qmd) -> Reindexing:
    """Beside an index that it will change."""
    before = in_sections("engineering-read", [*["emu"] * 4, *["gnu"] * 4])
    (folder / "a.md").write_text(before)
    qmd("index", folder, "--no-embed")
    with Writer.open(isolated / "index.sqlite") as store:
        embedding.embed(store, FakeEmbedder())
    return Reindexing(isolated / "index.sqlite", folder)


@pytest.mark.parametrize("policed", [True, False])
@pytest.mark.parametrize("words", [["gnu"], ["--batch"]], ids=["one question", "a batch"])
def test_what_is_indexed_while_a_model_reads_is_not_in_the_answer(
    words: list[str],
    policed: bool,
    reindexing: Reindexing,
    policy: Path,
    qmd: Qmd,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    models = Models(FakeEmbedder(), None, reindexing)
    monkeypatch.setattr(Loader, "models", lambda *_, **__: models)
    options = ("--policy", policy, "--as-of", AS_OF) if policed else ()
    shown = qmd("query", *words, *options, "--json", stdin="gnu\n")
    assert reindexing.read
    assert "okapisecret" not in shown.output
    (hit,) = json.loads(shown.stdout)["results"]
    assert (hit["path"], len(hit["matches"])) == ("a.md", 3)
    assert all("gnu" in match["snippet"] for match in hit["matches"])
    # it is told that the file is another one by now, unless a policy has read it before
    assert bool(hit["stale"]) is not policed
    assert qmd("search", "okapisecret").exit_code == 0


def test_a_chunk_that_is_another_notes_by_now_is_no_place_of_this_one(
    reindexing: Reindexing, isolated: Path
) -> None:
    with Reader.open(isolated / "index.sqlite") as store:
        models = Models(FakeEmbedder(), None, reindexing)
        (hit,) = hybrid(store, "gnu", Ask(), models, AT).hits
    assert {match.text for match in hit.matches} == {"emu"}
