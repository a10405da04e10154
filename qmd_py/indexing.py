"""Folders of notes → the index."""

import contextlib
import datetime
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from qmd_py import chunking, entries, moments, passages, processors, terms
from qmd_py.config import Settings
from qmd_py.entries import Result, Source
from qmd_py.errors import FileUnreadable
from qmd_py.files import Found, Walk
from qmd_py.formats import kinds, walking
from qmd_py.records.notes import Collection
from qmd_py.records.stored import FileState
from qmd_py.relinking import Relinking
from qmd_py.reports import IndexReport
from qmd_py.store import health, references
from qmd_py.store.rows import Rows
from qmd_py.store.writer import KnownFile, Writer

Progress = Callable[[int, int], None]
"""Called with the number of notes done and of all that have to be read."""

_BATCH = 200  # notes a transaction: about a second of work to lose, few enough commits to be fast
_MANY = 300  # notes to read for which it pays to start processes


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a run has to do to a collection."""

    read: list[tuple[Found, KnownFile | None]]
    gone: list[KnownFile]
    unchanged: int

    @property
    def known(self) -> list[int]:
        """The notes of the index that are concerned."""
        return [note.pid for note in (*(old for _, old in self.read if old), *self.gone)]


def update(
    store: Writer,
    collection: Collection,
    settings: Settings,
    *,
    prune: bool = False,
    progress: Progress = lambda _done, _all: None,
) -> IndexReport:
    """Bring the index of one collection up to date with its folder.

    Every note that cannot be read is named in the report and the rest goes on. A folder that has
    vanished, or has no notes any more, deletes nothing unless `prune` is set.
    """
    walk = Walk()
    root = Path(collection.root)
    if not root.is_dir() and not prune:
        return IndexReport(collection.name, problems=(_vanished(collection, "is gone"),))
    made_by = fingerprint(settings)
    before = _identity(root)
    found = list(_walk(collection, settings, walk)) if before else []
    if _identity(root) != before:  # an unmounted disk leaves another, empty folder
        problem = _vanished(collection, "went away while it was looked through")
        return IndexReport(collection.name, problems=(problem,))
    plan = _plan(found, store.known_files(collection), made_by, walk)
    if not found and plan.gone and not prune:
        return IndexReport(collection.name, problems=(_vanished(collection, "has no notes"),))
    remember(store, settings)
    report = _carry_out(store, collection, plan, settings, progress)
    return replace(
        report,
        unchanged=report.unchanged + plan.unchanged,
        passed_over=tuple(walk.passed_over),
        problems=(*walk.problems, *report.problems),
    )


def changes(store: Writer, collection: Collection, settings: Settings) -> frozenset[str]:
    """What a run would have to look at, named so that the same change has the same name.

    Empty where the folder is as the index knows it, or has vanished; only times and sizes are read.
    """
    walk = Walk()
    root = Path(collection.root)
    found = list(_walk(collection, settings, walk)) if root.is_dir() else []
    if not found:
        return frozenset()
    plan = _plan(found, store.known_files(collection), fingerprint(settings), walk)
    read = (f"{one.file} {one.mtime_ns} {one.size}" for one, _ in plan.read)
    return frozenset([*read, *(f"{known.file} is gone" for known in plan.gone)])


def fingerprint(settings: Settings) -> str:
    """What decides how a note's chunks and terms come out."""
    versions = f"terms {terms.VERSION} chunks {chunking.VERSION} passages {passages.VERSION}"
    return f"{versions} {references.MADE_WITH} {settings.make}"


def settings_changed(store: Writer, settings: Settings) -> bool:
    """Whether the index was made with other settings than these."""
    made_with = (store.languages, store.chunk_chars)
    return bool(store.languages) and made_with != (settings.languages, settings.chunk_chars)


def needs_making_anew(store: Writer, settings: Settings) -> bool:
    """Whether the index or a note in it, as of a run that was killed, was made with other settings."""
    return settings_changed(store, settings) or health.of_other_makes(store, settings.make) > 0


def remember(store: Writer, settings: Settings) -> None:
    """Note in the index what it is made with; a search goes by that."""
    with store.batch():
        store.set_meta("languages", _json_list(settings.languages))
        store.set_meta("chunk_chars", str(settings.chunk_chars))


def _carry_out(
    store: Writer, collection: Collection, plan: _Plan, settings: Settings, progress: Progress
) -> IndexReport:
    report = IndexReport(collection.name)
    work = _Work(store, collection, plan.gone, fingerprint(settings))
    relinking = Relinking(store, collection)
    if plan.read or plan.gone:
        relinking.expect(plan.known)
    sources = [work.source(found, known) for found, known in plan.read]
    # this one is kept busy by writing
    processes = processors.threads() - 1 if len(sources) >= _MANY else 0
    with contextlib.closing(entries.results(sources, settings, processes)) as results:
        for at, batch in _batches(plan.read):
            with store.batch():
                for (found, known), result in zip(batch, results, strict=False):
                    report = _counted(report, *work.do(found, known, result))
            progress(at + len(batch), len(plan.read))
    gone = [known for known in plan.gone if known.pid not in work.moved]
    with store.batch():
        for known in gone:
            store.delete_note(known.pid)
    relinking.finish(work.put)
    return replace(report, removed=len(gone))


class _Work:
    """Indexing of single files; knows which notes have lost their file and may have moved."""

    def __init__(
        self, store: Writer, collection: Collection, lost: Iterable[KnownFile], made_by: str
    ) -> None:
        self._store = store
        self._collection = collection
        self._lost: dict[str, list[KnownFile]] = {}
        for known in lost:
            self._lost.setdefault(known.state.digest, []).append(known)
        self._made_by = made_by
        self.moved: set[int] = set()
        self.put: set[int] = set()

    def source(self, found: Found, known: KnownFile | None) -> Source:
        """What there is to read of a file."""
        root = Path(self._collection.root)
        path = unicodedata.normalize("NFC", found.file)
        made_by = kinds.made_by(self._made_by, found.file)
        same = known is not None and known.made_by == made_by
        return Source(root, found.file, path, known.state.digest if known and same else None)

    def do(self, found: Found, known: KnownFile | None, result: Result) -> tuple[str, str | None]:
        """Index one file; gives what happened to it and the problem with it, if any."""
        if isinstance(result, FileUnreadable):
            return "unread", str(result)
        state = FileState(found.mtime_ns, found.size, result.digest)
        if result.made is None:
            if known:
                self._store.touch_note(known.pid, state)
            return "unchanged", None
        made = result.made
        lost = None if known else self._lost_as(found, state.digest)
        if lost:
            self._store.move_note(lost.pid, found.file, made.path, state)
            self.moved.add(lost.pid)
        pid = lost.pid if lost else self._store.pid_for(self._collection, found.file)
        self.put.add(pid)
        self._put(pid, made, state, kinds.made_by(self._made_by, found.file))
        what = "moved" if lost else "changed" if known else "new"
        problem = f"{Path(self._collection.root, found.file)}: {made.problem}"
        return what, problem if made.problem else None

    def _lost_as(self, found: Found, digest: str) -> KnownFile | None:
        """The lost file with these bytes, taken once; of equal ones that of the same name."""
        equal = self._lost.get(digest, [])
        name = found.file.rpartition("/")[2]
        lost = max(equal, key=lambda one: one.file.rpartition("/")[2] == name, default=None)
        if lost:
            equal.remove(lost)
        return lost

    def _put(self, pid: int, made: Rows, state: FileState, made_by: str) -> None:
        self._store.put_note(
            pid,
            self._collection,
            made,
            state,
            indexed_at=_now(),
            made_by=made_by,
        )


def _identity(folder: Path) -> tuple[int, int] | None:
    """What tells a folder from another one at the same path; None when there is none."""
    try:
        state = folder.stat()
    except OSError:
        return None
    return (state.st_dev, state.st_ino) if folder.is_dir() else None


def _walk(collection: Collection, settings: Settings, walk: Walk) -> Iterator[Found]:
    return walking.notes_below(
        Path(collection.root), collection.globs, collection.ignores, settings.max_bytes, walk
    )


def _plan(found: Sequence[Found], known: Iterable[KnownFile], made_by: str, walk: Walk) -> _Plan:
    """Compare the folder with the index by time and size; what differs has to be read."""
    by_file = {note.file: note for note in known}
    read: list[tuple[Found, KnownFile | None]] = []
    for file in found:
        note = by_file.pop(file.file, None)
        if note is None or not _untouched(file, note, made_by):
            read.append((file, note))
    gone = [note for note in by_file.values() if not note.file.startswith(tuple(walk.unseen))]
    return _Plan(read, gone, len(found) - len(read))


def _untouched(found: Found, known: KnownFile, made_by: str) -> bool:
    times = (known.state.mtime_ns, known.state.size)
    made_by = kinds.made_by(made_by, found.file)
    return times == (found.mtime_ns, found.size) and known.made_by == made_by


def _counted(report: IndexReport, what: str, problem: str | None) -> IndexReport:
    problems = (*report.problems, problem) if problem else report.problems
    if what == "unread":
        return replace(report, problems=problems)
    return replace(report, problems=problems, **{what: getattr(report, what) + 1})


def _batches(
    read: Sequence[tuple[Found, KnownFile | None]],
) -> Iterator[tuple[int, Sequence[tuple[Found, KnownFile | None]]]]:
    for at in range(0, len(read), _BATCH):
        yield at, read[at : at + _BATCH]


def _vanished(collection: Collection, what: str) -> str:
    return (
        f"{collection.root} {what}; its {collection.notes} notes stay in the index: "
        "bring it back, or drop them with --prune"
    )


def _json_list(values: Sequence[str]) -> str:
    import json

    return json.dumps(list(values))


def _now() -> str:
    return moments.rfc3339(datetime.datetime.now(datetime.UTC).replace(microsecond=0))
