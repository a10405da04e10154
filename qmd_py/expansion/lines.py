"""What a model wrote → variants of the question."""

import re
import unicodedata

from qmd_py.records.wordings import Variant

KINDS = ("lex", "vec", "hyde")
"""The searches a line can be for; see `Variant.kind`."""

_LONGEST = 4_000  # characters; the grammar allows about 1,000, so the rest is a runaway
_MOST = 12  # variants; twice what the grammar allows

_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_LINE = re.compile(
    r"\s*(?:[-*•>]+\s*|\d{1,2}[.)]\s*)?"  # a list item, as chat models like to write
    r"[*_`]{0,3}(?P<kind>lex|vec|hyde)[*_`]{0,3}\s{0,3}[:：][*_`]{0,3}(?P<text>.*)",
    re.IGNORECASE,
)
_QUOTES = "\"'`“”„«»"


def variants(output: str) -> tuple[Variant, ...]:
    """The typed lines of a model's output in order, each once; other lines are passed over."""
    seen: dict[tuple[str, str], Variant] = {}
    for line in _THOUGHT.sub("", output[:_LONGEST]).splitlines():
        if found := _variant(line):
            seen.setdefault((found.kind, found.text.casefold()), found)
    return tuple(seen.values())[:_MOST]


def _variant(line: str) -> Variant | None:
    match = _LINE.fullmatch(line)
    text = _clean(match["text"]) if match else ""
    return Variant(match["kind"].lower(), text) if match and text else None


def _clean(text: str) -> str:
    """The text on one line without control characters, and without quotes around all of it."""
    plain = "".join(" " if unicodedata.category(sign) in ("Cc", "Cs") else sign for sign in text)
    text = " ".join(plain.split())
    if len(text) > 1 and text[0] in _QUOTES and text[-1] in _QUOTES:
        text = text.strip(_QUOTES).strip()
    return text
