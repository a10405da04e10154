"""Vaults of any size that look like people's: `python -m tests.bench.vaults DIR NOTES`.

Words follow Zipf's law over an invented vocabulary for each of three scripts, under real function
words; notes have front matter, headings, lists, links among each other, code and tables. The same
seed and size give the same bytes.
"""

import bisect
import functools
import itertools
import random
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from qmd_py import processors
from qmd_py.stopwords import stop_words

SEED = 20_260
_VOCABULARY = 60_000
_PART = 5000  # notes that one process writes at a time
_FOLDER = 250  # notes in a folder
_SYLLABLES = {
    "en": ("bcdfghlmnprstvw", "aeiou"),
    "ru": ("бвгджзклмнпрст", "аеиоуыяю"),
}
_MIX = ("en", "en", "en", "ru", "ru", "cjk")


@dataclass(frozen=True, slots=True)
class Language:
    """Words with their chances."""

    words: Sequence[str]
    chances: Sequence[float]
    """Cumulative."""
    space: str

    def text(self, dice: random.Random, count: int) -> str:
        """So many words."""
        top = self.chances[-1]
        found = [self.words[bisect.bisect(self.chances, dice.random() * top)] for _ in range(count)]
        return self.space.join(found)

    def name(self, dice: random.Random) -> str:
        """A few words that are no function words."""
        return self.space.join(dice.choices(self.words[100:4000], k=dice.randint(2, 4)))


@functools.cache
def languages(seed: int = SEED) -> dict[str, Language]:
    """The three vocabularies."""
    dice = random.Random(seed)
    made = {}
    for code, (consonants, vowels) in _SYLLABLES.items():
        common = sorted(stop_words([code]))
        made[code] = _language([*common, *_invented(dice, consonants, vowels)], " ")
    signs = [chr(at) for at in range(0x4E00, 0x4E00 + 3000)]
    pairs = dict.fromkeys("".join(dice.choices(signs, k=2)) for _ in range(_VOCABULARY))
    made["cjk"] = _language(list(pairs), "")
    return made


def _language(words: list[str], space: str) -> Language:
    chances = itertools.accumulate(1 / (rank + 2.7) for rank in range(len(words)))
    return Language(words, list(chances), space)


def _invented(dice: random.Random, consonants: Sequence[str], vowels: Sequence[str]) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < _VOCABULARY:
        syllables = dice.choices((1, 2, 3, 4), (1, 4, 4, 2))[0]
        parts = [dice.choice(consonants) + dice.choice(vowels) for _ in range(syllables)]
        found["".join(parts) + dice.choice(("", "", *consonants[:6]))] = None
    return list(found)


def write(folder: Path, notes: int, seed: int = SEED) -> None:
    """Write a vault of so many notes; large ones in all processes there may be."""
    parts = [range(at, min(at + _PART, notes)) for at in range(0, notes, _PART)]
    if len(parts) == 1:
        _write(folder, parts[0], seed)
        return
    with ProcessPoolExecutor(processors.threads()) as pool:
        list(pool.map(_write, itertools.repeat(folder), parts, itertools.repeat(seed)))


def _write(folder: Path, numbers: Sequence[int], seed: int) -> None:
    known = languages(seed)
    for at in numbers:
        # each note has dice of its own, so that a larger vault begins with the smaller one
        dice = random.Random(f"{seed} {at}")
        file = folder / _path(at)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_note(dice, known[_MIX[at % len(_MIX)]], at), encoding="utf-8")


def questions(count: int, seed: int = SEED) -> list[str]:
    """Questions of two to four content words, in the languages of the notes."""
    known = languages(seed)
    dice = random.Random(seed + 1)
    return [known[("en", "ru", "cjk")[at % 3]].name(dice) for at in range(count)]


def _path(at: int) -> str:
    return f"folder {at // _FOLDER:03}/note {at:06}.md"


def _note(dice: random.Random, language: Language, at: int) -> str:
    parts = [_front(dice, language)] if dice.random() < 0.6 else []
    parts.append(f"# {language.name(dice)} {at}")
    for _ in range(dice.choices((1, 3, 6, 12), (2, 4, 3, 1))[0]):
        parts.append(f"{'#' * dice.choice((2, 2, 3))} {language.name(dice)}")
        blocks = dice.choices(_BLOCKS, (12, 3, 1, 1), k=dice.randint(1, 3))
        parts += [block(dice, language, at) for block in blocks]
    return "\n\n".join(parts) + "\n"


def _front(dice: random.Random, language: Language) -> str:
    tags = ", ".join(f"tag-{dice.randint(1, 80)}" for _ in range(dice.randint(1, 4)))
    return f"---\naliases: [{language.name(dice)}]\ntags: [{tags}]\ndate: 2026-0{dice.randint(1, 9)}-11\n---"


def _paragraph(dice: random.Random, language: Language, at: int) -> str:
    text = language.text(dice, dice.randint(15, 90))
    link = f" [[note {dice.randrange(at + 1):06}|{language.name(dice)}]]"
    return text + (link if dice.random() < 0.4 else "") + "."


def _list(dice: random.Random, language: Language, _at: int) -> str:
    lines = (language.text(dice, dice.randint(3, 15)) for _ in range(dice.randint(2, 7)))
    return "\n".join(f"- {line}" for line in lines)


def _code(dice: random.Random, language: Language, _at: int) -> str:
    names = dice.choices(language.words[200:2000], k=3)
    return f"```python\ndef {names[0]}(value):\n    return {names[1]}_{names[2]}(value, {dice.randint(0, 99)})\n```"


def _table(dice: random.Random, language: Language, _at: int) -> str:
    rows = (f"| {language.name(dice)} | {dice.randint(1, 999)} |" for _ in range(4))
    return "\n".join([f"| {language.name(dice)} | n |", "|---|---|", *rows])


_BLOCKS: Sequence[Callable[[random.Random, Language, int], str]] = (
    _paragraph, _list, _code, _table,
)  # fmt: skip


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]))
