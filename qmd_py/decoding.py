"""The bytes of a file → its text."""

from pathlib import Path

from qmd_py.errors import NotText

_BOMS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)


def decoded(content: bytes, file: Path) -> tuple[str, str | None]:
    """The text, by its byte order mark or as UTF-8, and in words what was not as it should be.

    Raises:
        NotText: it is binary.
    """
    for bom, encoding in _BOMS:
        if content.startswith(bom):
            return _decoded(content, encoding)
    try:
        return content.decode(), None
    except UnicodeDecodeError:
        if b"\0" in content:
            raise NotText(f"{file} is a binary file, not a note") from None
        return _decoded(content, "utf-8")


def _decoded(content: bytes, encoding: str) -> tuple[str, str | None]:
    try:
        return content.decode(encoding).removeprefix("\ufeff"), None
    except UnicodeDecodeError as error:
        text = content.decode(encoding, errors="replace").removeprefix("\ufeff")
        return text, f"not valid {encoding.upper()} at byte {error.start}"
