"""The settings of the npm qmd (`index.yml`) → collections and contexts that we can register."""

import itertools
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from qmd_py.errors import ConfigError

_MASK = "**/*.md"
_LEFT_OUT = ("vendor/", "dist/", "build/")
"""Folders that the npm qmd never looks into, beside those that we do not either."""
_LONGEST_MASK = 500  # braces in braces are taken apart one in the other
_MOST_MASKS = 1000


@dataclass(frozen=True, slots=True)
class Wanted:
    """A collection as its owner described it."""

    name: str
    root: Path
    globs: tuple[str, ...]
    ignores: tuple[str, ...]
    """Both in `.gitignore` syntax."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a folder of a collection is about."""

    collection: str
    path: str
    """Relative to the collection's root; empty for all of it."""
    text: str


@dataclass(frozen=True, slots=True)
class Settings:
    """What a settings file holds."""

    collections: tuple[Wanted, ...]
    contexts: tuple[Context, ...]
    others: tuple[str, ...]
    """What it says that we have no use for, in words."""


def read(file: Path) -> Settings:
    """Read an `index.yml`; relative folders are taken from its own, or the project's when in `.qmd`.

    Raises:
        ConfigError: it cannot be read, is no YAML, or has another shape.
    """
    table = _table(_yaml(file), file, "the settings")
    entries = _table(table.get("collections") or {}, file, "'collections'")
    base = file.absolute().parent
    base = base.parent if base.name == ".qmd" else base
    wanted: list[Wanted] = []
    contexts: list[Context] = []
    others = [f"'{key}'" for key in table if key not in {"collections", "global_context"}]
    for name, value in entries.items():
        entry = _table(value, file, f"collection '{name}'")
        wanted.append(_wanted(str(name), entry, base, file))
        contexts += _contexts(str(name), entry, table.get("global_context"), file)
        others += _left(str(name), entry)
    return Settings(tuple(wanted), tuple(contexts), tuple(others))


def _yaml(file: Path) -> object:
    import yaml

    try:
        return yaml.safe_load(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        where = getattr(error, "problem_mark", None)
        line = f" at line {where.line + 1}" if where else ""
        raise ConfigError(f"{file} is no YAML{line}: name the index.yml of the npm qmd") from error


def _table(value: object, file: Path, what: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ConfigError(f"{what} in {file} must be a mapping: name the index.yml of the npm qmd")
    return value


def _wanted(name: str, entry: Mapping[str, object], base: Path, file: Path) -> Wanted:
    path = entry.get("path")
    if not isinstance(path, str) or not path:
        raise ConfigError(f"collection '{name}' in {file} has no 'path'")
    mask = entry.get("pattern") or _MASK
    if not isinstance(mask, str):
        raise ConfigError(f"'pattern' of collection '{name}' in {file} must be a text")
    ignores = entry.get("ignore") or []
    if not isinstance(ignores, list) or not all(isinstance(one, str) for one in ignores):
        raise ConfigError(f"'ignore' of collection '{name}' in {file} must be a list of texts")
    root = base / os.path.expanduser(path)  # noqa: PTH111 — keeps a `~user` that is not here
    patterns = (_anchored(one) for ignore in ignores for one in _masks(ignore))
    return Wanted(name, root, tuple(map(_anchored, _masks(mask))), (*_LEFT_OUT, *patterns))


def _contexts(
    name: str, entry: Mapping[str, object], everywhere: object, file: Path
) -> list[Context]:
    """The contexts of a collection, the one of all collections first."""
    own = _table(entry.get("context") or {}, file, f"'context' of collection '{name}'")
    texts = [("", everywhere), *own.items()] if everywhere else list(own.items())
    return [
        Context(name, str(path).strip("/"), " ".join(str(text).split())) for path, text in texts
    ]


def _left(name: str, entry: Mapping[str, object]) -> list[str]:
    found = [f"the update command of '{name}'"] if entry.get("update") else []
    hidden = entry.get("includeByDefault") is False
    return found + ([f"that '{name}' is searched only when named"] if hidden else [])


def _masks(mask: str) -> list[str]:
    """The masks that a list with commas and braces stands for."""
    if len(mask) > _LONGEST_MASK:
        raise ConfigError(f"a mask has {len(mask)} characters: write at most {_LONGEST_MASK}")
    parts = [part.strip() for part in _split(mask)]
    found = (one for part in parts if part for one in _unbraced(part))
    return list(itertools.islice(found, _MOST_MASKS))


def _split(text: str) -> list[str]:
    """The parts between commas outside of braces."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "{") - (character == "}" and depth > 0)
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _unbraced(mask: str) -> Iterator[str]:
    """`a.{b,c}` as `a.b` and `a.c`; a lone brace is itself."""
    start = mask.find("{")
    stop, depth = start, 0
    while start >= 0 and stop < len(mask):
        depth += (mask[stop] == "{") - (mask[stop] == "}")
        if not depth:
            break
        stop += 1
    if start < 0 or stop == len(mask):
        yield mask
        return
    before, inner, after = mask[:start], mask[start + 1 : stop], mask[stop + 1 :]
    for part in _split(inner):
        yield from _unbraced(before + part + after)


def _anchored(mask: str) -> str:
    """A mask in `.gitignore` syntax, where one without a slash would fit at any depth."""
    return mask if "/" in mask.rstrip("/") else f"/{mask}"
