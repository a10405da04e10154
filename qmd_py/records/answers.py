"""What a search passes on, from where it may look to what it shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from qmd_py.records.stored import Section
from qmd_py.records.values import Value

if TYPE_CHECKING:
    from qmd_py.records.evidence import Decision
    from qmd_py.records.wordings import Variant


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Candidate(Value):
    """Something a run found: a chunk, or a whole note."""

    id: int
    """Chunk id, or pid in a run over whole notes."""
    pid: int
    score: float
    """Higher is better; comparable only within its run."""


Run: TypeAlias = Sequence[Candidate]
"""One ranked list from one retriever for one query, rank 1 first."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Scope(Value):
    """What may be found at all; applied before any cut."""

    collections: tuple[str, ...] = ()
    """Names, united; empty means all."""
    paths: tuple[str, ...] = ()
    """Globs over collection-relative paths, united; `*` crosses folders. Empty means all."""
    pids: frozenset[int] | None = None
    """The notes that meet all other filters; None means that there are none."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Filters(Value):
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Match(Value):
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Share(Value):
    """What one run had to say of a hit."""

    run: str
    rank: int
    """1-based, among notes."""
    score: float
    """In the run's own scale; higher is better."""
    contribution: float | None
    """Its part of the hit's fused score; None for a run that is a part of another one."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Source(Value):
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Hit(Value):
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Stage(Value):
    """A stage of a pipeline that has run."""

    name: str
    seconds: float = field(compare=False)
    note: str = ""
    """What it did, in words, where that is not plain."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Answer(Value):
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
    variants: "tuple[Variant, ...]" = ()
    """Other wordings that were searched."""
    dropped: "tuple[tuple[Variant, str], ...]" = ()
    """Other wordings that were not, each with the reason."""
    leads: bool = False
    """Whether one note clearly led before anything but words was asked."""
    widened_by: str = ""
    """Who gave the other wordings, or why there are none."""
    decision: "Decision | None" = None
    """What a policy has to say of the hits; None where there is none."""
    broken: tuple[str, ...] = ()
    """Those of `skipped` that tell of something that broke down, not of something that is not here."""
