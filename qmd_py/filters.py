"""Filters as they are typed → what may be found at all."""

import itertools
import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from qmd_py import spans, spelling
from qmd_py.errors import NotFound, UsageError
from qmd_py.naming import name_key, tag_key
from qmd_py.records.answers import Filters, Scope
from qmd_py.records.stored import Metadata, MetadataValue, StoredNote
from qmd_py.spans import Span
from qmd_py.store import paths, references
from qmd_py.store.reader import Reader

DATE_KEYS = ("date", "updated", "modified", "published", "created")
"""Properties that date a note; the first that holds a date counts, else the file's own time."""

_CONDITION = re.compile(r"([^=<>]+)(>=|<=|==|=|>|<)(.*)", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_QUOTED = re.compile(r"\"(.*)\"|'(.*)'", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Condition:
    """What a property has to be."""

    key: str
    operator: str
    """`=`, `>`, `>=`, `<` or `<=`."""
    value: str
    number: float | None = field(init=False)
    span: Span | None = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "number", _number(self.value))
        object.__setattr__(self, "span", spans.span(self.value))

    def holds(self, value: MetadataValue) -> bool:
        """Whether a value meets it; of a list, any of its items."""
        if isinstance(value, list):
            return any(map(self.holds, value))
        if value is None or isinstance(value, dict):
            return False
        return self._equals(value) if self.operator == "=" else self._compares(value)

    def _equals(self, value: str | float) -> bool:
        if isinstance(value, bool):
            return name_key(self.value) == str(value).lower()
        if isinstance(value, str):
            return name_key(value) == name_key(self.value) or self._is_within(value)
        return self.number == value

    def _is_within(self, value: str) -> bool:
        found = spans.span(value)
        return bool(found and self.span and self.span.start <= found.start < self.span.stop)

    def _compares(self, value: str | float) -> bool:
        if isinstance(value, bool):
            return False
        number = _number(str(value))
        if number is not None and self.number is not None:
            return _ordered(number, self.operator, self.number, self.number)
        found = spans.span(str(value))
        if found is None or self.span is None:
            return False
        # a day is after another one only when that is over
        last = math.nextafter(self.span.stop, -math.inf)
        return _ordered(found.start, self.operator, self.span.start, last)


def scope(store: Reader, typed: Filters) -> Scope:
    """What may be found.

    Raises:
        UsageError: a filter is empty, has no operator, or is no date.
        NotFound: no note has such a tag or property; the nearest one is told.
    """
    _refuse_empty("--collection", typed.collections)
    _refuse_empty("--path", typed.paths)
    keys = [_tag(tag) for tag in typed.tags]
    conditions = [condition(text) for text in typed.where]
    since, until = _date("--since", typed.since), _date("--until", typed.until)
    wide = Scope(typed.collections, typed.paths)
    if not (keys or conditions or since or until):
        return wide
    notes: Iterable[StoredNote] = store.notes_of(wide)
    for one in conditions:
        notes = _meeting(store, one, list(notes))
    found = {
        note.pid
        for note in notes
        if not (since or until) or _is_between(written(note), since, until)
    }
    for key, tag in zip(keys, typed.tags, strict=True):
        found &= _tagged(store, key, tag)
    return Scope(typed.collections, typed.paths, frozenset(found))


def narrowed(store: Reader, typed: Filters, *, gated: bool) -> Scope:
    """What may be found; under a policy an unknown tag or property finds nothing, as one of closed notes does.

    Raises:
        UsageError: a filter is empty, has no operator, or is no date.
        NotFound: no policy decides, and no note has such a tag or property.
    """
    try:
        return scope(store, typed)
    except NotFound:
        if not gated:
            raise
        return Scope(pids=frozenset())


def astray(store: Reader, typed: Filters, *, gated: bool) -> list[str]:
    """What to say of paths at which there is no note; nothing under a policy, which would tell of closed notes."""
    return (
        []
        if gated
        else [_astray(store, path) for path in typed.paths if not paths.leads(store, path)]
    )


def unread(store: Reader) -> list[str]:
    """What to say where notes were indexed before tags and links were gathered."""
    count = references.unread(store)
    if not count:
        return []
    notes = "1 note was" if count == 1 else f"{count} notes were"
    return [f"{notes} indexed by an earlier qmd, without tags and links: run 'qmd index'"]


def condition(text: str) -> Condition:
    """A condition as it is typed.

    Raises:
        UsageError: it has no key, operator or value, or compares with neither a number nor a date.
    """
    parts = _CONDITION.fullmatch(text.strip())
    if not parts or not parts[1].strip():
        raise UsageError(f"--where '{text}': write KEY=VALUE, or KEY>VALUE with a number or a date")
    typed = parts[3].strip()
    quoted = _QUOTED.fullmatch(typed)
    value = (quoted[1] or quoted[2] or "") if quoted else typed
    if not value.strip():
        raise UsageError(f"--where '{text}' has no value: write KEY=VALUE")
    found = Condition(parts[1].strip(), parts[2].replace("==", "="), value)
    if found.operator != "=" and found.number is None and found.span is None:
        raise UsageError(
            f"--where '{text}': {found.operator} needs a number or a date like 2026-03-09"
        )
    return found


def written(note: StoredNote) -> float:
    """When a note was written, by its front matter or else its file, in seconds since 1970 UTC."""
    by_key = {name_key(key): value for key, value in note.metadata.items()}
    for key in DATE_KEYS:
        value = by_key.get(key)
        if isinstance(value, str | int) and (found := spans.span(str(value))):
            return found.start
    try:
        return os.lstat(os.path.join(note.root, note.file)).st_mtime  # noqa: PTH118 — of every note
    except OSError:
        return note.state.mtime_ns / 1e9


def _meeting(store: Reader, one: Condition, notes: Sequence[StoredNote]) -> Iterator[StoredNote]:
    """The notes that meet a condition.

    Raises:
        NotFound: no note of the index has the property at all.
    """
    key = name_key(one.key)
    values = [list(_values(note.metadata, key)) for note in notes]
    if not any(values):
        everything = [note.metadata for note in store.notes_of(Scope())]
        if everything and not any(True for metadata in everything for _ in _values(metadata, key)):
            known = {name for metadata in everything for name in metadata}
            raise NotFound(
                f"no note has the property '{one.key}'{spelling.suggestion(key, known)}: "
                "properties are the keys of the front matter"
            )
    return (note for note, found in zip(notes, values, strict=True) if any(map(one.holds, found)))


def _values(metadata: Metadata, key: str) -> Iterator[MetadataValue]:
    """The values of a key; `a.b` is also the `b` inside an `a`."""
    for name, value in metadata.items():
        folded = name_key(name)
        if folded == key:
            yield value
        elif key.startswith(f"{folded}."):
            rest = key[len(folded) + 1 :]
            for inner in value if isinstance(value, list) else [value]:
                if isinstance(inner, dict):
                    yield from _values(inner, rest)


def _tagged(store: Reader, key: str, typed: str) -> set[int]:
    found = references.tagged(store, key)
    if not found:
        near = spelling.suggestion(key, references.tag_keys(store))
        raise NotFound(
            f"no note has the tag '{typed.strip()}'{near}: tags are those of the front matter and #tags in the text"
        )
    return found


def _tag(typed: str) -> str:
    key = tag_key(typed)
    if not key:
        raise UsageError(f"--tag '{typed}' names no tag: write one like project/alpha")
    return key


def _astray(store: Reader, typed: str) -> str:
    near = _on_disk(store, typed) or _near(store, typed)
    return f"no note at the path '{typed}'{near}: see 'qmd ls' for the paths"


def _on_disk(store: Reader, typed: str) -> str:
    """What to say of a path that is one of the disk, and in the index another one."""
    file = os.path.realpath(typed)
    for found in store.collections():
        root = found.root.rstrip("/")
        place = found.name + file.removeprefix(root)
        if f"{file}/".startswith(f"{root}/") and paths.leads(store, place):
            return f" (did you mean '{place}'?)"
    return ""


def _near(store: Reader, typed: str) -> str:
    """What to say of a path that may be meant; a folder may be near, a wildcard is not."""
    parts = itertools.takewhile(lambda part: not {"*", "?"} & set(part), typed.split("/"))
    return spelling.suggested_path("/".join(parts).strip("/"), paths.known(store))


def _date(option: str, typed: str | None) -> Span | None:
    if typed is None:
        return None
    found = spans.span(typed)
    if found is None:
        raise UsageError(f"{option} '{typed}' is no date: write one like 2026-03-09 or 2026-03")
    return found


def _is_between(moment: float, since: Span | None, until: Span | None) -> bool:
    return (since is None or moment >= since.start) and (until is None or moment < until.stop)


def _refuse_empty(option: str, typed: Sequence[str]) -> None:
    for text in typed:
        if not text.strip(" /"):
            raise UsageError(f"{option} '{text}' is empty: leave it out, or name something")


def _ordered(value: float, operator: str, first: float, last: float) -> bool:
    """Whether a value lies after or before everything from first to last, or may lie in it too."""
    match operator:
        case ">":
            return value > last
        case ">=":
            return value >= first
        case "<":
            return value < first
        case _:
            return value <= last


def _number(text: str) -> float | None:
    number = float(text) if _NUMBER.fullmatch(text.strip()) else math.nan
    return number if math.isfinite(number) else None
