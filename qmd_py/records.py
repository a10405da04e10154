"""The frozen values that travel between stages."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

MetadataValue: TypeAlias = (
    "str | int | float | bool | list[MetadataValue] | dict[str, MetadataValue] | None"
)
Metadata: TypeAlias = Mapping[str, MetadataValue]


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
class Section:
    """A heading, or the text before the first one, and where it stands."""

    title: str
    level: int
    """From 1 up, 6 in Markdown; 0 is the text before the first heading."""
    path: tuple[str, ...]
    """Headings from the outermost to its own, unique in the note."""
    anchor: str
    """Unique slug; empty where the text before the first heading has no heading of its own."""
    line: int
    """1-based line of the heading (of the first text line at level 0)."""
    last_line: int
    """1-based last line of the section and its subsections, inclusive."""


def breadcrumb(title: str, toc_path: Sequence[str]) -> str:
    """`Title > Heading > Subheading`; the title alone for the text before the first heading."""
    opening = len(toc_path) == 1 and toc_path[0].removesuffix(" (0)") == title
    return " > ".join((title,) if opening else (title, *toc_path))


@dataclass(frozen=True, slots=True)
class Chunk:
    """The span that is indexed and scored as a unit; lies inside one section."""

    section: int | None
    """Position of its section in the note's toc; None in a note without headings."""
    first_line: int
    last_line: int
    """1-based, inclusive."""
    text: str
    """Markdown source of the span, without embedded images."""


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
class FileState:
    """What tells that a file is still the one that was indexed."""

    mtime_ns: int
    """When it was last changed, as `changed_ns` tells."""
    size: int
    digest: str
    """SHA-256 of the bytes, hexadecimal; empty when the bytes were not read."""

    @staticmethod
    def changed_ns(state: os.stat_result) -> int:
        """When a file was written, or last replaced or touched, if that was later.

        Tools that copy and synchronise set the time of writing back, also over new bytes of the
        same number.
        """
        return max(state.st_mtime_ns, state.st_ctime_ns)


@dataclass(frozen=True, slots=True)
class StoredNote:
    """The row the index keeps of a note."""

    pid: int
    collection: str
    root: str
    path: str
    file: str
    """The path as the file system spells it (it may not be in NFC)."""
    title: str
    aliases: tuple[str, ...]
    metadata: Metadata
    state: FileState
    indexed_at: str
    """RFC 3339, UTC."""


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk with its place in the index."""

    id: int
    pid: int
    chunk: Chunk


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something a run found: a chunk, or a whole note."""

    id: int
    """Chunk id, or pid in a run over whole notes."""
    pid: int
    score: float
    """Higher is better; comparable only within its run."""


Run: TypeAlias = Sequence[Candidate]
"""One ranked list from one retriever for one query, rank 1 first."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Another wording of a question, and which search it is for."""

    kind: str
    """`lex`: words for BM25 alone; `vec`: a paraphrase, `hyde`: an invented answer, both for the
    dense run alone."""
    text: str


@dataclass(frozen=True, slots=True)
class Scope:
    """What may be found at all; applied before any cut."""

    collections: tuple[str, ...] = ()
    """Names, united; empty means all."""
    paths: tuple[str, ...] = ()
    """Globs over collection-relative paths, united; `*` crosses folders. Empty means all."""
    pids: frozenset[int] | None = None
    """The notes that meet all other filters; None means that there are none."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters as they are typed; a note has to meet all of them."""

    collections: tuple[str, ...] = ()
    """Names, united."""
    paths: tuple[str, ...] = ()
    """Notes, folders or globs, united."""
    tags: tuple[str, ...] = ()
    """Each must be on the note, or one below it."""
    where: tuple[str, ...] = ()
    """`KEY=VALUE`, and `>`, `>=`, `<`, `<=` for numbers and dates; each must hold."""
    since: str | None = None
    until: str | None = None
    """Dates; a day, a month and a year are meant whole."""

    @property
    def given(self) -> bool:
        """Whether there is any."""
        return bool(self.collections or self.paths or self.by_note)

    @property
    def by_note(self) -> bool:
        """Whether any concerns what a note says of itself, beyond where it lies."""
        return bool(self.tags or self.where or self.by_date)

    @property
    def by_date(self) -> bool:
        """Whether any is a date."""
        return self.since is not None or self.until is not None


@dataclass(frozen=True, slots=True)
class Match:
    """One place in a note that answers."""

    toc_path: tuple[str, ...]
    """The `path` of the innermost toc entry around it; empty in a note without headings."""
    anchor: str
    breadcrumb: str
    line: int
    last_line: int
    """1-based span of the chunk, inclusive."""
    snippet_line: int
    """1-based line on which the snippet begins."""
    snippet: str
    text: str
    """The chunk's Markdown source."""
    score: float
    """0 to 1, higher is better."""
    evidence: Mapping[str, float]
    """Run name to 1-based rank."""
    section_tokens: int | None = None
    """About what its section costs to read; None where nobody counted, or the file has changed."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one run had to say of a hit."""

    run: str
    rank: int
    """1-based, among notes."""
    score: float
    """In the run's own scale; higher is better."""
    contribution: float | None
    """Its part of the hit's fused score; None for a run that is a part of another one."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a hit comes from and what is known of its validity."""

    record_id: str
    """`collection/pid/anchor`."""
    revision: str | None
    uri: str
    """Of the file, with the anchor as its fragment."""
    published_at: str | None
    indexed_at: str
    expires_at: str | None
    """Times are RFC 3339 in UTC; a date that cannot be read is as it was written, or `unclear`."""
    access: tuple[str, ...]
    """Labels of those who may read it."""
    proof: str | None = None
    """What the revision rests on: `front-matter`, `git`, `content`."""
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """One place that was found, as its file is at the moment of the decision."""

    source: Source
    score: float
    """Higher is better; orders what is admitted, and admits nothing."""
    first_line: int = 0
    last_line: int = 0
    """1-based, inclusive; 0 where no lines are known."""
    labels_known: bool = True
    """Whether the note's labels could be read; if not, it is for nobody."""
    fault: str | None = None
    """Why the place cannot be cited as it was indexed: `stale-index`, `anchor-not-found`."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A record that may not be used, and why."""

    record: Record
    reason: str
    """For the one who owns the notes."""
    told: str
    """What the reader may know of it."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Which records may be used as evidence; a person still has to verify them."""

    status: str
    """`needs-human-verification`, or `stop` where there is no evidence."""
    policy: str
    """The policy's version; empty where there is none."""
    retrieved_at: str
    """The moment it was made for."""
    evidence: tuple[Record, ...] = ()
    """Best first."""
    reasons: tuple[str, ...] = ()
    """What readers may know of why records were refused, each once."""
    refused: tuple[Refusal, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A note the user is shown."""

    pid: int
    collection: str
    path: str
    file: str
    """Absolute path on disk."""
    title: str
    score: float
    toc: tuple[Section, ...]
    matches: tuple[Match, ...]
    source: Source
    stale: str | None = None
    """Why the file on disk is no longer what was indexed, in words."""
    body: str | None = None
    """The whole note, where it was asked for."""
    shares: tuple[Share, ...] = ()
    """How each run led to its place."""
    note_tokens: int | None = None
    """About what the whole note costs to read, likewise."""
    contexts: tuple[str, ...] = ()
    """What its collection and the folders around it are about, the outermost first."""
    links: tuple[int, int] | None = None
    """How many notes it links to, and how many link to it; None under a policy."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of a pipeline that has run."""

    name: str
    seconds: float = field(compare=False)
    note: str = ""
    """What it did, in words, where that is not plain."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a search command prints."""

    query: str
    mode: str
    retrieved_at: str
    skipped: tuple[str, ...]
    """Stages that did not run, each with the reason."""
    hits: tuple[Hit, ...]
    terms: frozenset[str] = field(default_factory=frozenset)
    """Index terms of the question, for marking words in snippets."""
    respelled: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Words the index does not contain, with the index terms looked for in their place."""
    cut: int = 0
    """Notes left out for their low score."""
    gone: tuple[str, ...] = ()
    """`collection/path` of notes left out because their files are there no more."""
    stages: tuple[Stage, ...] = ()
    variants: tuple[Variant, ...] = ()
    """Other wordings that were searched."""
    dropped: tuple[tuple[Variant, str], ...] = ()
    """Other wordings that were not, each with the reason."""
    leads: bool = False
    """Whether one note clearly led before anything but words was asked."""
    widened_by: str = ""
    """Who gave the other wordings, or why there are none."""
    decision: Decision | None = None
    """What a policy has to say of the hits; None where there is none."""
    broken: tuple[str, ...] = ()
    """Those of `skipped` that tell of something that broke down, not of something that is not here."""


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
