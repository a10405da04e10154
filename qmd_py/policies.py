"""Policy files → policies."""

import hashlib
import os
import tomllib
from dataclasses import replace
from pathlib import Path

from qmd_py import contained
from qmd_py.admission import PROOFS, REQUIREMENTS, Policy
from qmd_py.errors import FileUnreadable, PolicyUnknown, UsageError
from qmd_py.visible import one_line

_LARGEST = 1_000_000  # bytes
_KEYS = (
    "version", "owner", "labels", "unlabelled", "proofs", "require", "line_ranges",
)  # fmt: skip
_UNLABELLED = {"open": True, "closed": False}


def load(file: Path | None) -> Policy:
    """The policy in a TOML file.

    What decides over access has to be said: `version`, `labels` and `unlabelled` have no defaults.

    Raises:
        PolicyUnknown: there is none, it cannot be read, or it is not clear.
    """
    if file is None:
        raise PolicyUnknown(
            "unknown-policy: nothing says what may be used: name a file with --policy, or set 'policy'"
        )
    try:
        real = Path(os.path.realpath(file))
        content = contained.content(real.parent, real.name, _LARGEST)
        table = tomllib.loads(content.decode())
    except FileUnreadable as error:
        raise PolicyUnknown(f"unknown-policy: {error}: ask whoever wrote it") from error
    except (ValueError, RecursionError) as error:
        raise _unknown(file, f"is not TOML ({error})") from error
    return replace(_policy(table, file), digest=hashlib.sha256(content).hexdigest())


def deciding(configured: Path | None, named: Path | None) -> Path | None:
    """The file that decides, which only names one where none is configured.

    Raises:
        UsageError: another one is configured.
    """
    if configured and named and not _same(configured, named):
        raise UsageError(
            f"--policy {named}: another policy is configured and decides: leave the option out"
        )
    return configured or named


def digest(file: Path | None) -> str:
    """SHA-256 of a file that may be no policy, hexadecimal; empty where it cannot be read."""
    try:
        real = Path(os.path.realpath(file or ""))
        return hashlib.sha256(contained.content(real.parent, real.name, _LARGEST)).hexdigest()
    except (FileUnreadable, ValueError):
        return ""


def _same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _policy(table: dict[str, object], file: Path) -> Policy:
    if unknown := sorted(set(table) - set(_KEYS)):
        raise _unknown(file, f"has an unknown key '{unknown[0]}'", table)
    version, owner = table.get("version"), table.get("owner", "")
    if not isinstance(version, str) or not version.strip() or not isinstance(owner, str):
        raise _unknown(file, "has no version, or its owner is no text", table)
    unlabelled = table.get("unlabelled")
    if not isinstance(unlabelled, str) or unlabelled not in _UNLABELLED:
        raise _unknown(file, 'does not say unlabelled = "open" or "closed"', table)
    line_ranges = table.get("line_ranges", False)
    if not isinstance(line_ranges, bool):
        raise _unknown(file, "has line_ranges that is neither true nor false", table)
    return Policy(
        version=version,
        labels=_labels(table, file),
        unlabelled_is_open=_UNLABELLED[unlabelled],
        proofs=_names(table, "proofs", PROOFS, PROOFS, file),
        required=_names(table, "require", REQUIREMENTS, ("revision", "citation"), file),
        line_ranges=line_ranges,
        owner=owner,
    )


def _names(
    table: dict[str, object],
    key: str,
    known: tuple[str, ...] | None,
    default: tuple[str, ...],
    file: Path,
) -> frozenset[str]:
    """A list of names; of labels any, and they have to be there."""
    value = table.get(key, list(default) if known else None)
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise _unknown(file, f"does not say {key} as a list of names", table)
    if known and (strange := sorted(set(value) - set(known))):
        raise _unknown(file, f"has '{strange[0]}' among {key}: known are {', '.join(known)}", table)
    return frozenset(value)


def _labels(table: dict[str, object], file: Path) -> frozenset[str]:
    """The reader's labels, as those of notes are compared."""
    written = _names(table, "labels", None, (), file)
    labels = frozenset(one_line(name) for name in written)
    if "" in labels:
        raise _unknown(file, "has an empty label", table)
    return labels


def _unknown(file: Path, what: str, table: dict[str, object] | None = None) -> PolicyUnknown:
    owner = (table or {}).get("owner")
    asked = f"ask {owner}" if isinstance(owner, str) and owner else "ask whoever wrote it"
    return PolicyUnknown(f"unknown-policy: {file} {what}: {asked}")
