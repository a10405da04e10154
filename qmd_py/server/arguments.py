"""What an agent passes to a tool → checked values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from qmd_py.errors import UsageError
from qmd_py.server.teaching import FORMATS, Field, Kind, Tool

_LONGEST = 10_000  # characters of one text; as for a question on the command line
_MOST = 100  # items of a list
MOST_NOTES = 100
_SHOWN = 40  # characters of a wrong name in an error


@dataclass(frozen=True, slots=True)
class Given:
    """The arguments of one call, each of its field's kind."""

    values: Mapping[str, object]
    unwanted: Callable[[], bool] = bool
    """Tells when nobody waits for the reply any more."""

    def text(self, name: str) -> str | None:
        """A text; None when it was left out."""
        found = self.values.get(name)
        return found if isinstance(found, str) else None

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; empty when it was left out."""
        found = self.values.get(name)
        return tuple(map(str, found)) if isinstance(found, list) else ()

    def number(self, name: str, otherwise: int) -> int:
        """A number from 1 up."""
        found = self.values.get(name)
        return found if isinstance(found, int) else otherwise

    def days(self, name: str) -> float | None:
        """A number above 0; None when it was left out."""
        found = self.values.get(name)
        return found if isinstance(found, float) else None

    def flag(self, name: str, otherwise: bool) -> bool:
        """A truth value."""
        found = self.values.get(name)
        return found if isinstance(found, bool) else otherwise

    def raw(self, name: str) -> object:
        """The value as it came."""
        return self.values.get(name)


def checked(tool: Tool, arguments: Mapping[str, object]) -> Given:
    """The arguments of a call; null counts as left out.

    Raises:
        UsageError: one is unknown, missing, or of another kind; one line says which.
    """
    fields = {field.name: field for field in tool.fields}
    for name in arguments:
        if name not in fields:
            known = ", ".join(fields) or "no arguments"
            raise UsageError(f"{tool.name} has no argument {_short(name)}: it takes {known}")
    values = {name: value for name, value in arguments.items() if value is not None}
    for field in tool.fields:
        if field.required and field.name not in values:
            raise UsageError(f"{tool.name} needs {field.name}: {field.kind.value}")
    return Given({name: _value(fields[name], value) for name, value in values.items()})


def _value(field: Field, value: object) -> object:
    return _READERS[field.kind](field, value)


def _text(field: Field, value: object) -> str:
    if not isinstance(value, str):
        raise _wrong(field)
    if len(value) > _LONGEST:
        raise UsageError(
            f"{field.name} has {len(value)} characters: pass at most {_LONGEST}, in your own words"
        )
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise UsageError(f"{field.name} holds characters that are no text: leave them out")
    return value


def _texts(field: Field, value: object) -> list[str]:
    if not isinstance(value, list):
        raise _wrong(field)
    if len(value) > _MOST:
        raise UsageError(f"{field.name} has {len(value)} items: pass at most {_MOST}")
    return [_text(field, item) for item in value]


def _path(field: Field, value: object) -> list[str]:
    return [_text(field, value)] if isinstance(value, str) else _texts(field, value)


def _searches(field: Field, value: object) -> list[object]:
    if not isinstance(value, list):
        raise _wrong(field)
    for search in value:
        for text in search.values() if isinstance(search, dict) else ():
            if isinstance(text, str):
                _text(field, text)
    return value


def _number(field: Field, value: object) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:18])
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong(field)
    if not 0 < value < 10**18:
        raise UsageError(f"{field.name} must be a whole number from 1 up")
    return value


def _days(field: Field, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 10**6:
        raise _wrong(field)
    return float(value)


def _flag(field: Field, value: object) -> bool:
    if not isinstance(value, bool):
        raise _wrong(field)
    return value


def _format(field: Field, value: object) -> str:
    if value not in FORMATS:
        raise _wrong(field)
    return str(value)


def _wrong(field: Field) -> UsageError:
    return UsageError(f"{field.name} must be {field.kind.value}")


def _short(name: str) -> str:
    return ascii(name if len(name) <= _SHOWN else name[:_SHOWN] + "…")


_READERS: Mapping[Kind, Callable[[Field, object], object]] = {
    Kind.TEXT: _text,
    Kind.TEXTS: _texts,
    Kind.NUMBER: _number,
    Kind.DAYS: _days,
    Kind.FLAG: _flag,
    Kind.SEARCHES: _searches,
    Kind.PATH: _path,
    Kind.FORMAT: _format,
}
