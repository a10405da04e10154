"""What a model reads of a chunk."""

import re
from collections.abc import Sequence

from qmd_py.records.stored import breadcrumb

_DENSE = re.compile(rb"\xe2[\xba-\xbf]|[\xe3-\xf4]")
"""How characters from U+2E80 up begin in UTF-8; as a range of characters it takes long to compile."""

VERSION = 1
"""Raised whenever the passage of some chunk changes; part of an embedding's fingerprint."""


def passage(title: str, aliases: Sequence[str], toc_path: Sequence[str], text: str) -> str:
    """The breadcrumb, a blank line, the chunk; the note's aliases follow its title in parentheses.

    Aliases in the embedded title helped every judged set, questions in another language most.
    """
    names = f"{title} ({', '.join(aliases)})" if aliases else title
    crumb = names + breadcrumb(title, toc_path)[len(title) :]
    return f"{crumb}\n\n{text}" if text else crumb


def tokens(text: str) -> int:
    """About how many tokens a language model would read: the estimate needs no model.

    Four characters a token in ASCII, two and a half in other alphabets, one in scripts written
    without spaces; close to the common byte-pair vocabularies.
    """
    ascii_count = len(text.encode("ascii", "ignore"))
    if ascii_count == len(text):
        return round(ascii_count / 4)
    dense = len(_DENSE.findall(text.encode("utf-8", "surrogatepass")))
    return round(ascii_count / 4 + (len(text) - ascii_count - dense) / 2.5 + dense)


def key(passage: str) -> bytes:
    """16 bytes that stand for a passage: equal texts are embedded once."""
    import hashlib

    return hashlib.blake2b(passage.encode("utf-8", "surrogatepass"), digest_size=16).digest()
