"""Where to search."""

from collections.abc import Sequence

from qmd_py.errors import NotFound
from qmd_py.store.reader import Reader


def check_collections(store: Reader, names: Sequence[str]) -> None:
    """Make sure that all named collections exist.

    Raises:
        NotFound: one does not; the nearest name is told.
    """
    if not names:  # counting the notes of all takes a while in a large index
        return
    known = [collection.name for collection in store.collections()]
    for name in names:
        if name not in known:
            from qmd_py import spelling

            near = spelling.suggestion(name, known)
            raise NotFound(f"no collection '{name}'{near}: see 'qmd collection list'")
