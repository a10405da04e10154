"""Patterns in `.gitignore` syntax, in time that no pattern can stretch."""

import re
import warnings
from collections.abc import Sequence
from typing import TypeAlias

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

Patterns: TypeAlias = GitIgnoreSpec
"""Lines of an ignore file, ready to be held against paths."""

_STAR = "[^/]*"
_FOLDERS = "(?:/.+)?"
"""What `/**` stands for inside a pattern."""
_FOLDERS_FIRST = "^(?:.+/)?"


def patterns_of(lines: Sequence[str]) -> Patterns:
    """The patterns of some lines, each of which can be understood."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # `[[a]` is odd, and nobody's business here
        return GitIgnoreSpec.from_lines(lines, _Pattern)


def is_pattern(line: str) -> bool:
    """Whether a line can be understood; git passes over the others without a word."""
    try:
        patterns_of([line])
    except (ValueError, re.error):
        return False
    return True


class _Pattern(GitIgnoreSpecPattern):
    """A pattern whose stars do not go back.

    `*a*a*a*a*b` takes minutes to see that it does not match a long name of a's, when each star is
    tried at every length; so does `a/**/a/**/b` in deep folders. The first place where the text
    between two stars fits is as good as any other, so it is kept.
    """

    @classmethod
    def pattern_to_regex(cls, pattern: str) -> tuple[str | None, bool | None]:  # type: ignore[override]
        """The regular expression of a pattern, and whether it ignores."""
        regex, include = super().pattern_to_regex(pattern)
        return (_settled(regex) if isinstance(regex, str) else None), include


def _settled(regex: str) -> str:
    *parts, last = map(_names_settled, regex.split(_FOLDERS))
    if not parts:
        return last
    first, *inner = parts
    if first.startswith(_FOLDERS_FIRST):
        first = f"^(?>(?:[^/]+/)*?{first.removeprefix(_FOLDERS_FIRST)}(?=/))"
    settled = (f"(?>(?:/[^/]+)*?{part}(?=/))" for part in inner)
    # the last one may go back: it does so alone, and where it ends tells a folder from a file
    return "".join([first, *settled, _FOLDERS, last])


def _names_settled(regex: str) -> str:
    """A part without `/**/`, settled; of each name the last star finds the end."""
    head, *parts = regex.split(_STAR)
    if not parts:
        return regex
    inner = (f"(?>{_STAR}?{part})" for part in parts[:-1])
    return "".join([head, *inner, _STAR, parts[-1]])
