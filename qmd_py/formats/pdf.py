"""PDF → Markdown: its bookmarks become headings, or else its pages do."""

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pypdfium2 import PdfBookmark, PdfDocument, PdfiumError

_MOST_BOOKMARKS = 10_000
_MOST_PAGES = 50_000  # a damaged file may claim any number
_DEEPEST = 6  # levels of Markdown's headings
_TITLE_LINES = 3  # a long heading is set in several lines
# what would begin a block in Markdown that swallows or makes headings, and is plain text here
_MARK = re.compile(r"\s*(?=#|`{3}|~{3}|<|=+\s*$|-+\s*$)")
_SOFT_HYPHEN = re.compile(r"[\ufffe\x02\xad]\n?")
# what programs write when nobody gave a title
_NO_TITLE = re.compile(
    r"untitled.*|microsoft \w+ - .*|.*\.(?:docx?|dvi|indd|odt|pdf|pptx?|qxd|rtf|tex|xlsx?)",
    re.IGNORECASE,
)
_LETTERS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Bookmark:
    """An entry of a PDF's outline."""

    title: str
    level: int
    """1 to 6."""
    page: int
    """0-based."""


def to_markdown(content: bytes, limit: int) -> str:
    """The text of all pages under headings, with title and author as front matter.

    Nothing where no page has text. It is given up on once it is longer than `limit` characters.
    """
    document = PdfDocument(content)
    pages: list[list[str]] = []
    size = 0
    for number in range(min(len(document), _MOST_PAGES)):
        pages.append(_lines(_text(document, number)))
        size += sum(map(len, pages[-1]))
        if size > limit:
            break
    if not size:
        return ""
    lines = headed(pages, list(_bookmarks(document)))
    return "\n".join([*_front(document), *lines]) + "\n"


def _text(document: PdfDocument, number: int) -> str:
    """The text of a page; none where the page is damaged, since the others can be read."""
    try:
        page = document[number]
        text = str(page.get_textpage().get_text_range())
        page.close()
    except PdfiumError:
        return ""
    return text


def headed(pages: Sequence[Sequence[str]], bookmarks: Sequence[Bookmark]) -> Iterator[str]:
    """The lines of the pages with a heading for each bookmark.

    It stands in place of the lines that hold its title, or at the head of its page where none do.
    Without bookmarks each of several pages that have text gets a heading.
    """
    written = [number for number, lines in enumerate(pages) if any(lines)]
    if not bookmarks and len(written) > 1:
        bookmarks = [Bookmark(f"Page {number + 1}", 1, number) for number in written]
    by_page = {page: list(found) for page, found in itertools.groupby(bookmarks, lambda b: b.page)}
    for number, lines in enumerate(pages):
        if number in by_page or any(lines):
            yield from _page(lines, by_page.get(number, []))


def _page(lines: Sequence[str], bookmarks: Sequence[Bookmark]) -> Iterator[str]:
    done = 0
    for bookmark in bookmarks:
        start, stop = _place(lines, bookmark.title, done) or (done, done)
        yield from map(_literal, lines[done:start])
        yield from ("", f"{'#' * bookmark.level} {_escaped(bookmark.title)}", "")
        done = stop
    yield from map(_literal, lines[done:])
    yield ""


def _place(lines: Sequence[str], title: str, first: int) -> tuple[int, int] | None:
    """The lines, from one on, that hold a title and nothing else."""
    wanted = _letters(title)
    for start in range(first, len(lines)):
        for stop in range(start + 1, min(start + _TITLE_LINES, len(lines)) + 1):
            text = _letters("".join(lines[start:stop]))
            if text and text == wanted:
                return start, stop
            if not wanted.startswith(text):
                break
    return None


def _bookmarks(document: PdfDocument) -> Iterator[Bookmark]:
    """The outline in the order of pages; entries that lead nowhere are left out."""
    found = map(_bookmark, itertools.islice(document.get_toc(), _MOST_BOOKMARKS))
    yield from sorted((b for b in found if b), key=lambda bookmark: bookmark.page)


def _bookmark(raw: PdfBookmark) -> Bookmark | None:
    title = " ".join(raw.get_title().replace("\0", " ").split())
    target = raw.get_dest()
    page = target.get_index() if target else None
    if not title or page is None or page < 0:
        return None
    return Bookmark(title, min(raw.level + 1, _DEEPEST), page)


def _lines(text: str) -> list[str]:
    joined = _SOFT_HYPHEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return [line.rstrip() for line in joined.split("\n")]


def _literal(line: str) -> str:
    """A line that Markdown takes for text."""
    line = line.strip()
    return f"\\{line}" if _MARK.match(line) else line


def _escaped(title: str) -> str:
    return re.sub(r"([\\`*_\[\]<>#])", r"\\\1", title)


def _letters(text: str) -> str:
    return _LETTERS.sub("", text).casefold()


def _front(document: PdfDocument) -> list[str]:
    about = document.get_metadata_dict()
    given = {
        key: " ".join(about.get(name, "").replace("\0", " ").split())
        for key, name in (("title", "Title"), ("author", "Author"))
    }
    if _NO_TITLE.fullmatch(given["title"]):
        given["title"] = ""
    shown = [f"{key}: {json.dumps(value)}" for key, value in given.items() if value]
    return ["---", *shown, "---", ""] if shown else []
