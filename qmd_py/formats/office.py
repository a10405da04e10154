"""DOCX, PPTX, EPUB and HTML → Markdown, through markitdown."""

import codecs
import io
import json
import re

from markitdown import DocumentConverter, StreamInfo
from markitdown.converters import DocxConverter, EpubConverter, HtmlConverter, PptxConverter

# named one by one: choosing by content would let a file be read as something it does not claim to be
_CONVERTERS: dict[str, type[DocumentConverter]] = {
    ".docx": DocxConverter,
    ".epub": EpubConverter,
    ".htm": HtmlConverter,
    ".html": HtmlConverter,
    ".pptx": PptxConverter,
}
_SLIDE = re.compile(r"^<!-- Slide number: (\d+) -->\n+(?P<titled># \S)?", re.MULTILINE)


def to_markdown(content: bytes, suffix: str) -> str:
    """Markdown with the document's headings, under its title if it names one."""
    # without a word on it, UTF-8 is tried, and then what the page says of itself
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    info = StreamInfo(extension=suffix, charset="utf-16" if wide else None)
    result = _CONVERTERS[suffix]().convert(io.BytesIO(content), info)
    text = result.markdown.strip()
    if suffix == ".pptx":
        text = _SLIDE.sub(_slide, text)
    title = " ".join((result.title or "").split())
    if title:
        return f"---\ntitle: {json.dumps(title)}\n---\n\n{text}\n"
    # a rule in the first line would begin front matter
    return f"\n{text}\n" if text.startswith("---") else f"{text}\n"


def _slide(mark: re.Match[str]) -> str:
    """A slide's own title is its heading; a slide without one gets its number."""
    return mark["titled"] or f"# Slide {mark[1]}\n\n"
