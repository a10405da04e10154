"""Which kind a file is of, what reading it needs, and which kinds are notes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePath
from types import MappingProxyType

from qmd_py.errors import FileUnreadable
from qmd_py.formats.suffixes import CODE, OFFICE, suffix_of


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
KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "mdx": Kind("mdx", 1),
        "org": Kind("org", 1),
        "pdf": _PDF,
        **dict.fromkeys(OFFICE, _OFFICE),
        **{
            suffix: Kind("code", 1, "code", ("tree_sitter", grammar[0]), grammar)
            for suffix, grammar in CODE.items()
        },
    }
)


def kind_of(path: PurePath | str) -> Kind:
    """The kind of a file, by its suffix in any case of letters; what is not known is Markdown."""
    return KINDS.get(suffix_of(path), _MARKDOWN)


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
        raise FileUnreadable(f"cannot read {file}: {suffix_of(file)} files {lack}")


def as_markdown(path: str, text: str) -> str:
    """Text as it is in the note, as Markdown: what is not Markdown stands in a fence."""
    if kind_of(path).name not in {"code", "org"}:
        return text
    ticks = max((len(run) for run in re.findall(r"`{3,}", text)), default=2) + 1
    return f"{'`' * ticks}{suffix_of(path)}\n{text}\n{'`' * ticks}\n"
