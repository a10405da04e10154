import datetime
import json
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qmd_py import admission, moments
from qmd_py.admission import OWNER, Policy, decide
from qmd_py.records import Record, Source
from tests.conftest import Qmd

AT = datetime.datetime(2025, 3, 17, 10, tzinfo=datetime.UTC)
AS_OF = "2025-03-17T10:00:00Z"
READER = Policy("2025-03", frozenset({"engineering-read"}), unlabelled_is_open=False)


def record(
    name: str = "adapter-v3",
    *,
    score: float = 0.91,
    revision: str | None = "v3",
    expires: str | None = None,
    access: tuple[str, ...] = ("engineering-read",),
    anchor: str = "schema-upgrade",
    published: str | None = None,
    **others: Any,
) -> Record:
    source = Source(
        record_id=f"notes/{name}/{anchor}",
        revision=revision,
        uri=f"file:///notes/{name}.md#{anchor}",
        published_at=published,
        indexed_at="2025-03-02T00:00:00Z",
        expires_at=expires,
        access=access,
        proof="front-matter" if revision else None,
        anchor=anchor,
    )
    return Record(source, score, **others)


@pytest.mark.parametrize(
    ("given_record", "policy", "reason"),
    [
        pytest.param(record(), READER, None, id="everything is in order"),
        pytest.param(record(revision=None), READER, "missing-revision", id="no revision"),
        pytest.param(
            record(expires="2025-03-01T00:00:00Z"), READER, "expired-at-retrieval-time", id="expired"
        ),
        pytest.param(
            record(expires="2025-03-17T10:00:00Z"), READER, "expired-at-retrieval-time",
            id="the last moment is past",
        ),
        pytest.param(record(expires="2025-03-17T10:00:01Z"), READER, None, id="a second is left"),
        pytest.param(
            record(expires="2025-03-17T12:00:00+02:00"), READER, "expired-at-retrieval-time",
            id="offsets are of one scale",
        ),
        pytest.param(record(expires="soon"), READER, "malformed-date", id="no date"),
        pytest.param(record(expires="2025-02-30"), READER, "malformed-date", id="no such day"),
        pytest.param(record(access=("hr",)), READER, "access-label-not-granted", id="another label"),
        pytest.param(record(access=("hr", "engineering-read")), READER, None, id="one of two labels"),
        pytest.param(record(access=()), READER, "access-label-not-granted", id="no label, closed"),
        pytest.param(
            record(access=()), Policy("1", frozenset(), unlabelled_is_open=True), None,
            id="no label, open",
        ),
        pytest.param(
            record(access=(), labels_known=False), Policy("1", frozenset(), unlabelled_is_open=True),
            "access-label-not-granted", id="labels that cannot be read are not none",
        ),
        pytest.param(record(anchor=""), READER, "missing-exact-citation", id="no anchor"),
        pytest.param(
            record(anchor="", first_line=3, last_line=9), READER, "missing-exact-citation",
            id="lines are no anchor",
        ),
        pytest.param(
            record(anchor="", first_line=3, last_line=9),
            Policy("1", frozenset({"engineering-read"}), False, line_ranges=True), None,
            id="lines may stand for an anchor",
        ),
        pytest.param(record(fault="stale-index"), READER, "stale-index", id="changed since"),
        pytest.param(record(fault="anchor-not-found"), READER, "anchor-not-found", id="no such place"),
        pytest.param(
            record(revision=None, expires="soon", access=(), anchor=""), READER, "missing-revision",
            id="revision is looked at first",
        ),
        pytest.param(
            record(expires="2025-03-01", access=(), anchor=""), READER, "expired-at-retrieval-time",
            id="then expiry",
        ),
        pytest.param(record(access=(), anchor=""), READER, "access-label-not-granted", id="then access"),
        pytest.param(
            record(), Policy("1", READER.labels, False, proofs=frozenset({"git"})),
            "missing-revision", id="a proof that does not count",
        ),
        pytest.param(
            record(revision=None), Policy("1", READER.labels, False, required=frozenset()), None,
            id="no revision is asked for",
        ),
        pytest.param(
            record(), Policy("1", READER.labels, False, required=frozenset({"published"})),
            "malformed-date", id="a date of publication is asked for",
        ),
        pytest.param(
            record(), Policy("1", READER.labels, False, required=frozenset({"expires"})),
            "malformed-date", id="a date of expiry is asked for",
        ),
        pytest.param(record(access=("hr",)), OWNER, None, id="the owner reads everything"),
    ],
)  # fmt: skip
def test_reason(given_record: Record, policy: Policy, reason: str | None) -> None:
    assert admission.reason(given_record, policy, AT) == reason


def test_an_old_revision_gives_way_to_a_lower_score() -> None:
    old = record("adapter-v1", score=0.97, revision="v1", expires="2025-03-01T00:00:00Z")
    decision = decide([old, record()], READER, AT)
    assert decision.status == "needs-human-verification"
    assert [found.source.record_id for found in decision.evidence] == [
        "notes/adapter-v3/schema-upgrade"
    ]
    assert decision.reasons == ("expired-at-retrieval-time",)
    assert decide([old], READER, AT).status == "stop"


def test_no_policy_stops() -> None:
    decision = decide([record()], None, AT)
    assert (decision.status, decision.reasons) == ("stop", ("unknown-policy",))
    assert not decision.evidence


def test_without_the_label_nothing_else_is_told() -> None:
    closed = record(access=("hr",), expires="2025-03-01", revision=None)
    decision = decide([closed], READER, AT)
    assert decision.reasons == ("access-label-not-granted",)
    assert decision.refused[0].reason == "missing-revision"


names = st.sampled_from(["a", "b", "c", "d", "e", "f"])
dates = st.sampled_from([None, "2025-03-01", AS_OF, "2026-01-01T00:00:00+03:00", "soon", ""])
labels = st.sets(st.sampled_from(["engineering-read", "hr", ""]), max_size=2).map(tuple)
records = st.builds(
    record,
    names,
    score=st.floats(0, 1),
    revision=st.sampled_from([None, "v1", "v3"]),
    expires=dates,
    access=labels,
    anchor=st.sampled_from(["", "schema-upgrade"]),
    published=dates,
    labels_known=st.booleans(),
    first_line=st.integers(0, 3),
    fault=st.sampled_from([None, "stale-index", "anchor-not-found"]),
)
policies = st.builds(
    Policy,
    st.just("1"),
    st.sets(st.sampled_from(["engineering-read", "hr"])).map(frozenset),
    st.booleans(),
    proofs=st.sets(st.sampled_from(admission.PROOFS)).map(frozenset),
    required=st.sets(st.sampled_from(admission.REQUIREMENTS)).map(frozenset),
    line_ranges=st.booleans(),
)


@given(st.lists(records, max_size=6), policies)
def test_the_decision_is_the_same_for_the_same_input(found: list[Record], policy: Policy) -> None:
    decision = decide(found, policy, AT)
    assert decide(found, policy, AT) == decision
    assert len(decision.evidence) + len(decision.refused) == len(found)
    assert (decision.status == "stop") == (not decision.evidence)
    scores = [one.score for one in decision.evidence]
    assert scores == sorted(scores, reverse=True)


@given(st.lists(records, max_size=6), records, policies)
def test_a_refused_record_never_changes_the_admitted(
    found: list[Record], other: Record, policy: Policy
) -> None:
    if admission.reason(other, policy, AT) is not None:
        for at in range(len(found) + 1):
            more = [*found[:at], other, *found[at:]]
            assert decide(more, policy, AT).evidence == decide(found, policy, AT).evidence


@given(records, policies)
def test_nobody_without_a_label_is_told_more(found: Record, policy: Policy) -> None:
    decision = decide([found], policy, AT)
    shares = bool(policy.labels and policy.labels & set(found.source.access))
    if found.source.access and not shares:
        assert not decision.evidence
        assert decision.reasons == ("access-label-not-granted",)


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2025-03-17", "2025-03-17T00:00:00Z"),
        ("2025-03-17T10:00:00Z", "2025-03-17T10:00:00Z"),
        ("2025-03-17t10:00:00z", "2025-03-17T10:00:00Z"),
        ("2025-03-17 12:30:00+02:30", "2025-03-17T10:00:00Z"),
        ("2025-03-17T10:00:00.5Z", "2025-03-17T10:00:00.500000Z"),
        ("2025-03-17T10:00", "2025-03-17T10:00:00Z"),
    ],
)
def test_moments(written: str, moment: str) -> None:
    assert moments.rfc3339(moments.parse(written)) == moment


@pytest.mark.parametrize(
    "written",
    ["", "soon", "2025", "2025-3-1", "20250317", "2025-W11-1", "2025-13-01", "2025-02-29",
     "2025-03-17T25:00:00Z", "2025-03-17T10:00:00+25:00", "0001-01-01T00:00:00+05:00",
     "２０２５-03-17", "2025-03-17T10:00:00Z; drop"],
)  # fmt: skip
def test_what_is_no_moment(written: str) -> None:
    with pytest.raises(ValueError, match="is"):
        moments.parse(written)


POLICY = """
version = "2025-03"
owner = "docs@example.org"
labels = ["engineering-read"]
unlabelled = "closed"
"""
NOTES = {
    "adapter-v1.md": """---
revision: v1
expires: 2025-03-01
access: engineering-read
---
# Adapter schema adapter

## Adapter schema upgrade

Zebraold: the adapter upgrade of the schema runs before the adapter schema starts.
""",
    "adapter-v3.md": """---
revision: v3
published: 2025-03-02T08:00:00+02:00
access: [engineering-read, ops]
---
# Adapter three

## Schema upgrade

Quaggacurrent: an upgrade of the schema runs while the adapter serves.
""",
    "closed.md": """---
revision: v9
access: hr
---
# Okapisecret title

## Okapisecret schema upgrade

Okapisecret text: adapter upgrade of the schema.
""",
    "unversioned.md": """---
access: engineering-read
---
# Gnunorev

## Gnunorev upgrade

Gnunorev text: adapter schema upgrade.
""",
    "plain.md": """---
revision: v2
access: engineering-read
---
Kududplain text without any heading: adapter schema upgrade.
""",
}
WORDS = {
    "adapter-v1": "Zebraold",
    "closed": "Okapisecret",
    "unversioned": "Gnunorev",
    "plain": "Kududplain",
}
ASKED = ("adapter", "schema", "upgrade")
FORMS = ((), ("--json",), ("--md",), ("--csv",), ("--files",), ("--explain", "--full"))


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    file = tmp_path / "policy.toml"
    file.write_text(POLICY + 'proofs = ["front-matter"]\n')
    return file


@pytest.fixture
def indexed(folder: Path, qmd: Qmd) -> Path:
    for name, text in NOTES.items():
        (folder / name).write_text(text)
    assert qmd("index", folder, "--no-embed").exit_code == 0
    return folder


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
    assert told["policy"] == {"version": "2025-03", "owner": "docs@example.org"}
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
    return f"---\n{front}alias: alias {word}\n---\n# Title {word}\n\n{heading}Text {word}: adapter schema.\n"


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


def cited(folder: Path, qmd: Qmd, *more: object) -> str:
    result = qmd("cite", "adapter-v3.md", "Schema upgrade", "--claim", "Upgrades | serve", *more)
    assert result.exit_code == 0, result.stderr
    return str(result.stdout)


@pytest.fixture
def claims(indexed: Path, qmd: Qmd, tmp_path: Path) -> Path:
    file = tmp_path / "claims.md"
    file.write_text("# What we say\n\n" + cited(indexed, qmd))
    return file


def test_a_citation_restores_revision_address_and_anchor(indexed: Path, qmd: Qmd) -> None:
    text = cited(indexed, qmd, "--as-of", AS_OF)
    assert "Adapter three > Schema upgrade" in text
    assert "revision v3 (front-matter), published 2025-03-02T06:00:00Z" in text
    assert f"file://{indexed}/adapter-v3.md#schema-upgrade" in text
    assert AS_OF in text
    assert text.splitlines()[-1].startswith(
        "| Upgrades \\| serve | [Adapter three > Schema upgrade](file://"
    )
    assert "Quaggacurrent: an upgrade of the schema runs while the adapter serves." in text
    assert text.endswith("| needs-human-verification |\n")


def test_claims_hold_until_the_source_changes(indexed: Path, claims: Path, qmd: Qmd) -> None:
    held = qmd("cite", "--check", claims)
    assert (held.exit_code, held.stdout) == (0, "line 10  holds  Upgrades | serve\n")
    note = indexed / "adapter-v3.md"
    text = note.read_text()
    for changed, reason in (
        (text.replace("v3", "v4"), "revision-changed"),
        (text.replace("## Schema upgrade", "## Migration"), "anchor-not-found"),
        (text.replace("runs while", "runs before"), "fragment-not-found"),
    ):
        note.write_text(changed)
        result = qmd("cite", "--check", claims)
        assert (result.exit_code, result.stdout) == (2, f"line 10  {reason}  Upgrades | serve\n")
    note.unlink()
    assert "source-not-found" in qmd("cite", "--check", claims).stdout


def test_a_claim_follows_a_note_that_was_moved(indexed: Path, claims: Path, qmd: Qmd) -> None:
    (indexed / "adapter-v3.md").rename(indexed / "moved.md")
    qmd("index", indexed, "--no-embed")
    assert qmd("cite", "--check", claims).exit_code == 0


def test_claims_as_json(indexed: Path, qmd: Qmd, tmp_path: Path) -> None:
    file = tmp_path / "claims.jsonl"
    file.write_text(cited(indexed, qmd, "--json", "--quote", "Quaggacurrent:  an\nupgrade"))
    told = json.loads(file.read_text())
    assert told["citation"]["revision"] == "v3"
    assert told["claim"]["fragment"] == "Quaggacurrent: an upgrade"
    checked = json.loads(qmd("cite", "--check", file, "--json").stdout)
    assert [(row["line"], row["reason"]) for row in checked] == [(1, None)]


def test_a_content_hash_stands_for_a_revision(indexed: Path, qmd: Qmd, tmp_path: Path) -> None:
    file = tmp_path / "claims.md"
    file.write_text(qmd("cite", "unversioned.md", "Gnunorev upgrade", "--claim", "x").stdout)
    assert "sha256:" in file.read_text()
    assert qmd("cite", "--check", file).exit_code == 0
    note = indexed / "unversioned.md"
    note.write_text(note.read_text() + "\nmore\n")
    assert "revision-changed" in qmd("cite", "--check", file).stdout


def test_checked_claims_tell_nothing_of_closed_notes(
    indexed: Path, policy: Path, qmd: Qmd, tmp_path: Path
) -> None:
    file = tmp_path / "claims.md"
    made = qmd("cite", "closed.md", "Okapisecret schema upgrade", "--claim", "x").stdout
    file.write_text(made.replace("v9", "v8"))
    result = qmd("cite", "--check", file, "--policy", policy)
    assert result.stdout == "line 8  access-label-not-granted  x\n"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("cite",), "no note"),
        (("cite", "plain.md"), "missing-exact-citation"),
        (("cite", "adapter-v3.md", "No such"), "no heading"),
        (("cite", "adapter-v3.md", "Schema upgrade", "--claim", " "), "claim is empty"),
        (("cite", "adapter-v3.md", "Schema upgrade", "--claim", "x", "--quote", "zebra"), "quoted"),
        (("cite", "adapter-v3.md", "Schema upgrade", "--quote", "Quagga"), "add --claim"),
        (("cite", "--check", "nowhere.md"), "cannot read"),
        (("cite", "adapter-v3.md", "--check", "nowhere.md"), "goes alone"),
    ],
)
def test_wrong_citations(args: tuple[str, ...], says: str, indexed: Path, qmd: Qmd) -> None:
    result = qmd(*args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "text",
    ["", "no table", "| a | b |", '{"claim": 3}', "{", "| a | [b](c) | d | e | f |",
     '{"claim": {"claim": 1}}', "[" * 50_000, '{"a":' * 50_000],
)  # fmt: skip
def test_what_is_no_claims_table(text: str, indexed: Path, qmd: Qmd, tmp_path: Path) -> None:
    file = tmp_path / "claims.md"
    file.write_text(text)
    result = qmd("cite", "--check", file)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1


def test_a_row_names_no_file_outside_of_the_collections(
    indexed: Path, claims: Path, qmd: Qmd, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text(NOTES["adapter-v3.md"])
    text = claims.read_text().replace(str(indexed / "adapter-v3.md"), str(outside))
    claims.write_text(text.replace("notes/", "notes/9"))
    assert "source-not-found" in qmd("cite", "--check", claims).stdout
