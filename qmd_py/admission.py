"""Records + policy + a moment → which of them may be used as evidence.

Pure: no clock, no file, no network. A score is neither a probability of truth nor a permission, so
it orders what was admitted and admits nothing.
"""

import datetime
from collections.abc import Iterable
from dataclasses import dataclass

from qmd_py import moments
from qmd_py.records.evidence import Decision, Record, Refusal

VERIFY = "needs-human-verification"
STOP = "stop"

UNKNOWN_POLICY = "unknown-policy"
MISSING_REVISION = "missing-revision"
MALFORMED_DATE = "malformed-date"
EXPIRED = "expired-at-retrieval-time"
NOT_GRANTED = "access-label-not-granted"
NO_CITATION = "missing-exact-citation"
NO_ANCHOR = "anchor-not-found"
STALE = "stale-index"

PROOFS = ("front-matter", "git", "content")
"""What can prove a revision: the note says so itself, git has these bytes, or the index knows them."""

REQUIREMENTS = ("revision", "published", "expires", "citation")
"""What a policy can require. Expiry and access are looked at always."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What may be used as evidence, by whom."""

    version: str
    labels: frozenset[str] | None
    """What the reader was granted; None for the notes' owner, who may read all."""
    unlabelled_is_open: bool
    """Whether a note without labels is for everyone; otherwise it is for nobody."""
    proofs: frozenset[str] = frozenset(PROOFS)
    """Which proofs of a revision count."""
    required: frozenset[str] = frozenset({"revision", "citation"})
    line_ranges: bool = False
    """Whether the lines of a place may stand for an anchor that it does not have."""
    owner: str = ""
    """Whom to ask about it."""
    digest: str = ""
    """SHA-256 of its file, hexadecimal."""


OWNER = Policy("", None, unlabelled_is_open=True)
"""What the owner of the notes cites by: a proven revision and an exact place, nothing more."""


def decide(
    records: Iterable[Record], policy: Policy | None, retrieved_at: datetime.datetime
) -> Decision:
    """Filter by the policy first, then order by score; the same input gives the same decision."""
    moment = moments.rfc3339(retrieved_at)
    if policy is None:
        return Decision(STOP, "", moment, reasons=(UNKNOWN_POLICY,))
    judged = [(record, reason(record, policy, retrieved_at)) for record in records]
    admitted = [record for record, why in judged if why is None]
    refused = tuple(
        Refusal(record, why, told(record, policy, why)) for record, why in judged if why is not None
    )
    return Decision(
        status=VERIFY if admitted else STOP,
        policy=policy.version,
        retrieved_at=moment,
        evidence=tuple(sorted(admitted, key=lambda one: (-one.score, one.source.record_id))),
        reasons=tuple(sorted({refusal.told for refusal in refused})),
        refused=refused,
    )


def reason(
    record: Record, policy: Policy, retrieved_at: datetime.datetime, *, cited: bool = True
) -> str | None:
    """The first check that a record fails: revision, expiry, access, exact citation; None if none.

    Args:
        record: what was found, as its file is now.
        policy: what is required.
        retrieved_at: when the decision is made.
        cited: whether a place is cited; a note as a whole has none.
    """
    checks = _Checks(record, policy, retrieved_at)
    failed = checks.revision() or checks.dates() or checks.access()
    return failed or (checks.citation() if cited else None)


def told(record: Record, policy: Policy, why: str) -> str:
    """The reason the reader may know: without the label nothing else is said about a record."""
    return why if _granted(record, policy) else NOT_GRANTED


@dataclass(frozen=True, slots=True)
class _Checks:
    record: Record
    policy: Policy
    at: datetime.datetime

    def requires(self, what: str) -> bool:
        return what in self.policy.required

    def revision(self) -> str | None:
        source = self.record.source
        proven = source.revision and source.proof in self.policy.proofs
        return MISSING_REVISION if self.requires("revision") and not proven else None

    def dates(self) -> str | None:
        source = self.record.source
        if _unusable(source.expires_at, needed=self.requires("expires")):
            return MALFORMED_DATE
        if source.expires_at and moments.parse(source.expires_at) <= self.at:
            return EXPIRED
        if self.requires("published") and _unusable(source.published_at, needed=True):
            return MALFORMED_DATE
        return None

    def access(self) -> str | None:
        return None if _granted(self.record, self.policy) else NOT_GRANTED

    def citation(self) -> str | None:
        source, record = self.record.source, self.record
        if not self.requires("citation"):
            return record.fault
        exact = source.anchor or (self.policy.line_ranges and record.first_line)
        return record.fault if source.uri and exact else NO_CITATION


def _granted(record: Record, policy: Policy) -> bool:
    if policy.labels is None:
        return True
    if not record.labels_known:
        return False
    if not record.source.access:
        return policy.unlabelled_is_open
    return not policy.labels.isdisjoint(record.source.access)


def _unusable(date: str | None, *, needed: bool) -> bool:
    if date is None:
        return needed
    try:
        moments.parse(date)
    except ValueError:
        return True
    return False
