"""The tally of the campaigns, told at the end of the run."""

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

Tally = Callable[..., None]

_TALLIES: dict[str, Counter[str]] = {}


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Tally:
    """Counts what happened in a campaign: `tally("index, SIGKILL", runs=1, cut=1)`."""

    def count(name: str, **counts: int) -> None:
        _TALLIES.setdefault(name, Counter()).update(counts)

    return count


def pytest_terminal_summary(terminalreporter: "TerminalReporter") -> None:
    """The table of README."""
    if _TALLIES:
        terminalreporter.section("campaigns")
    for name, counts in _TALLIES.items():
        told = ", ".join(f"{number} {what.replace('_', ' ')}" for what, number in counts.items())
        terminalreporter.write_line(f"{name}: {told}")
