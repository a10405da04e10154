"""Rows of claims → a Markdown table or JSON lines, and back."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from urllib.parse import quote, unquote

from qmd_py import admission
from qmd_py.visible import one_line

COLUMNS = ("claim", "link", "fragment", "limitation", "status")
LONGEST = 100_000
"""Characters of a row that is read."""

_ECHOED = 200  # characters of a row that cannot be read
_CELLS = re.compile(r"(?<!\\)\|")
_LINE_END = re.compile(r"\r\n|\r|\n")
_RULE = re.compile(r":?-+:?")
_MARKS = re.compile(r"[\\\[\]<`]")
"""What could end the text of a link, or put another link into it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim, and the place that is to support it."""

    claim: str
    place: str = ""
    """Title and headings."""
    uri: str = ""
    record_id: str = ""
    proof: str = ""
    """What the revision rested on."""
    revision: str = ""
    fragment: str = ""
    """Words of the section, quoted."""
    limitation: str = ""
    status: str = admission.VERIFY


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a file."""

    line: int
    """1-based."""
    claim: Claim
    readable: bool = True
    """Whether there is more than the beginning of it in `claim`."""


def table(claims: Sequence[Claim]) -> str:
    """The claims as a Markdown table, which `read` reads."""
    cells = [[c.claim, _link(c), c.fragment, c.limitation, c.status] for c in claims]
    lines = [list(COLUMNS), ["---"] * len(COLUMNS), *cells]
    return "".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines
    )


def read(text: str) -> list[Row]:
    """The rows of every claims table in a Markdown text, or of JSON lines where all of it is such.

    Other tables and texts are passed over; rows that cannot be read are not.
    """
    lines = list(enumerate(_LINE_END.split(text), start=1))
    written = [(number, line.strip()) for number, line in lines if line.strip()]
    if written and all(line[0] == "{" and line[-1] == "}" for _, line in written):
        return [row for number, line in written if (row := _from_json(line, number))]
    return list(_from_tables(lines))


def _from_tables(lines: Sequence[tuple[int, str]]) -> Iterator[Row]:
    """Rows under a claims head, and those elsewhere that have the link of one."""
    above = ""  # what stands above in the same table
    for number, line in lines:
        cells = _cells(line)
        if not line.strip(" \t>"):
            above = ""
        elif [cell.casefold() for cell in cells] == list(COLUMNS):
            above = "head"
        elif above == "head" and cells and all(map(_RULE.fullmatch, cells)):
            above = "rule"
        elif above or _is_linked(cells):
            yield _from_cells(cells, line, number)


def _cells(line: str) -> list[str]:
    """The cells of a line, whether or not it is framed, or in a quote."""
    if len(line) > LONGEST:
        return []
    first, *others = _CELLS.split(line.lstrip("> \t").rstrip())
    cells = others if others and not first.strip() else [first, *others]
    cells = cells[:-1] if len(cells) > 1 and not cells[-1].strip() else cells
    return [one_line(cell.replace("\\|", "|")) for cell in cells]


def _is_linked(cells: Sequence[str]) -> bool:
    try:
        return len(cells) == len(COLUMNS) and bool(_linked(cells[1]))
    except ValueError:
        return False


def _from_cells(cells: Sequence[str], line: str, number: int) -> Row:
    try:
        claim, link, fragment, limitation, status = cells
        told = _linked(link)
    except ValueError:
        return Row(number, Claim(one_line(line[:_ECHOED])), readable=False)
    return Row(number, Claim(claim, *told, fragment, limitation, status))


def _from_json(line: str, number: int) -> Row | None:
    """The row in what `qmd cite --json` prints; None where it printed no claim."""
    unreadable = Row(number, Claim(one_line(line[:_ECHOED])), readable=False)
    if len(line) > LONGEST:
        return unreadable
    try:
        told = json.loads(line)["claim"]
        values = [told[field.name] for field in fields(Claim)] if told is not None else []
    except (ValueError, TypeError, KeyError, RecursionError):
        return unreadable
    if not values:
        return None
    if not all(isinstance(value, str) for value in values):
        return unreadable
    return Row(number, Claim(*map(one_line, values)))


def _link(claim: Claim) -> str:
    place = _MARKS.sub(lambda mark: "\\" + mark[0], claim.place)
    proven = f"{quote(claim.proof)} {quote(claim.revision, safe=':/@')}"
    return f'[{place}]({claim.uri} "{quote(claim.record_id)} @ {proven}")'


def _linked(link: str) -> tuple[str, str, str, str, str]:
    """Place, URI, record id, proof and revision from a link.

    Raises:
        ValueError: it is none, or of another form.
    """
    place, _, rest = link[1:-2].rpartition("](")
    uri, _, title = rest.partition(' "')
    record_id, _, proven = title.partition(" @ ")
    proof, _, revision = proven.partition(" ")
    parts = (uri, record_id, proof, revision)
    if not (link.startswith("[") and link.endswith('")') and all(parts)) or " " in uri + revision:
        raise ValueError(link)
    named = tuple(one_line(unquote(part)) for part in parts[1:])
    return (re.sub(r"\\(.)", r"\1", place), uri, named[0], named[1], named[2])
