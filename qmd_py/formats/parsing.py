"""The text of a note of any kind → its title, sections and blocks."""

from pathlib import PurePath

from qmd_py import markdown
from qmd_py.formats.kinds import kind_of
from qmd_py.markdown import Document


def parse(text: str, path: str) -> Document:
    """Parse a note's text as the kind that its path says.

    Lines are counted in that text: that of the file, or, of a document, the Markdown made of it.
    """
    file = PurePath(path)
    kind = kind_of(file)
    match kind.name:
        case "mdx":
            from qmd_py.formats import mdx

            return mdx.parse(text, file.stem)
        case "org":
            from qmd_py.formats import org

            return org.parse(text, file.stem)
        case "code" if kind.missing is None:
            from qmd_py.formats import code

            return code.parse(text, file.name, kind.grammar)
        case _:
            return markdown.parse(text, file.stem)
