"""Documents made by hand: PDF, DOCX, PPTX, EPUB."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

Outline = Sequence[tuple[str, int, int]]
"""Title, level from 1 up, 0-based page of each bookmark, in order."""


def pdf(pages: Sequence[Sequence[str]], outline: Outline = (), title: str = "") -> bytes:
    """A PDF of some lines a page in Helvetica, so in Latin letters, and its bookmarks."""
    objects: dict[int, bytes] = {}
    first_page, first_mark = 5, 5 + 2 * len(pages)
    kids = " ".join(f"{first_page + 2 * at} 0 R" for at in range(len(pages)))
    objects[1] = f"<< /Type /Catalog /Pages 2 0 R{' /Outlines 3 0 R' * bool(outline)} >>".encode()
    objects[2] = f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode()
    objects[3] = _outline(-1, first_mark, outline)
    objects[4] = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    for at, lines in enumerate(pages):
        number = first_page + 2 * at
        objects[number] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {number + 1} 0 R "
            "/Resources << /Font << /F1 4 0 R >> >> >>"
        ).encode()
        objects[number + 1] = _stream(_text(lines))
    for at, (name, _, page) in enumerate(outline):
        about = f"/Title ({_escaped(name)}) /Dest [{first_page + 2 * page} 0 R /Fit] ".encode()
        links = _outline(at, first_mark, outline).removeprefix(b"<< ")
        objects[first_mark + at] = b"<< " + about + links
    info = first_mark + len(outline)
    objects[info] = f"<< /Title ({_escaped(title)}) >>".encode() if title else b"<< >>"
    return _file(objects, info)


def _outline(at: int, first: int, outline: Outline) -> bytes:
    """The links of a bookmark (-1: of the root) to its neighbours and those inside it."""
    level = outline[at][1] if at >= 0 else 0
    inner = [
        number
        for number in range(at + 1, len(outline))
        if outline[number][1] == level + 1
        and all(outline[between][1] > level for between in range(at + 1, number))
    ]
    parts = [f"/First {first + inner[0]} 0 R /Last {first + inner[-1]} 0 R"] if inner else []
    if at >= 0:
        parent = next((up for up in range(at - 1, -1, -1) if outline[up][1] < level), None)
        parts.append(f"/Parent {3 if parent is None else first + parent} 0 R")
        after = next((n for n in range(at + 1, len(outline)) if outline[n][1] <= level), None)
        if after is not None and outline[after][1] == level:
            parts.append(f"/Next {first + after} 0 R")
    return f"<< {' '.join(parts)} >>".encode()


def _text(lines: Sequence[str]) -> bytes:
    shown = "".join(f"({_escaped(line)}) Tj T*\n" for line in lines)
    return f"BT /F1 12 Tf 14 TL 72 770 Td\n{shown}ET".encode("latin-1")


def _stream(content: bytes) -> bytes:
    return b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content)


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def _file(objects: Mapping[int, bytes], info: int) -> bytes:
    out = bytearray(b"%PDF-1.7\n")
    places = []
    for number in sorted(objects):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, objects[number])
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\n" % (len(objects) + 1, info)
    out += b"startxref\n%d\n%%%%EOF\n" % table
    return bytes(out)


def packed(members: Mapping[str, str | bytes]) -> bytes:
    """A zip file of some members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def docx(paragraphs: Sequence[tuple[int, str]], relations: str = "", body: str = "") -> bytes:
    """A DOCX of (heading level, 0 for text; text).

    Args:
        paragraphs: its content.
        relations: further relations of its document, as XML.
        body: further content, as XML.
    """
    texts = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{f"Heading{level}" if level else "Normal"}"/></w:pPr>'
        f"<w:r><w:t>{text}</w:t></w:r></w:p>"
        for level, text in paragraphs
    )
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="Heading{level}">'
        f'<w:name w:val="heading {level}"/></w:style>'
        for level in range(1, 7)
    )
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    return packed(
        {
            "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
            '<Default Extension="xml" ContentType="application/xml"/>'
            '<Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/word/document.xml" ContentType="{kind}"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" '
            f'Type="{_OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>',
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
            f'<Relationship Id="s1" Type="{_OFFICE}/styles" Target="styles.xml"/>{relations}'
            "</Relationships>",
            "word/styles.xml": f'<w:styles xmlns:w="{_WORD}">{styles}</w:styles>',
            "word/document.xml": f'<w:document xmlns:w="{_WORD}" xmlns:r="{_OFFICE}"><w:body>'
            f"{texts}{body}</w:body></w:document>",
        }
    )


def pptx(slides: Sequence[tuple[str, str]]) -> bytes:
    """A PPTX of slides with title and text."""
    from pptx import Presentation

    show = Presentation()
    for title, text in slides:
        slide = show.slides.add_slide(show.slide_layouts[1])
        if slide.shapes.title is not None:
            slide.shapes.title.text = title
        slide.placeholders[1].text = text
    out = io.BytesIO()
    show.save(out)
    return out.getvalue()


def epub(title: str, chapters: Sequence[str]) -> bytes:
    """An EPUB of chapters in XHTML."""
    names = [f"chapter{number}.xhtml" for number in range(len(chapters))]
    items = "".join(
        f'<item id="c{at}" href="{name}" media-type="application/xhtml+xml"/>'
        for at, name in enumerate(names)
    )
    spine = "".join(f'<itemref idref="c{at}"/>' for at in range(len(names)))
    return packed(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container version="1.0" '
            'xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="book.opf" media-type="application/oebps-package+xml"/>'
            "</rootfiles></container>",
            "book.opf": '<package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
            f'<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title>'
            f"</metadata><manifest>{items}</manifest><spine>{spine}</spine></package>",
            **{
                name: f"<html><body>{text}</body></html>"
                for name, text in zip(names, chapters, strict=True)
            },
        }
    )


HANDBOOK = [
    [
        "Kiln Handbook",
        "For the pottery on Mill Lane. Keep a copy beside the controller.",
    ],
    [
        "Loading",
        "Dry the ware for a week before the first firing. Damp clay bursts.",
        "Leave two fingers of air between shelves and walls.",
        "Cones",
        "A cone measures heatwork, not temperature. Set cone 6 where you",
        "can see it through the lower peephole.",
    ],
    [
        "Firing schedules",
        "Bisque: 60 degrees an hour up to 600, then 120 up to 1000.",
        "Candling",
        "Hold the kiln at 95 degrees overnight so that steam can leave the",
        "walls of thick pots slowly.",
        "# 3 of the old schedule is no longer used.",
    ],
]
BOOKMARKS = [
    ("Loading", 1, 1),
    ("Cones", 2, 1),
    ("Firing schedules", 1, 2),
    ("Candling", 2, 2),
]

if __name__ == "__main__":
    Path(__file__).with_name("documents").joinpath("Kiln Handbook.pdf").write_bytes(
        pdf(HANDBOOK, BOOKMARKS, "Kiln Handbook")
    )
