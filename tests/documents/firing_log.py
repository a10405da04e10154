"""Reads the log that the kiln controller writes, one reading a line."""

import csv
from dataclasses import dataclass
from pathlib import Path

SAMPLE_SECONDS = 30


@dataclass(frozen=True)
class Reading:
    """One line of the log."""

    minute: float
    celsius: float


class FiringLog:
    """All readings of one firing, in order."""

    def __init__(self, readings: list[Reading]) -> None:
        """Keep the readings."""
        self.readings = readings

    # thermocouples jump when the relay switches, so single peaks are no heat
    def peak(self, window: int = 3) -> float:
        """The hottest moment, smoothed over a window of readings."""
        temperatures = [reading.celsius for reading in self.readings]
        spans = [temperatures[at : at + window] for at in range(len(temperatures) - window + 1)]
        return max(sum(span) / window for span in spans)

    def soak_minutes(self, threshold: float) -> float:
        """How long the kiln stayed above a threshold."""
        above = [reading for reading in self.readings if reading.celsius >= threshold]
        return len(above) * SAMPLE_SECONDS / 60


def read_log(file: Path) -> FiringLog:
    """Parse the controller's comma separated export."""
    with file.open(newline="") as lines:
        rows = csv.reader(lines)
        return FiringLog([Reading(float(minute), float(heat)) for minute, heat in rows])


DEFAULT_LOG = Path("firing.csv")


def cooling_rate(log: FiringLog) -> float:
    """Degrees an hour from the peak to the last reading."""
    last = log.readings[-1]
    peak = max(log.readings, key=lambda reading: reading.celsius)
    return (peak.celsius - last.celsius) / (last.minute - peak.minute) * 60
