"""`qmd doctor`: is all well, and what to do where it is not."""

from typing import Annotated

import typer

from qmd_py.cli.app import IndexOption, Status, configured, emit, show
from qmd_py.cli.loading import Loader


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    index: IndexOption = None,
) -> None:
    """Look at everything qmd depends on, and say what to do where something is wrong.

    qmd doctor

    qmd doctor --json

    Versions, permissions, the index and its terms, vectors (three are made again and compared),
    model files with their checksums, the reranker by a pair that none can miss, and the cache.
    Status 0 only when nothing is wrong.
    """
    from qmd_py import catalogue, checking
    from qmd_py.render import examined

    config = configured(index)
    loader = Loader(config)
    settings = config.settings
    choices: dict[catalogue.Role, str | None] = {
        "embed": settings.embed,
        "expand": settings.expand,
        "rerank": settings.rerank,
    }
    rows = catalogue.listed(catalogue.load(config.catalogues), choices, config.models_dir)
    findings = checking.examine(config, rows, loader.embedder(), loader.missing)
    if as_json:
        emit(examined.as_json(findings))
    else:
        show(examined.lines(findings))
    if not checking.all_well(findings):
        raise typer.Exit(Status.ERROR)
