"""In which languages the collections are written."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from qmd_py.expansion import languages
from qmd_py.records.answers import Scope
from qmd_py.store.reader import Reader

_LOOKED_AT = 60
"""Notes of a collection whose beginnings are read; more told nothing new."""

_CHARACTERS = 1000
_SHARE = 0.1  # of the notes that tell; below it a language is an exception in the collection

NAMES = {
    "de": "German", "el": "Greek", "en": "English", "es": "Spanish", "fr": "French",
    "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "pt": "Portuguese",
    "ru": "Russian", "uk": "Ukrainian", "zh": "Chinese",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tongue:
    """A collection and the languages of its notes."""

    collection: str
    codes: tuple[str, ...]
    """ISO 639-1, most notes first; empty where none could be told."""

    @property
    def names(self) -> str:
        """The languages in English, as in `English and Russian`."""
        return " and ".join(NAMES.get(code, code) for code in self.codes)


def detected(store: Reader) -> tuple[Tongue, ...]:
    """The languages of every collection, by the beginnings of some of its notes."""
    return tuple(
        Tongue(collection.name, _codes(store, collection.name))
        for collection in store.collections()
    )


def _codes(store: Reader, collection: str) -> tuple[str, ...]:
    pids = [note.pid for note in store.notes_of(Scope((collection,)))]
    chosen = pids[:: max(1, len(pids) // _LOOKED_AT)]
    return _common([stored.chunk.text for stored in store.first_chunks(chosen).values()])


def _common(texts: Sequence[str]) -> tuple[str, ...]:
    told = [code for text in texts if (code := languages.language(text[:_CHARACTERS]))]
    counts = Counter(told).most_common()
    return tuple(code for code, count in counts if count >= _SHARE * len(told))
