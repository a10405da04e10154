"""The YAML block at the head of a note."""

import datetime
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import yaml

from qmd_py.records import MetadataValue

_LARGEST = 64_000  # characters; YAML aliases can blow up what is larger
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What the head of a note says of it."""

    lines: int = 0
    """How many lines the block takes, fences included; 0 when there is none."""
    metadata: dict[str, MetadataValue] = field(default_factory=dict)
    problem: str | None = None
    """Why the metadata could not be read; the note's text is not concerned."""

    @property
    def title(self) -> str | None:
        """The title it gives, if any."""
        value = self.metadata.get("title")
        text = "" if isinstance(value, list | dict) or value is None else str(value).strip()
        return " ".join(text.split()) or None

    @property
    def description(self) -> str:
        """The description it gives, or nothing."""
        value = self.metadata.get("description")
        return value.strip() if isinstance(value, str) else ""

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names of the note."""
        return _names(self.metadata.get("aliases", self.metadata.get("alias")), r"[,\n]")

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags, without their `#`."""
        found = _names(self.metadata.get("tags", self.metadata.get("tag")), r"[,\s]+")
        return tuple(tag for raw in found if (tag := raw.lstrip("#").strip()))


def read(lines: Sequence[str]) -> FrontMatter:
    """The front matter of a note: line 1 is exactly `---` and a closing `---` follows."""
    if not lines or lines[0] != "---":
        return FrontMatter()
    for index in range(1, len(lines)):
        if lines[index].rstrip() == "---":
            return _load("\n".join(lines[1:index]), index + 1)
    return FrontMatter()


def _load(text: str, lines: int) -> FrontMatter:
    if len(text) > _LARGEST:
        return FrontMatter(lines, problem=f"front matter of {len(text)} characters is not read")
    try:
        loaded = yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError, TypeError) as error:
        return FrontMatter(lines, problem=f"front matter is not YAML: {_reason(error)}")
    if loaded is None:
        return FrontMatter(lines)
    if not isinstance(loaded, dict):
        return FrontMatter(lines, problem="front matter is not a list of `key: value` lines")
    return FrontMatter(lines, {str(key): _plain(value) for key, value in loaded.items()})


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A safe loader that refuses aliases (their expansion has no bound)."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases (*name) are not read")
        node: yaml.Node | None = super().compose_node(parent, index)
        return node


def _plain(value: object, depth: int = 0) -> MetadataValue:
    """The value in JSON's types."""
    if depth > _DEEPEST:
        return None
    if isinstance(value, dict):
        return {str(key): _plain(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(inner, depth + 1) for inner in value]
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    finite = not isinstance(value, float) or math.isfinite(value)
    plain = value is None or isinstance(value, str | int | float | bool)
    return value if plain and finite else str(value)  # type: ignore[return-value] # just tested


def _names(value: MetadataValue, separators: str) -> tuple[str, ...]:
    """A list of names in any of the forms people write: a list, a JSON list, `a, b`, one name."""
    if isinstance(value, str) and value.startswith("["):
        try:
            value = json.loads(value)
        except ValueError:
            value = str(value).strip("[]")
    if isinstance(value, str):
        value = list(re.split(separators, value))
    if value is None or isinstance(value, dict):
        return ()
    names = value if isinstance(value, list) else [value]
    kept = (" ".join(str(name).split()) for name in names if not isinstance(name, list | dict))
    return tuple(dict.fromkeys(name for name in kept if name and name != "None"))


def _reason(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    words = str(getattr(error, "problem", None) or error).splitlines()[0]
    return f"{words}, line {mark.line + 2}" if mark else words
