"""`--refresh`: the index brought up to date before a search."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qmd_py.cli.app import bar, notice
from qmd_py.cli.loading import Loader
from qmd_py.config import Config
from qmd_py.errors import Busy
from qmd_py.search.scoping import check_collections
from qmd_py.store.reader import Reader

if TYPE_CHECKING:
    from qmd_py.store.writer import Writer

_EMBEDDING = 10.0  # seconds; a question is waiting, and 'qmd embed' does the rest


def refresh(config: Config, names: Sequence[str], *, embed: bool) -> None:
    """Index the collections named, or all; what was done goes to stderr.

    Args:
        config: where the index is.
        names: collections; none means all.
        embed: whether to embed what is new, as far as that is soon done.

    Raises:
        IndexMissing: there is no index.
    """
    from qmd_py import indexing
    from qmd_py.render import people
    from qmd_py.store.writer import Writer

    if not config.index.is_file():
        Reader.open(config.index)
    with Writer.open(config.index) as store:
        check_collections(store, names)
        anew = indexing.needs_making_anew(store, config.settings)
        for found in store.collections():
            if names and found.name not in names and not anew:
                continue
            with bar(found.name) as progress:
                report = indexing.update(store, found, config.settings, progress=progress)
            if report.new or report.changed or report.moved or report.removed:
                notice(people.report_line(report))
            for problem in report.problems:
                notice(problem)
        if embed:
            _embed(store, config)


def _embed(store: "Writer", config: Config) -> None:
    from qmd_py import embedding

    embedder = Loader(config).embedder()
    if embedder is None or not embedding.waiting(store, embedder):
        return
    try:
        with bar("embedding") as progress:
            embedding.embed(store, embedder, seconds=_EMBEDDING, progress=progress)
    except Busy as error:
        notice(str(error))
