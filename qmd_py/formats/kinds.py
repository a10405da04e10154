"""Which kind a file is of, what reading it needs, and which kinds are notes."""

import functools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePath
from types import MappingProxyType

from qmd_py import files
from qmd_py.errors import FileUnreadable
from qmd_py.files import Found, Walk


@dataclass(frozen=True, slots=True)
class Kind:
    """How files of some suffixes are read."""

    name: str
    """`markdown`, `mdx`, `org`, `pdf`, `office` or `code`."""
    version: int = 0
    """Raised whenever the text or the sections of such files change; 0 as long as they never did."""
    extra: str = ""
    """The extra of this distribution that reading it needs."""
    needs: tuple[str, ...] = ()
    """Modules of that extra."""
    grammar: tuple[str, str] = ("", "")
    """Module of a programming language's grammar, and the function in it that gives it."""

    @property
    def converted(self) -> bool:
        """Whether it holds no text of its own, so that another process makes Markdown of it."""
        return self.name in {"pdf", "office"}

    @property
    def missing(self) -> str | None:
        """What to install before such files can be read; None when nothing is missing."""
        if all(find_spec(module) for module in self.needs):
            return None
        return f"need the extra '{self.extra}': pip install 'qmd-py[{self.extra}]'"


_MARKDOWN = Kind("markdown")
_PDF = Kind("pdf", 1, "documents", ("pypdfium2",))
_OFFICE = Kind("office", 1, "documents", ("markitdown",))
_CODE: Mapping[str, tuple[str, str]] = {
    "bash": ("tree_sitter_bash", "language"),
    "c": ("tree_sitter_c", "language"),
    "cc": ("tree_sitter_cpp", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "cs": ("tree_sitter_c_sharp", "language"),
    "cxx": ("tree_sitter_cpp", "language"),
    "go": ("tree_sitter_go", "language"),
    "h": ("tree_sitter_cpp", "language"),  # of C too, which C++ nearly contains
    "hh": ("tree_sitter_cpp", "language"),
    "hpp": ("tree_sitter_cpp", "language"),
    "java": ("tree_sitter_java", "language"),
    "cjs": ("tree_sitter_javascript", "language"),
    "js": ("tree_sitter_javascript", "language"),
    "jsx": ("tree_sitter_javascript", "language"),
    "mjs": ("tree_sitter_javascript", "language"),
    "php": ("tree_sitter_php", "language_php"),
    "py": ("tree_sitter_python", "language"),
    "pyi": ("tree_sitter_python", "language"),
    "rb": ("tree_sitter_ruby", "language"),
    "rs": ("tree_sitter_rust", "language"),
    "sh": ("tree_sitter_bash", "language"),
    "cts": ("tree_sitter_typescript", "language_typescript"),
    "mts": ("tree_sitter_typescript", "language_typescript"),
    "ts": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
}
_KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "mdx": Kind("mdx", 1),
        "org": Kind("org", 1),
        "pdf": _PDF,
        **dict.fromkeys(("docx", "epub", "htm", "html", "pptx"), _OFFICE),
        **{
            suffix: Kind("code", 1, "code", ("tree_sitter", grammar[0]), grammar)
            for suffix, grammar in _CODE.items()
        },
    }
)
# code only where a collection's globs ask for it: a folder of notes often lies beside some
_NOTES = (*files.NOTE_GLOBS, *(f"*.{end}" for end, kind in _KINDS.items() if kind.name != "code"))


def kind_of(path: PurePath | str) -> Kind:
    """The kind of a file, by its suffix in any case of letters; what is not known is Markdown."""
    return _KINDS.get(_suffix(path), _MARKDOWN)


def notes_below(
    root: Path, globs: Sequence[str], ignores: Sequence[str], max_bytes: int, walk: Walk
) -> Iterator[Found]:
    """As `files.notes_below`, of all kinds that can be read here.

    Files of a kind whose extra is not installed are counted among what was passed over; what the
    index knows of them from before stays.
    """
    absent: dict[str, Counter[str]] = {}
    missing = functools.cache(lambda kind: kind.missing)
    for found in files.notes_below(root, globs or _NOTES, ignores, max_bytes, walk):
        if lack := missing(kind_of(found.file)):
            absent.setdefault(lack, Counter())[_suffix(found.file)] += 1
            walk.unseen.append(found.file)
        else:
            yield found
    for lack, counts in sorted(absent.items()):
        named = ", ".join(f"{count} .{suffix}" for suffix, count in sorted(counts.items()))
        walk.passed_over.append(f"{named} {lack}")


def made_by(fingerprint: str, path: str) -> str:
    """What decides how a note comes out: the settings' fingerprint, and how its kind is read."""
    kind = kind_of(path)
    return f"{fingerprint} {kind.name} {kind.version}" if kind.version else fingerprint


def require(kind: Kind, file: Path) -> None:
    """Make sure that files of a kind can be read here.

    Raises:
        FileUnreadable: an extra is missing.
    """
    if lack := kind.missing:
        raise FileUnreadable(f"cannot read {file}: {_suffix(file)} files {lack}")


def as_markdown(path: str, text: str) -> str:
    """Text as it is in the note, as Markdown: what is not Markdown stands in a fence."""
    if kind_of(path).name not in {"code", "org"}:
        return text
    ticks = max((len(run) for run in re.findall(r"`{3,}", text)), default=2) + 1
    return f"{'`' * ticks}{_suffix(path)}\n{text}\n{'`' * ticks}\n"


def _suffix(path: PurePath | str) -> str:
    return PurePath(path).suffix[1:].lower()
