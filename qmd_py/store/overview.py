"""The index as a whole: what it holds in numbers, and every note by its label."""

from qmd_py.reports import IndexStatus
from qmd_py.store.reader import Reader


def status(store: Reader) -> IndexStatus:
    """Counts and settings of the index."""
    notes, sections, chunks, last = store.rows(
        """SELECT (SELECT count(*) FROM notes), (SELECT count(*) FROM sections),
        (SELECT count(*) FROM chunks), (SELECT max(indexed_at) FROM notes)"""
    )[0]
    problems = store.rows(
        """SELECT k.name || '/' || n.path || ': ' || n.problem
        FROM notes n JOIN collections k ON k.id = n.collection
        WHERE n.problem IS NOT NULL ORDER BY 1"""
    )
    return IndexStatus(
        file=str(store.file),
        bytes=store.file.stat().st_size,
        languages=store.languages,
        chunk_chars=store.chunk_chars,
        collections=tuple(store.collections()),
        notes=notes,
        sections=sections,
        chunks=chunks,
        problems=tuple(problem for (problem,) in problems),
        last_indexed=last,
    )


def labels(store: Reader, beginning: str, most: int) -> list[tuple[int, str, str]]:
    """pid, `collection/path` and title of the first notes of which pid or a path begins so."""
    return store.rows(
        """SELECT pid, label, title
        FROM (SELECT n.pid, n.path, k.name || '/' || n.path AS label, n.title
        FROM notes n JOIN collections k ON k.id = n.collection)
        WHERE ?1 IN (substr(pid, 1, length(?1)), substr(label, 1, length(?1)),
        substr(path, 1, length(?1))) ORDER BY pid LIMIT ?2""",
        [beginning, most],
    )
