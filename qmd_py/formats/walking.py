"""Folders → the files that are notes, of all kinds that can be read here."""

import functools
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from qmd_py import files
from qmd_py.files import Found, Walk
from qmd_py.formats.kinds import KINDS, kind_of
from qmd_py.formats.suffixes import suffix_of

# code only where a collection's globs ask for it: a folder of notes often lies beside some
_DOCUMENTS = (f"*.{end}" for end, kind in KINDS.items() if kind.name != "code")
NOTE_GLOBS = tuple(dict.fromkeys((*files.NOTE_GLOBS, *_DOCUMENTS)))
"""Which files are notes where a collection says nothing else."""


def notes_below(
    root: Path, globs: Sequence[str], ignores: Sequence[str], max_bytes: int, walk: Walk
) -> Iterator[Found]:
    """As `files.notes_below`, of all kinds that can be read here.

    Files of a kind whose extra is not installed are counted among what was passed over; what the
    index knows of them from before stays.
    """
    absent: dict[str, Counter[str]] = {}
    missing = functools.cache(lambda kind: kind.missing)
    for found in files.notes_below(root, globs or NOTE_GLOBS, ignores, max_bytes, walk):
        if lack := missing(kind_of(found.file)):
            absent.setdefault(lack, Counter())[suffix_of(found.file)] += 1
            walk.unseen.append(found.file)
        else:
            yield found
    for lack, counts in sorted(absent.items()):
        named = ", ".join(f"{count} .{suffix}" for suffix, count in sorted(counts.items()))
        walk.passed_over.append(f"{named} {lack}")
