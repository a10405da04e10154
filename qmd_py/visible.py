"""Texts of notes → what may stand in one line, and what two of them have in common."""

import functools
import re
import unicodedata
from collections.abc import Callable

UNSEEN = (
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5"
    r"\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    r"\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
"""A pattern of what Unicode wants shown as nothing."""


def disarmed(text: str, put: str | Callable[[re.Match[str]], str]) -> str:
    """The text with something else in place of each character that commands, hides or breaks."""
    # nothing of that kind can be printed, and most texts have nothing else that cannot
    return text if text.isprintable() else _unsafe().sub(put, text)


@functools.cache
def _unsafe() -> re.Pattern[str]:
    # Control characters could move the cursor or retitle the window, and direction marks could show
    # a text in another order than it has; half a surrogate pair cannot be written at all.
    return re.compile(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
    )


def one_line(text: str) -> str:
    """The text in NFC with single spaces, and without what could make a line look like another."""
    line = " ".join(text.split())
    return line if line.isascii() and line.isprintable() else _cleaned(line)


def folded(text: str) -> str:
    """The text in small letters without what cannot be seen in it, so that looks decide."""
    if text.isascii() and text.isprintable():
        return text.lower()
    # compiled at its first use: most keys are plain
    seen = re.sub(UNSEEN, "", unicodedata.normalize("NFKC", text))
    return unicodedata.normalize("NFKC", seen.casefold())


def _cleaned(line: str) -> str:
    return unicodedata.normalize("NFC", " ".join(disarmed(line, " ").split()))
