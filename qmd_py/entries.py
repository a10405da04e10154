"""A note's text → what the index keeps of it: the note, its chunks, their terms and passages."""

from pathlib import Path

from qmd_py import chunking, files, markdown, passages
from qmd_py.records import Chunk, Note
from qmd_py.store.writer import Terms
from qmd_py.terms import Analyzer


def note_of(path: str, text: files.Text, chunk_chars: int) -> Note:
    """Parse a note and cut it into chunks; `path` is relative to its collection."""
    document = markdown.parse(text.text, Path(path).stem)
    front = document.front
    return Note(
        path=path,
        title=document.title,
        aliases=front.aliases,
        tags=front.tags,
        description=front.description,
        metadata=front.metadata,
        toc=tuple(spot.section for spot in document.spots),
        chunks=chunking.chunks(document, chunk_chars),
        problem=text.problem or front.problem,
    )


def note_terms(note: Note, analyzer: Analyzer) -> Terms:
    """The terms of a whole note."""
    headings = "\n".join(section.title for section in note.toc)
    body = "\n".join([note.description, *(chunk.text for chunk in note.chunks)])
    return _terms(note, headings, body, analyzer)


def chunk_terms(note: Note, chunk: Chunk, analyzer: Analyzer) -> Terms:
    """The terms of a chunk: its own, and those of the headings and the title above it."""
    opening = chunk is note.chunks[0]
    body = f"{note.description}\n{chunk.text}" if opening else chunk.text
    return _terms(note, "\n".join(_path(note, chunk)), body, analyzer)


def note_passages(note: Note) -> list[str]:
    """What a model reads of each chunk, in order."""
    return [
        passages.passage(note.title, note.aliases, _path(note, chunk), chunk.text)
        for chunk in note.chunks
    ]


def _path(note: Note, chunk: Chunk) -> tuple[str, ...]:
    return note.toc[chunk.section].path if chunk.section is not None else ()


def _terms(note: Note, headings: str, body: str, analyzer: Analyzer) -> Terms:
    aliases = "\n".join([*note.aliases, *note.tags])
    return Terms(
        title=" ".join(analyzer.words(note.title)),
        aliases=" ".join(analyzer.words(aliases)),
        headings=" ".join(analyzer.words(headings)),
        body=" ".join(analyzer.words(body)),
        side=" ".join(analyzer.side("\n".join([note.title, aliases, headings, body]))),
    )
