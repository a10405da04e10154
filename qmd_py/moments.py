"""Times as text → one scale, and back."""

import datetime
import functools
import re

_WRITTEN = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)?)?"
)


@functools.lru_cache(maxsize=4096)
def parse(text: str) -> datetime.datetime:
    """The moment an RFC 3339 date and time names, in UTC.

    A date alone is its first moment. Without an offset a time is taken for UTC, as YAML does.

    Raises:
        ValueError: it is none, or the calendar has no such moment.
    """
    written = text.strip().upper()
    try:
        if not written.isascii() or not _WRITTEN.fullmatch(written):
            raise ValueError(written)
        moment = datetime.datetime.fromisoformat(written)
        return moment.replace(tzinfo=moment.tzinfo or datetime.UTC).astimezone(datetime.UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"'{text}' is no RFC 3339 date") from error


def rfc3339(moment: datetime.datetime) -> str:
    """The moment in UTC, to the second, or finer where it is."""
    utc = moment.astimezone(datetime.UTC)
    return utc.isoformat(timespec="auto" if utc.microsecond else "seconds").replace("+00:00", "Z")
