"""`qmd cite`: citations that can be opened again, and the claims that rest on them."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qmd_py.cli import completing
from qmd_py.cli.admitting import Admission
from qmd_py.cli.app import IndexOption, Status, configured, emit, show
from qmd_py.cli.options import AsOf, Json, Policy
from qmd_py.config import Config
from qmd_py.errors import UsageError
from qmd_py.store.reader import Reader
from qmd_py.terms import Analyzer

if TYPE_CHECKING:
    from qmd_py.gate import Gate


def cite(
    note: Annotated[
        str | None,
        typer.Argument(
            metavar="PID|PATH",
            show_default=False,
            help="A pid, or a path.",
            autocompletion=completing.notes,
        ),
    ] = None,
    path: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="HEADING…",
            show_default=False,
            help="The toc_path of the section.",
            autocompletion=completing.headings,
        ),
    ] = None,
    claim: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What the section is to support.")
    ] = None,
    quote: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Its words to quote; the paragraph nearest to the claim unless given.",
        ),
    ] = None,
    limitation: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What the section does not show.")
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Open every row of a claims table again."),
    ] = None,
    as_json: Json = False,
    policy: Policy = None,
    as_of: AsOf = None,
    index: IndexOption = None,
) -> None:
    """Cite a section so that it can be found again in the revision that was read.

    qmd cite 42 "#Worker pool" --claim "A pool bounds concurrency" >> claims.md

    qmd cite --check claims.md

    A citation says where words stand and in which revision. It does not say that they are true, that they
    support the claim, or that nothing speaks against it: a person has to verify that. When they do not
    support it: weaken or split the claim, cite another source, or stop.
    """
    config = configured(index)
    admission = Admission.chosen(config, policy=policy, as_of=as_of)
    with admission.citing() as gate, Reader.open(config.index) as store:
        if check is not None:
            if note or any(option is not None for option in (claim, quote, limitation)):
                raise UsageError("--check FILE goes alone: it reads the claims from the file")
            _check(store, gate, check, config, as_json)
        elif note is None:
            raise UsageError("no note to cite: name a pid or a path, and the headings")
        else:
            told = (claim, quote, limitation)
            _cite(store, gate, (note, path or []), told, config, as_json)


def _cite(
    store: Reader,
    gate: "Gate",
    place: tuple[str, list[str]],
    told: tuple[str | None, str | None, str | None],
    config: Config,
    as_json: bool,
) -> None:
    from qmd_py import claims
    from qmd_py.render import cited

    claim, quote, limitation = told
    if claim is None and (quote is not None or limitation is not None):
        raise UsageError("--quote and --limitation are about a claim: add --claim")
    citation, section = claims.cite(store, gate, *place, config.settings.max_bytes)
    row = None
    if claim is not None:
        analyzer = Analyzer(store.languages)
        limits = limitation or claims.LIMITATION
        row = claims.row(citation, section, claim, quote, limits, analyzer)
    if as_json:
        emit(cited.citation_json(citation, row))
    else:
        show(cited.citation_lines(citation, row, config.settings.editor))


def _check(store: Reader, gate: "Gate", file: Path, config: Config, as_json: bool) -> None:
    """Say of each row whether it still holds.

    Raises:
        Exit: one does not.
        UsageError: there are none.
    """
    from qmd_py import claims, files, ledger
    from qmd_py.render import cited

    real = Path(os.path.realpath(file))
    rows = ledger.read(files.read(real.parent, real.name, config.settings.max_bytes).text)
    if not rows:
        raise UsageError("no row of a claims table in it: 'qmd cite … --claim' prints some")
    checked = list(claims.check(store, gate, rows, config.settings.max_bytes))
    if as_json:
        emit(cited.checked_json(checked))
    else:
        show(cited.checked_lines(checked, str(real), config.settings.editor))
    if any(one.reason for one in checked):
        raise typer.Exit(Status.ERROR)
