"""Dates as people write them → spans of time."""

import calendar
import datetime
import re
from dataclasses import dataclass

_LONGEST = 40  # characters of a date with everything; texts that are none may have any length
_DAY = datetime.timedelta(days=1)
_DATE = re.compile(r"(\d{4})(?:-?(\d\d)(?:-?(\d\d))?)?", re.ASCII)
_SECONDS = re.compile(r"[T ]\d\d:?\d\d:?\d\d", re.ASCII)
_SPACED_ZONE = re.compile(r"\s+(?=[+-]\d\d:?\d\d$|Z$)")


@dataclass(frozen=True, slots=True)
class Span:
    """A year, a month, a day, or a moment, in seconds since 1970 UTC."""

    start: float
    stop: float
    """Exclusive."""


def span(text: str) -> Span | None:
    """The time that `2026`, `2026-03`, `2026-03-09` or `2026-03-09T10:00[:00][+03:00]` means.

    Without a zone it is that of this machine. None for anything else.
    """
    stripped = text.strip()
    if len(stripped) > _LONGEST:
        return None
    stripped = _SPACED_ZONE.sub("", stripped)
    try:
        if parts := _DATE.fullmatch(stripped):
            year, month, day = (int(part) if part else None for part in parts.groups())
            return _days(int(year or 0), month, day)
        moment = datetime.datetime.fromisoformat(stripped)
        if re.match(r"\d{4}-?\d\d-?\d\d[T ]", stripped, re.ASCII | re.IGNORECASE) is None:
            return None
        seconds = _seconds(moment)
    except (ValueError, OverflowError, OSError):
        return None
    return Span(seconds, seconds + (1 if _SECONDS.search(stripped) else 60))


def _days(year: int, month: int | None, day: int | None) -> Span:
    """A day, a month or a year.

    Raises:
        ValueError: the calendar has none such.
    """
    # 00 is no month and no day, other than one that was left out
    first = datetime.datetime(year, 1 if month is None else month, 1 if day is None else day)
    ending = first.replace(month=12) if month is None else first
    last_day = calendar.monthrange(year, ending.month)[1] if day is None else day
    last = ending.replace(day=last_day)
    if last.date() == datetime.date.max:  # no day comes after it
        return Span(_seconds(first), _seconds(last) + _DAY.total_seconds())
    return Span(_seconds(first), _seconds(last + _DAY))


def _seconds(moment: datetime.datetime) -> float:
    """Since 1970; on the calendar's first day, which Python puts into no zone but those named, in UTC."""
    if moment.tzinfo is None and moment.date() == datetime.date.min:
        moment = moment.replace(tzinfo=datetime.UTC)
    return moment.timestamp()
