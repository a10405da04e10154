"""A note's file → what the index keeps of it: the note, its chunks, their terms and passages."""

import contextlib
import functools
import itertools
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from qmd_py import chunking, files, passages
from qmd_py.config import Settings
from qmd_py.errors import FileUnreadable, IndexUnusable
from qmd_py.formats import parsing, reading
from qmd_py.lexicon import Indexed, Lexicon
from qmd_py.markdown import references
from qmd_py.records.notes import Note
from qmd_py.records.stored import Chunk
from qmd_py.store.rows import Rows, Terms, rows_of

if TYPE_CHECKING:
    from concurrent.futures import Future

_BATCH = 16  # files at a time for one process: enough that handing them over costs nothing
_AHEAD = 12  # batches in memory for a process, so that it is not idle while this one writes


@dataclass(frozen=True, slots=True)
class Source:
    """A file that is to be read."""

    root: Path
    """The folder of its collection."""
    file: str
    """Relative to it, as the file system spells it."""
    path: str
    """The same in NFC."""
    known: str | None = None
    """The digest at which the index has all there is to know."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What came of reading a file."""

    digest: str
    made: Rows | None
    """None where the index has it already."""


Result = Entry | FileUnreadable


def results(
    sources: Sequence[Source], settings: Settings, processes: int
) -> Generator[Result, None, None]:
    """Read files, and make of them what the index keeps; in order, a few ahead of the caller.

    Args:
        sources: the files.
        settings: how to cut notes into chunks and terms.
        processes: that work at the same time; 0 for this one alone.

    Raises:
        IndexUnusable: one of the processes was killed.
    """
    if not processes:
        for source in sources:
            yield _result(source, settings)
        return
    batches = (sources[at : at + _BATCH] for at in range(0, len(sources), _BATCH))
    waiting: deque[tuple[Sequence[Source], Future[list[Result]]]] = deque()
    with _pool(processes) as submit:
        while True:
            for batch in itertools.islice(batches, _AHEAD * processes - len(waiting)):
                waiting.append((batch, submit(batch, settings)))
            if not waiting:
                return
            # while none is ready, this process reads what no other has begun
            ready = waiting[0][1].done()
            idle = () if ready else (at for at, (_, one) in enumerate(waiting) if one.cancel())
            if (at := next(iter(idle), None)) is not None:
                waiting[at] = (waiting[at][0], _here(waiting[at][0], settings))
            else:
                yield from waiting.popleft()[1].result()


def _here(sources: Sequence[Source], settings: Settings) -> "Future[list[Result]]":
    from concurrent.futures import Future

    done: Future[list[Result]] = Future()
    done.set_result(_results(sources, settings))
    return done


class _Submit:
    """Hands files to a pool of processes."""

    def __init__(self, processes: int) -> None:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        # spawned, not forked: threads of ours may hold locks, and then a fork would wait for ever
        with _safe_path():
            self.pool = ProcessPoolExecutor(processes, get_context("spawn"), _end_with_parent)

    def __call__(self, sources: Sequence[Source], settings: Settings) -> "Future[list[Result]]":
        import signal

        # a process inherits what is blocked: Ctrl-C is for this one to answer
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            with _safe_path():
                return self.pool.submit(_results, sources, settings)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _safe_path() -> Iterator[None]:
    """Let a process that starts now import nothing from the working folder, which may be one of notes.

    Its variables are the one thing that the standard library lets it be told by.
    """
    import os

    name = "PYTHONSAFEPATH"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before


@contextlib.contextmanager
def _pool(processes: int) -> Iterator[_Submit]:
    from concurrent.futures.process import BrokenProcessPool

    submit = _Submit(processes)
    try:
        yield submit
    except BrokenProcessPool as error:
        raise IndexUnusable(
            "a process that reads notes was killed: free some memory and run 'qmd index' again"
        ) from error
    finally:
        submit.pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """End this process when the one it works for is gone, however it went."""
    import os
    from multiprocessing import parent_process
    from threading import Thread

    parent = parent_process()
    if parent:

        def watch() -> None:
            parent.join()
            os._exit(1)

        Thread(target=watch, daemon=True).start()


def _results(sources: Sequence[Source], settings: Settings) -> list[Result]:
    return [_result(source, settings) for source in sources]


def _result(source: Source, settings: Settings) -> Result:
    try:
        text = reading.read(source.root, source.file, settings.max_bytes)
    except FileUnreadable as error:
        return error
    if text.digest == source.known:
        return Entry(text.digest, None)
    note = note_of(source.path, text, settings.chunk_chars)
    terms, chunk_terms = note_terms(note, _lexicon(settings.languages))
    keys = tuple(map(passages.key, note_passages(note)))
    return Entry(text.digest, rows_of(note, terms, chunk_terms, keys))


@functools.cache
def _lexicon(languages: tuple[str, ...]) -> Lexicon:
    """One for all notes, for what it remembers of words."""
    return Lexicon(languages)


def note_of(path: str, text: files.Text, chunk_chars: int) -> Note:
    """Parse a note and cut it into chunks; `path` is relative to its collection."""
    document = parsing.parse(text.text, path)
    front = document.front
    found = references.references(document)
    return Note(
        path=path,
        title=document.title,
        aliases=front.aliases,
        tags=front.tags,
        description=front.description,
        metadata=front.metadata,
        toc=tuple(spot.section for spot in document.spots),
        chunks=chunking.chunks(document, chunk_chars),
        problem=text.problem or document.problem,
        remark=document.remark,
        links=found.links,
        inline_tags=found.tags,
    )


def note_passages(note: Note) -> list[str]:
    """What a model reads of each chunk, in order."""
    return [
        passages.passage(note.title, note.aliases, _path(note, chunk), chunk.text)
        for chunk in note.chunks
    ]


def note_terms(note: Note, lexicon: Lexicon) -> tuple[Terms, tuple[Terms, ...]]:
    """The terms of a whole note, and of each chunk: its own, its headings' and the title's.

    A note holds its chunks, so each text is read once for both.
    """
    title = lexicon.indexed(note.title)
    aliases = lexicon.indexed("\n".join([*note.aliases, *note.tags]))
    above = lexicon.indexed(note.description)
    bodies = [lexicon.indexed(chunk.text) for chunk in note.chunks]
    headings = lexicon.indexed("\n".join(section.title for section in note.toc))
    # the description stands above the first chunk
    chunk_bodies = [[above, bodies[0]], *([body] for body in bodies[1:])]
    return _terms(title, aliases, headings, [above, *bodies]), tuple(
        _terms(title, aliases, lexicon.indexed("\n".join(_path(note, chunk))), body)
        for chunk, body in zip(note.chunks, chunk_bodies, strict=True)
    )


def _path(note: Note, chunk: Chunk) -> tuple[str, ...]:
    return note.toc[chunk.section].path if chunk.section is not None else ()


def _terms(title: Indexed, aliases: Indexed, headings: Indexed, bodies: Sequence[Indexed]) -> Terms:
    every = (title, aliases, headings, *bodies)
    side = itertools.chain(*(text.compounds for text in every), *(text.shortened for text in every))
    return Terms(
        title=title.words,
        aliases=aliases.words,
        headings=headings.words,
        body=" ".join(body.words for body in bodies if body.words),
        side=" ".join(dict.fromkeys(side)),
    )
