"""A line a hit, in a form of the user's own: `{path}:{line} {score:.2f}`."""

import re
import string
from collections.abc import Mapping
from typing import TypeAlias

from qmd_py.errors import UsageError
from qmd_py.records.answers import Answer, Hit

Value: TypeAlias = str | int | float

_ESCAPES = {"\\t": "\t", "\\n": "\n", "\\0": "\0", "\\\\": "\\"}
_WIDEST = 1000  # a wider column is a slip, and could fill the memory
_LONGEST = 9  # digits; Python reads no number of some thousands


class Template:
    """Text with fields of a hit in braces, checked before anything is searched."""

    def __init__(self, typed: str) -> None:
        """Take a template apart.

        Raises:
            UsageError: a field is unknown, is not just a name, or cannot be formatted so.
        """
        try:
            self._parts = list(string.Formatter().parse(typed))
        except ValueError as error:
            raise UsageError(f"--format: {error}: write a brace itself as {{{{ or }}}}") from error
        for _, name, spec, conversion in self._parts:
            if name is not None:
                _check(name, spec or "", conversion)

    def line(self, hit: Hit, query: str) -> str:
        """The line of one hit; its end is part of it."""
        values = _values(hit, query)
        text = "".join(
            _unescaped(literal) + ("" if name is None else format(values[name], spec or ""))
            for literal, name, spec, _ in self._parts
        )
        return text if text.endswith("\0") else text + "\n"

    def lines(self, answer: Answer) -> str:
        """The lines of all hits, best first."""
        return "".join(self.line(hit, answer.query) for hit in answer.hits)


def _check(name: str, spec: str, conversion: str | None) -> None:
    if name not in _SAMPLE:
        raise UsageError(f"--format: no field '{name}': there are {', '.join(_SAMPLE)}")
    if conversion or "{" in spec or spec.endswith("c"):
        raise UsageError(f"--format: '{name}' can only be formatted as in {{score:.2f}}")
    numbers = re.findall(r"\d+", spec)
    if any(len(number) > _LONGEST or int(number) > _WIDEST for number in numbers):
        raise UsageError(f"--format: '{name}' cannot be wider than {_WIDEST}")
    try:
        format(_SAMPLE[name], spec)
    except ValueError as error:
        raise UsageError(f"--format: '{spec}' does not fit '{name}': {error}") from error


def _values(hit: Hit, query: str) -> Mapping[str, Value]:
    best = hit.matches[0]
    return {
        "pid": hit.pid,
        "collection": hit.collection,
        "path": hit.path,
        "file": hit.file,
        "line": best.line,
        "last_line": best.last_line,
        "snippet_line": best.snippet_line,
        "score": hit.score,
        "title": _flat(hit.title),
        "breadcrumb": _flat(best.breadcrumb),
        "heading": _flat(best.toc_path[-1] if best.toc_path else hit.title),
        "anchor": best.anchor,
        "snippet": _flat(best.snippet),
        "uri": hit.source.uri,
        "record_id": hit.source.record_id,
        "query": _flat(query),
    }


_SAMPLE: Mapping[str, Value] = {
    "pid": 1,
    "collection": "",
    "path": "",
    "file": "",
    "line": 1,
    "last_line": 1,
    "snippet_line": 1,
    "score": 0.5,
    "title": "",
    "breadcrumb": "",
    "heading": "",
    "anchor": "",
    "snippet": "",
    "uri": "",
    "record_id": "",
    "query": "",
}
"""Every field, with a value of its kind."""


def _flat(text: str) -> str:
    """The text on one line."""
    return " ".join(text.split())


def _unescaped(literal: str) -> str:
    return re.sub(r"\\[tn0\\]", lambda found: _ESCAPES[found[0]], literal)
