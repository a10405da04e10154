"""A text as lines, whatever ends them."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a text without their ends.

    Only CR LF, LF and CR end a line, as in CommonMark; form feeds and Unicode separators do not.
    """

    lines: tuple[str, ...]
    numbers: Sequence[int]
    """The 1-based number that `sed -n` gives each line; differs where a lone CR ends one."""

    @classmethod
    def of(cls, text: str) -> Self:
        """Split a text; NULs become spaces, since nothing downstream can carry them."""
        lines = _LINE_END.split(text.replace("\0", " "))
        if len(lines) > 1 and not lines[-1]:
            lines.pop()
        return cls(tuple(lines), _numbers(text, len(lines)))

    def text(self, first: int, stop: int) -> str:
        """Lines `first` to `stop` (0-based, exclusive) joined by LF."""
        return "\n".join(self.lines[first:stop])

    def numbered(self, first: int, last: int) -> str:
        """The lines that `sed` numbers from `first` to `last`, joined by LF."""
        return self.text(bisect_left(self.numbers, first), bisect_right(self.numbers, last))

    def number(self, index: int) -> int:
        """The `sed` number of the 0-based line; of the last line when past the end."""
        return self.numbers[min(index, len(self.numbers) - 1)]


def _numbers(text: str, count: int) -> Sequence[int]:
    if not re.search(r"\r(?!\n)", text):
        return range(1, count + 1)
    numbers, number = [1], 1
    for end in _LINE_END.finditer(text):
        number += end[0] != "\r"
        numbers.append(number)
    return tuple(numbers[:count])
