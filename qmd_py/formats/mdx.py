"""MDX: Markdown with JavaScript between its paragraphs."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from qmd_py import markdown
from qmd_py.markdown import Document, Lines

_MODULE = re.compile(r"(?:import|export)(?=[\s{*\"'])")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def parse(text: str, stem: str) -> Document:
    """Parse as Markdown that has no lines of `import` and `export`; those at the head are its front matter."""
    lines = Lines.of(text)
    masked = list(lines.lines)
    for at in _module_lines(masked):
        masked[at] = ""
    document = markdown.parse("\n".join(masked), stem)
    body = document.body
    while body < len(masked) and not masked[body].strip():
        body += 1
    return replace(document, lines=lines, front=replace(document.front, lines=body))


def _module_lines(lines: Sequence[str]) -> Iterator[int]:
    """Lines of JavaScript: from `import` or `export` after a blank line to the next blank one."""
    fence, inside = "", False
    for at, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence:
            closes = mark and mark[1].startswith(fence) and not line.strip(" `~")
            fence = "" if closes else fence
            continue
        if mark:
            fence, inside = mark[1], False
            continue
        after_blank = not at or not lines[at - 1].strip() or lines[at - 1] == "---"
        inside = bool(line.strip()) and (inside or (after_blank and bool(_MODULE.match(line))))
        if inside:
            yield at
