"""Front matter → what it states."""

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from qmd_py import moments
from qmd_py.config import Keys
from qmd_py.records.stored import Metadata, MetadataValue
from qmd_py.records.values import Value
from qmd_py.visible import folded, one_line

_LONGEST = 200  # characters of a revision, a date or a label; what is longer is none
_UNCLEAR = "unclear"
"""Stands for a date that is no date."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Stated(Value):
    """What a note says of itself."""

    revision: str | None = None
    published: str | None = None
    expires: str | None = None
    """Dates are RFC 3339 in UTC; as it was written, or `unclear`, where one cannot be read."""
    access: tuple[str, ...] = ()
    access_known: bool = True
    """Whether the labels could be read at all."""


NOTHING = Stated()
UNREAD = Stated(expires=_UNCLEAR, access_known=False)


def stated(metadata: Metadata, keys: Keys) -> Stated:
    """What front matter says.

    Of several keys the first counts that holds a value, of those of expiry the earliest. A key that
    holds nothing, or stands there twice with two values, makes what it is about unclear.
    """
    if "<<" in metadata:  # YAML's way to take keys from elsewhere, which is not followed
        return UNREAD
    found: dict[str, list[MetadataValue]] = {}
    for key, value in metadata.items():
        # `access:hr:` is a key without a value to YAML
        written = key.partition(":")[0] if value is None else key
        found.setdefault(_key(written[:_LONGEST]), []).append(value)
    access, known = _access(_values(found, keys.access))
    return Stated(
        revision=_revision(_values(found, keys.revision)),
        published=_first(_dates(_values(found, keys.published))),
        expires=_earliest(_dates(_values(found, keys.expires))),
        access=access,
        access_known=known,
    )


def _values(
    found: dict[str, list[MetadataValue]], names: Sequence[str]
) -> Iterator[list[MetadataValue]]:
    """What each of the keys holds that are there, in their order."""
    for name in names:
        if values := found.get(_key(name)):
            yield values


@functools.lru_cache(maxsize=1024)
def _key(written: str) -> str:
    """A key as it is compared: small letters, without the marks around it."""
    looks = folded(written)
    return looks if looks.isidentifier() else re.sub(r"^\W+|\W+$", "", looks) or looks


def _one(values: Sequence[MetadataValue]) -> MetadataValue:
    """The value that all of them are; None where they differ."""
    return values[0] if all(value == values[0] for value in values) else None


def _text(value: MetadataValue) -> str | None:
    if value is None or isinstance(value, list | dict):
        return None
    line = one_line(str(value))
    return line if 0 < len(line) <= _LONGEST else None


def _revision(held: Iterator[list[MetadataValue]]) -> str | None:
    """Of the first key that holds anything."""
    values = next((values for values in held if any(map(_text, values))), [None])
    return _text(_one(values))


def _access(held: Iterator[list[MetadataValue]]) -> tuple[tuple[str, ...], bool]:
    """The labels, and whether they could be understood: from a list, or `a, b`."""
    values = next(held, None)
    if values is None:
        return (), True
    value = _one(values)
    if isinstance(value, str):
        value = [part for part in value.split(",") if part.strip()]
    written = value if isinstance(value, list) else [value]
    names = [_text(name) for name in written if isinstance(name, str | int)]
    known = bool(written) and len(names) == len(written) and all(names)
    return tuple(dict.fromkeys(filter(None, names))) if known else (), known


def _dates(held: Iterator[list[MetadataValue]]) -> list[str]:
    """Each date in UTC; what was written where it is none."""
    return [_date(_text(_one(values)) or _UNCLEAR) for values in held]


@functools.lru_cache(maxsize=1024)
def _date(written: str) -> str:
    try:
        return moments.rfc3339(moments.parse(written))
    except ValueError:
        return written


def _first(dates: Sequence[str]) -> str | None:
    """That of the first key that holds one."""
    return next((date for date in dates if date != _UNCLEAR), None)


def _earliest(dates: Sequence[str]) -> str | None:
    """The first to come; one that cannot be read comes before all others."""
    return min(dates, key=_order, default=None)


def _order(date: str) -> float:
    try:
        return moments.parse(date).timestamp()
    except ValueError:
        return float("-inf")
