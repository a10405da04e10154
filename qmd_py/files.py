"""Folders → the files that are notes; files → their text."""

import hashlib
import os
import stat
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from qmd_py import contained, decoding
from qmd_py.errors import FileUnreadable, UsageError
from qmd_py.records.stored import FileState

NOTE_GLOBS = ("*.md", "*.markdown", "*.mdx", "*.txt", "*.org")
_ALWAYS_IGNORED = ("node_modules/",)
_LARGEST_IGNORE_FILE = 1_000_000  # bytes; every file of the folder is held against every line


@dataclass(frozen=True, slots=True)
class Found:
    """A file that is a note."""

    file: str
    """Relative to the root, `/`-separated, as the file system spells it."""
    mtime_ns: int
    """When it was last changed, in any way."""
    size: int


@dataclass(slots=True)
class Walk:
    """What a walk over a folder found, besides the notes it yields."""

    passed_over: list[str] = field(default_factory=list)
    """No notes and no faults: links, and what is too large."""
    problems: list[str] = field(default_factory=list)
    """What could not be looked at."""
    unseen: list[str] = field(default_factory=list)
    """Folders (with a trailing slash) and files of which nothing is known, since they could not be read."""


@dataclass(frozen=True, slots=True)
class Text:
    """A file's text and what identifies its bytes."""

    text: str
    digest: str
    """SHA-256 of the bytes, hexadecimal."""
    problem: str | None
    """What was not as it should be, in words."""


def notes_below(
    root: Path, globs: Sequence[str], ignores: Sequence[str], max_bytes: int, walk: Walk
) -> Iterator[Found]:
    """Every note below a folder, folder by folder in the order of names; symbolic links are not followed.

    Hidden files and folders, `node_modules` and what `.gitignore` files (also those above the
    root, up to the repository's top) or `ignores` name are left out.

    Args:
        root: the folder.
        globs: which files are notes; empty means Markdown and plain text, in any case of letters.
        ignores: further patterns in `.gitignore` syntax.
        max_bytes: larger files are passed over.
        walk: takes what was passed over and what went wrong.
    """
    wanted = _Wanted(globs or NOTE_GLOBS)
    rules = [*_rules_above(root, walk), _Rules(root, [*_ALWAYS_IGNORED, *ignores])]
    yield from _below(_Place(root, "", rules), wanted, max_bytes, walk)


def check_patterns(patterns: Sequence[str]) -> None:
    """Make sure that all patterns can be understood.

    Raises:
        UsageError: one cannot.
    """
    from qmd_py import ignoring

    for pattern in patterns:
        if not ignoring.is_pattern(pattern):
            raise UsageError(f"'{pattern}' is no pattern: write it as in a .gitignore file")


def read(root: Path, name: str, max_bytes: int) -> Text:
    """The text of a note: UTF-8, or what its byte order mark says.

    Args:
        root: the folder of its collection, outside of which nothing is read.
        name: relative to it, `/`-separated.
        max_bytes: larger files are not read.

    Raises:
        FileUnreadable: it cannot be opened, leads outside, is no regular file, or is too large.
        NotText: it is binary.
    """
    return text_of(contained.content(root, name, max_bytes), Path(root, name))


def text_of(content: bytes, file: Path) -> Text:
    """The text that the bytes of a file stand for.

    Raises:
        NotText: they are no text.
    """
    text, problem = decoding.decoded(content, file)
    return Text(text, hashlib.sha256(content).hexdigest(), problem)


class _Wanted:
    """The globs of a collection; case of letters does not count."""

    def __init__(self, globs: Sequence[str]) -> None:
        from qmd_py import ignoring  # a third of what it takes to import a search with JSON

        self._patterns = ignoring.patterns_of([glob.lower() for glob in globs])
        # `*.md` is about files: in a folder called `x.md` other files are none
        self._by_name = all("/" not in glob and "*" in glob for glob in globs)

    def holds(self, folder: str, name: str) -> bool:
        return self._patterns.match_file((name if self._by_name else folder + name).lower())


class _Rules:
    """The patterns of one ignore file, and the folder they are relative to."""

    def __init__(self, base: Path, patterns: Sequence[str]) -> None:
        self._base = str(base).rstrip(os.sep) + os.sep
        from qmd_py import ignoring

        self._rules = ignoring.patterns_of(list(filter(ignoring.is_pattern, patterns)))

    def verdict(self, path: str, *, folder: bool) -> bool | None:
        """True to ignore, False to keep after all, None when no pattern speaks of it."""
        relative = path.removeprefix(self._base).replace(os.sep, "/")
        return self._rules.check_file(relative + "/" * folder).include


@dataclass(frozen=True, slots=True)
class _Place:
    folder: Path
    prefix: str
    """Its path relative to the root, with a trailing slash; empty for the root."""
    rules: list[_Rules]

    def ignores(self, path: str, *, folder: bool) -> bool:
        """The innermost ignore file that speaks of a path decides."""
        for rules in reversed(self.rules):
            verdict = rules.verdict(path, folder=folder)
            if verdict is not None:
                return verdict
        return False


def _below(place: _Place, wanted: _Wanted, max_bytes: int, walk: Walk) -> Iterator[Found]:
    folders = deque([place])
    while folders:
        here = folders.popleft()
        try:
            entries = sorted(os.scandir(here.folder), key=lambda entry: entry.name)
        except OSError as error:
            walk.problems.append(f"cannot read {here.folder}: {error.strerror}")
            walk.unseen.append(here.prefix)
            continue
        rules = here.rules + _own_rules(here.folder, entries, walk)
        here = _Place(here.folder, here.prefix, rules)
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.extend(_inner(entry, here, walk))
            elif wanted.holds(here.prefix, entry.name):
                yield from _note(entry, here, max_bytes, walk)


def _inner(entry: os.DirEntry[str], here: _Place, walk: Walk) -> Iterator[_Place]:
    if here.ignores(entry.path, folder=True):
        return
    prefix = f"{here.prefix}{entry.name}/"
    if _is_text(entry, walk):
        yield _Place(Path(entry.path), prefix, here.rules)
    else:
        walk.unseen.append(prefix)


def _note(entry: os.DirEntry[str], here: _Place, max_bytes: int, walk: Walk) -> Iterator[Found]:
    if here.ignores(entry.path, folder=False) or not _is_text(entry, walk):
        return
    try:
        state = entry.stat(follow_symlinks=False)
    except FileNotFoundError:  # deleted since its folder was listed, or the folder went away
        walk.unseen += [] if here.folder.is_dir() else [here.prefix]
        return
    except OSError as error:
        walk.problems.append(f"cannot read {entry.path}: {error.strerror}")
        walk.unseen.append(here.prefix + entry.name)
        return
    if entry.is_symlink():
        walk.passed_over.append(f"{entry.path} is a symbolic link")
    elif not stat.S_ISREG(state.st_mode):
        walk.passed_over.append(f"{entry.path} is not a regular file")
    elif state.st_size > max_bytes:
        walk.passed_over.append(f"{entry.path} is larger than {max_bytes} bytes (max_bytes)")
    else:
        yield Found(here.prefix + entry.name, FileState.changed_ns(state), state.st_size)


def _is_text(entry: os.DirEntry[str], walk: Walk) -> bool:
    """Whether a name is text, as the index wants it; told where it is not."""
    try:
        entry.name.encode()
    except UnicodeEncodeError:
        walk.problems.append(f"the name of {os.fsencode(entry.path)!r} is not UTF-8")
        return False
    return True


def _own_rules(folder: Path, entries: Sequence[os.DirEntry[str]], walk: Walk) -> list[_Rules]:
    """The rules of the folder's own `.gitignore`."""
    own = [entry for entry in entries if entry.name == ".gitignore"]
    if not any(entry.is_file(follow_symlinks=False) for entry in own):
        return []
    return [_Rules(folder, _patterns(folder, walk))]


def _rules_above(root: Path, walk: Walk) -> list[_Rules]:
    """The rules of the repository that the folder lies in, outermost first."""
    found: list[_Rules] = []
    for folder in root.parents if not (root / ".git").exists() else ():
        if (folder / ".gitignore").is_file():
            found.insert(0, _rules_inside(root, folder, _patterns(folder, walk)))
        if (folder / ".git").exists():
            return found
    return []  # no repository around it, so those files are not about it


def _rules_inside(root: Path, folder: Path, patterns: Sequence[str]) -> _Rules:
    """The rules but those that ignore the root itself: whoever names a folder wants its notes."""
    about = [p for p in patterns if not _Rules(folder, [p]).verdict(str(root), folder=True)]
    return _Rules(folder, about)


def _patterns(folder: Path, walk: Walk) -> list[str]:
    try:
        content = contained.content(folder, ".gitignore", _LARGEST_IGNORE_FILE)
    except FileUnreadable as error:
        walk.problems.append(str(error))
        return []
    return content.decode("utf-8-sig", "replace").splitlines()
