"""What a command's options and the configuration say of admission."""

import contextlib
import datetime
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from qmd_py import moments
from qmd_py.config import Config
from qmd_py.errors import UsageError
from qmd_py.provenance import Reading
from qmd_py.records.answers import Answer
from qmd_py.records.values import Value

if TYPE_CHECKING:
    from qmd_py.gate import Gate


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Admission(Value):
    """Whether a policy decides, which one, and for which moment."""

    config: Config
    file: Path | None
    """The policy; None where nobody named one."""
    active: bool
    moment: datetime.datetime
    trace: Path | None = None
    fixed: bool = False
    """Whether the moment was asked for."""

    @classmethod
    def chosen(
        cls,
        config: Config,
        *,
        admit: bool = False,
        policy: Path | None = None,
        as_of: str | None = None,
        trace: Path | None = None,
    ) -> Self:
        """From the options of a command; a policy that is configured decides in any case.

        Raises:
            UsageError: the time is none, there is nothing to trace, or another policy decides.
        """
        file = config.policy
        if policy:
            from qmd_py import policies

            file = policies.deciding(file, policy)
        active = admit or file is not None
        if trace and not active:
            raise UsageError("--trace writes what a policy decides: add --admit")
        return cls(config, file, active, _moment(as_of), trace, as_of is not None)

    def current(self) -> Self:
        """The same for now, unless a moment was asked for."""
        return self if self.fixed else replace(self, moment=_moment(None))

    @contextlib.contextmanager
    def reading(self, *, git: bool = False) -> Iterator[Reading]:
        """How provenance is found out; git is asked where a policy decides, or when it is wanted."""
        settings = self.config.settings
        if not git and not self.active:
            yield Reading(settings.metadata, settings.max_bytes)
            return
        from qmd_py.git import Repositories

        with Repositories() as repositories:
            yield Reading(settings.metadata, settings.max_bytes, repositories)

    def gate(self, reading: Reading) -> "Gate | None":
        """What stands between the notes and the reader; None where no policy decides.

        Raises:
            PolicyUnknown: one should, and it cannot be read.
        """
        if not self.active:
            return None
        from qmd_py import policies
        from qmd_py.gate import Gate

        return Gate(policies.load(self.file), self.moment, reading)

    @contextlib.contextmanager
    def gated(self) -> Iterator["Gate | None"]:
        """The gate of a command that reads notes.

        Raises:
            PolicyUnknown: a policy should decide, and it cannot be read.
        """
        with self.reading() as reading:
            yield self.gate(reading)

    @contextlib.contextmanager
    def citing(self) -> Iterator["Gate"]:
        """The gate of a citation: without a policy, the owner's own.

        Raises:
            PolicyUnknown: a policy should decide, and it cannot be read.
        """
        from qmd_py import admission
        from qmd_py.gate import Gate

        with self.reading(git=True) as reading:
            yield self.gate(reading) or Gate(admission.OWNER, self.moment, reading)

    def stopped(self, mode: str, text: str) -> Answer:
        """The answer where a policy should decide and is not known."""
        from qmd_py import admission

        decision = admission.decide((), None, self.moment)
        return Answer(text, mode, decision.retrieved_at, (), (), decision=decision)

    def write_trace(self, answer: Answer, gate: "Gate | None", limit: int) -> None:
        """Keep what was decided, before anything is shown; also that no policy is known.

        Raises:
            QmdError: it cannot be written; then nothing may be shown either.
        """
        if self.trace is None:
            return
        from qmd_py import policies
        from qmd_py.admission import Policy
        from qmd_py.cli import tracing
        from qmd_py.render import machine

        unknown = Policy("", frozenset(), False, digest=policies.digest(self.file))
        judged, policy = (gate.judged, gate.policy) if gate else ((), unknown)
        tracing.write(self.trace, machine.trace_json(answer, judged, policy, limit))


def _moment(text: str | None) -> datetime.datetime:
    if text is None:
        return datetime.datetime.now(datetime.UTC)
    try:
        return moments.parse(text)
    except ValueError as error:
        raise UsageError(f"--as-of: {error}: write it like 2026-01-31T12:00:00Z") from error
