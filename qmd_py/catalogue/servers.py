"""Reads the entries of models that a server runs."""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from qmd_py.catalogue.specs import ModelSpec, Role, Server
from qmd_py.errors import ConfigError

KEYS = {
    "embed": {"dimensions", "query_prefix", "passage_prefix"},
    "expand": {"prompt"},
    "rerank": {"format", "scores"},
}
COMMON = {"engine", "source", "model", "key_env", "seconds", "batch", "license", "about"}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def server_spec(
    role: Role, name: str, table: Mapping[str, object], texts: Mapping[str, str], file: Path
) -> ModelSpec:
    """The model of an entry whose engine is `http`.

    Args:
        role: what it is for.
        name: of the entry.
        table: the entry.
        texts: those of its values that are texts.
        file: where it stands.

    Raises:
        ConfigError: a value is impossible.
    """
    where = f"{role}.{name}"
    if texts.get("key_env") is not None and not _VARIABLE.fullmatch(texts["key_env"]):
        raise ConfigError(
            f"'{where}.key_env' in {file} must be the name of a variable, never the key itself"
        )
    server = Server(
        url=_address(str(table.get("source", "")), where, file),
        model=texts.get("model", name),
        key_env=texts.get("key_env"),
        seconds=_positive(table, "seconds", 30, where, file),
        batch=int(_positive(table, "batch", 16, where, file, whole=True)),
        dimensions=int(_positive(table, "dimensions", 0, where, file, whole=True)) or None,
        format=texts.get("format", "rerank"),
        logits=texts.get("scores") == "logits",
    )
    return ModelSpec(
        role,
        name,
        server,
        about=texts.get("about", ""),
        license=texts.get("license", ""),
        query_prefix=texts.get("query_prefix", ""),
        passage_prefix=texts.get("passage_prefix", ""),
        prompt=texts.get("prompt", "chat"),
    )


def _address(text: str, where: str, file: Path) -> str:
    """The address without a slash at its end; keys have no place in it."""
    try:
        parts = urlsplit(text)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or not text.isprintable() or " " in text:
        raise ConfigError(
            f"'{where}.source' in {file} cannot be '{text}': write the address of the server, like "
            "http://127.0.0.1:8080/v1"
        )
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigError(
            f"'{where}.source' in {file} may hold no user, key or query: name the variable that has "
            "the key in key_env"
        )
    return text.rstrip("/")


def _positive(
    table: Mapping[str, object],
    key: str,
    default: int,
    where: str,
    file: Path,
    *,
    whole: bool = False,
) -> float:
    value = table.get(key, default)
    kinds = int if whole else int | float
    bad = not isinstance(value, kinds) or isinstance(value, bool) or not math.isfinite(value)
    if bad or (key in table and not 0 < value <= 100_000):  # type: ignore[operator]  # just tested
        raise ConfigError(f"'{where}.{key}' in {file} must be a number above 0")
    return value  # type: ignore[return-value]  # just tested
