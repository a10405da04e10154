"""The YAML block at the head of a note."""

import datetime
import itertools
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import yaml

from qmd_py.markdown.plain import one_line
from qmd_py.records.stored import MetadataValue

_LARGEST = 64_000  # characters; nobody writes that much by hand, and YAML is slow to read
_DEEPEST = 20
_LONGEST_NAMES = (
    4000  # characters of title, aliases and tags each: they are repeated in every chunk
)
_LONGEST_NUMBER = 80  # characters, in any system of numbers
_BEYOND = 10**18
_YAML = "tag:yaml.org,2002:"
_RESOLVED = {f"{_YAML}null", f"{_YAML}timestamp"}
_KEY = re.compile(r"[\w\"'][^:]{0,80}:(?:\s|$)")
_HASH_TAGS = re.compile(r"^(tags?:[ \t]+)(#[^\s#].*)$(?!\n(?:[ \t]|-))", re.MULTILINE)
"""`tags: #a, b`, which is a comment to YAML but not to its writer."""
# what the constructors of PyYAML let through for values that are not of the type they claim
_YAML_ERRORS = (
    yaml.YAMLError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError,
    ValueError,
)  # fmt: skip


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
        text = "" if isinstance(value, list | dict) or value is None else str(value)
        return one_line(text[:_LONGEST_NAMES]) or None

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
    """The front matter of a note: line 1 is exactly `---` and a closing `---` follows.

    Paragraphs between two rules are text, though they stand where front matter would.
    """
    if not lines or lines[0] != "---":
        return FrontMatter()
    for index in range(1, len(lines)):
        if lines[index].rstrip() == "---":
            block = lines[1:index]
            found = _load("\n".join(block), index + 1)
            return found if found.metadata or not _is_prose(block) else FrontMatter()
    return FrontMatter()


def _is_prose(block: Sequence[str]) -> bool:
    """Whether lines that are no metadata look as if they were not meant to be: blank ones among them, no key first."""
    written = [line for line in block if line.strip()]
    return 0 < len(written) < len(block) and not _KEY.match(written[0])


def _load(text: str, lines: int) -> FrontMatter:
    if len(text) > _LARGEST:
        return FrontMatter(lines, problem=f"front matter of {len(text)} characters is not read")
    try:
        _refuse_aliases(text)
        loaded = yaml.load(_HASH_TAGS.sub(_quoted, text), Loader=_Loader)
    except _YAML_ERRORS as error:
        why = f"front matter is not YAML, so only the text is searched: {_reason(error)}"
        return FrontMatter(lines, problem=why)
    if loaded is None:
        return FrontMatter(lines)
    if not isinstance(loaded, dict):
        return FrontMatter(lines, problem="front matter is not a list of `key: value` lines")
    metadata = {key: _plain(value) for key, value in loaded.items()}
    named = ("title", "aliases", "alias", "tags", "tag")
    cut = [key for key in named if len(str(metadata.get(key))) > _LONGEST_NAMES]
    problem = f"of '{cut[0]}' only {_LONGEST_NAMES} characters are read" if cut else None
    return FrontMatter(lines, metadata, problem)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A safe loader that keeps words as they are written and wants every key once.

    `No`, `12:30`, `010` and `1.10` stay text: as a title or a revision they are not `False`, 750,
    8 and 1.1. Keys are text always.
    """

    yaml_implicit_resolvers: ClassVar = {
        first: [(tag, pattern) for tag, pattern in found if tag in _RESOLVED]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[str, object]:
        mapping: dict[str, object] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _fault("a key is a single word or text", key)
            if key.value in mapping:
                raise _fault(f"the key '{key.value}' stands there twice", key)
            mapping[key.value] = self.construct_object(value, deep=deep)
        return mapping

    def construct_number(self, node: yaml.ScalarNode) -> int | str:
        """The number; the text as it is where that is longer than any number that is written down."""
        text = str(self.construct_scalar(node))
        if len(text) > _LONGEST_NUMBER:
            return text
        number: int = self.construct_yaml_int(node)
        return number if abs(number) < _BEYOND else text

    def construct_timestamp(self, node: yaml.ScalarNode) -> datetime.date | str:
        """The moment; the text as it is where the calendar has no such day."""
        try:
            moment: datetime.date = self.construct_yaml_timestamp(node)
        except ValueError:
            return str(node.value)
        return moment


_Loader.add_implicit_resolver(f"{_YAML}bool", re.compile(r"(?i:true|false)$"), list("tTfF"))
_Loader.add_implicit_resolver(
    f"{_YAML}int", re.compile(r"-?[1-9]\d{0,17}$|0$"), list("-0123456789")
)
_Loader.add_constructor(f"{_YAML}int", _Loader.construct_number)
_Loader.add_constructor(f"{_YAML}timestamp", _Loader.construct_timestamp)


def _fault(problem: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


def _refuse_aliases(text: str) -> None:
    """Aliases of lists of aliases stand for more than fits into memory."""
    events = yaml.parse(text, Loader=_Loader) if "*" in text else ()
    if any(isinstance(event, yaml.AliasEvent) for event in events):
        raise yaml.YAMLError("aliases (*name) are not read")


def _quoted(line: re.Match[str]) -> str:
    return line[1] + json.dumps(line[2], ensure_ascii=False)


def _plain(value: object, depth: int = 0) -> MetadataValue:
    """The value in JSON's types."""
    if depth > _DEEPEST:
        return None
    if isinstance(value, str):
        return _encodable(value)
    if isinstance(value, dict):
        return {_encodable(str(key)): _plain(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        items = sorted(map(str, value)) if isinstance(value, set) else value
        return [_plain(inner, depth + 1) for inner in items]
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    finite = not isinstance(value, float) or math.isfinite(value)
    plain = value is None or isinstance(value, int | float | bool)
    return value if plain and finite else str(value)  # type: ignore[return-value] # just tested


def _encodable(text: str) -> str:
    """The text with `?` for lone surrogates, which escapes can write but no file can hold."""
    return text.encode("utf-8", "replace").decode()


def _names(value: MetadataValue, separators: str) -> tuple[str, ...]:
    """A list of names in any of the forms people write: a list, a JSON list, `a, b`, one name."""
    if isinstance(value, str) and value.startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = str(value).strip("[]")
    if isinstance(value, str):
        value = list(re.split(separators, value))
    if value is None or isinstance(value, dict):
        return ()
    names = value if isinstance(value, list) else [value]
    kept = (
        one_line(_encodable(str(name)))
        for name in names
        if not isinstance(name, list | dict | None)
    )
    return _first(dict.fromkeys(filter(None, kept)))


def _first(names: Iterable[str]) -> tuple[str, ...]:
    """As many of the names as there is room for."""
    lengths = itertools.accumulate(map(len, names))
    return tuple(
        name for name, length in zip(names, lengths, strict=True) if length <= _LONGEST_NAMES
    )


def _reason(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    words = str(getattr(error, "problem", None) or error).splitlines()[0]
    return f"{words}, line {mark.line + 2}" if mark else words
