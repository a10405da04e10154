"""`qmd watch`: the index stays fresh while files change."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from qmd_py.cli.app import IndexOption, configured, emit, notice
from qmd_py.cli.loading import Loader
from qmd_py.cli.options import Collections, NoEmbed
from qmd_py.config import Config
from qmd_py.errors import IndexUnusable, ModelFailed, QmdError
from qmd_py.models import Embedder
from qmd_py.records.notes import Collection
from qmd_py.render import people
from qmd_py.reports import IndexReport
from qmd_py.search.scoping import check_collections
from qmd_py.store.reader import Reader

if TYPE_CHECKING:
    from qmd_py.store.writer import Writer

_TICK = 1.0  # seconds; how soon a new collection or a folder that came back is seen
_QUIET = 0.2  # seconds without a change end a burst of them, as of a checkout
_LONGEST = 2.0  # seconds after which a burst is indexed even while it goes on
_EMBEDDING = 10.0  # seconds of embedding at a time, so that words are not long behind


def watch(
    collections: Collections = None, no_embed: NoEmbed = False, index: IndexOption = None
) -> None:
    """Keep the index up to date while notes change, until Ctrl-C; says only what it did.

    qmd watch

    qmd watch -c notes --no-embed
    """
    try:
        import watchfiles  # noqa: F401 — tells early that it is missing
    except ImportError as error:
        raise QmdError("watchfiles is not installed: pip install 'qmd-py[watch]'") from error
    config = configured(index)
    with Reader.open(config.index) as store:
        check_collections(store, collections or ())
    if sys.stderr.isatty():
        notice("watching until Ctrl-C")
    _Watch(config, frozenset(collections or ()), embed=not no_embed).run()


class _Watch:
    """Waits for changes, and indexes the collections they belong to."""

    def __init__(self, config: Config, names: Set[str], *, embed: bool) -> None:
        self._config = config
        self._names = names
        self._embed = embed
        self._pending = embed
        self._told: set[str] = set()

    def run(self) -> None:
        """Watch for ever.

        Raises:
            IndexMissing: the index is gone.
            QmdError: the system cannot watch that many folders.
        """
        known: Sequence[Collection] = ()
        while True:
            known = self._collections(known)
            # before the folders are looked at, and once more when they are
            self._update({found.name for found in known})
            waiting = {found.name for found in known}
            places = _places(known)
            for changed in self._bursts(places):
                waiting |= {found.name for found in known if _touches(changed, found)}
                if waiting or self._pending:
                    waiting = self._update(waiting)
                latest = self._collections(known)
                if latest != known or _places(latest) != places:
                    break

    def _bursts(self, places: Sequence[tuple[str, int]]) -> Iterator[Set[str]]:
        """The paths that changed, by bursts; ends after a while where they cannot be told."""
        try:
            yield from _changes(places, self._ours)
        except RuntimeError as error:  # watchfiles' own, of a name that is not UTF-8
            self._tell(f"cannot tell what changed ({error}): all folders are looked through now")
            time.sleep(_TICK)

    def _collections(self, before: Sequence[Collection]) -> Sequence[Collection]:
        """The collections to watch; as before while the index cannot be read."""
        try:
            with Reader.open(self._config.index) as store:
                found = store.collections()
        except IndexUnusable as error:
            self._tell(str(error))
            return before
        wanted = [one for one in found if not self._names or one.name in self._names]
        return [replace(one, notes=0) for one in wanted]

    def _update(self, names: set[str]) -> set[str]:
        """Index collections; gives those that have to be tried again."""
        from qmd_py import indexing
        from qmd_py.store.writer import Writer

        try:
            with Reader.open(self._config.index):
                pass  # opening one for writing would make it anew
            with Writer.open(self._config.index) as store:
                anew = indexing.settings_changed(store, self._config.settings)
                for found in store.collections():
                    if anew or found.name in names:
                        self._report(indexing.update(store, found, self._config.settings))
                if self._embed:
                    self._pending = self._embedded(store)
        except IndexUnusable as error:
            self._tell(str(error))
            return names
        return set()

    def _report(self, report: IndexReport) -> None:
        if report.new or report.changed or report.moved or report.removed:
            emit(people.report_line(report) + "\n")
        for problem in report.problems:
            self._tell(problem)

    def _embedded(self, store: "Writer") -> bool:
        """Embed for a while; whether something is left to embed."""
        from qmd_py import embedding

        if self._embedder is None or not embedding.waiting(store, self._embedder):
            return False
        try:
            report = embedding.embed(store, self._embedder, seconds=_EMBEDDING)
        except ModelFailed as error:
            self._tell(str(error))
            return False
        return bool(report.pending)

    @cached_property
    def _embedder(self) -> Embedder | None:
        return Loader(self._config).embedder()

    def _ours(self, path: str) -> bool:
        """Whether a path is the index's own, or of a file beside it that belongs to it."""
        return path.startswith(str(self._config.index.resolve()))

    def _tell(self, problem: str) -> None:
        """Say what is wrong, each thing once."""
        if problem not in self._told:
            self._told.add(problem)
            notice(problem)


def _changes(places: Sequence[tuple[str, int]], ours: Callable[[str], bool]) -> Iterator[Set[str]]:
    """The paths that changed, by bursts; none every while, and once before anything is missed."""
    from watchfiles import watch as watched

    roots = [root for root, _ in places]
    if not roots:
        time.sleep(_TICK)
        yield set()
        return

    try:
        for burst in watched(
            *roots,
            watch_filter=None,  # what it filters out would put off the while without changes
            debounce=int(_LONGEST * 1000),
            step=int(_QUIET * 1000),
            rust_timeout=int(_TICK * 1000),
            yield_on_timeout=True,
            ignore_permission_denied=True,
        ):
            yield {path for _, path in burst if _visible(path, roots) and not ours(path)}
    except FileNotFoundError:  # a folder vanished just now
        time.sleep(_TICK)
    except OSError as error:
        raise QmdError(f"cannot watch {', '.join(roots)}: {error}") from error


def _visible(path: str, roots: Sequence[str]) -> bool:
    """Whether nothing below the innermost root around a path is hidden."""
    root = max((one for one in roots if path.startswith(one)), key=len, default="")
    return not any(part.startswith(".") for part in Path(path.removeprefix(root)).parts)


def _places(collections: Sequence[Collection]) -> list[tuple[str, int]]:
    """The folders that are there, each with what tells that it is another one of that name."""
    found = []
    for root in sorted({one.root for one in collections}):
        try:
            state = Path(root).stat()
        except OSError:  # it is gone, and may come back
            continue
        found.append((root, state.st_ino))
    return found


def _touches(changed: Set[str], collection: Collection) -> bool:
    root = collection.root.rstrip("/")
    return any(path == root or path.startswith(root + "/") for path in changed)
