"""What indexing reads from files, and what a reader is given of them."""

from dataclasses import dataclass

from qmd_py.records.stored import Chunk, Metadata, Section


@dataclass(frozen=True, slots=True)
class Collection:
    """A named folder of notes indexed together."""

    id: int
    name: str
    root: str
    """Absolute path of the folder."""
    globs: tuple[str, ...]
    """Which files are notes; empty means every kind of note that can be read."""
    ignores: tuple[str, ...]
    """Patterns in `.gitignore` syntax, relative to the root."""
    notes: int = 0
    """How many notes the index holds of it."""


@dataclass(frozen=True, slots=True)
class Link:
    """A reference to another note, as it is written."""

    target: str
    """What it calls the note: a path, a part of one, a title or an alias."""
    anchor: str
    """The heading it points to; empty for the whole note."""
    wiki: bool
    """Whether it is written `[[…]]`; else a path counts from the folder of its own note."""
    line: int
    """1-based."""


@dataclass(frozen=True, slots=True)
class Note:
    """One Markdown file as the index sees it."""

    path: str
    """Relative to the collection's root, `/`-separated, in NFC."""
    title: str
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    description: str
    metadata: Metadata
    toc: tuple[Section, ...]
    chunks: tuple[Chunk, ...]
    problem: str | None = None
    """What was wrong with the file and was passed over, in words."""
    remark: str | None = None
    """What whoever wrote it may not have meant; told by `qmd status`, and no fault of a run."""
    links: tuple[Link, ...] = ()
    inline_tags: tuple[str, ...] = ()
    """Tags in its text, beside those of its front matter."""


@dataclass(frozen=True, slots=True)
class SectionText:
    """A section, or a whole note, as it stands in the file now."""

    pid: int
    collection: str
    path: str
    title: str
    toc_path: tuple[str, ...]
    anchor: str
    line: int
    last_line: int
    text: str
    section_tokens: int
    note_tokens: int
    """Estimates; a token is about four Latin or two other characters."""
