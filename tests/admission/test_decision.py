"""Records and a policy → a decision, without any file or clock."""

import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmd_py import admission, moments
from qmd_py.admission import OWNER, Policy, decide
from qmd_py.records.answers import Source
from qmd_py.records.evidence import Record
from tests.admission.notes import AS_OF

AT = datetime.datetime(2025, 3, 17, 10, tzinfo=datetime.UTC)
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
