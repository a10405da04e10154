"""The models of this run, each opened at its first use."""

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from qmd_py import processors
from qmd_py.cli.app import notice
from qmd_py.config import Config
from qmd_py.errors import ModelFailed, ModelMissing, NotPulled, UsageError
from qmd_py.models import Embedder, Expander, Models, Reranker
from qmd_py.search.asking import PASSAGE_TOKENS

if TYPE_CHECKING:
    from qmd_py.catalogue import Catalogue, ModelSpec, Role, Server
    from qmd_py.remote.server import Client

STAGES: Mapping[str, str] = {"embed": "dense", "expand": "expand", "rerank": "rerank"}
"""Role of a model → the stage that needs it."""

DEVICES: Mapping[str, bool | None] = {"auto": None, "cpu": False, "metal": True, "cuda": True}


class Loader:
    """Finds the models that the settings, or the options of a command, choose."""

    def __init__(self, settings: Config, *, device: str = "auto", keeping: bool = True) -> None:
        """Take note of the settings.

        Args:
            settings: which models are chosen.
            device: where to compute.
            keeping: whether a model may keep on disk what it has read.
        """
        self._config = settings
        self._keeping = keeping
        self._gpu = uses_gpu(device)
        self._threads = processors.threads()
        self._missing: list[str] = []
        self._absent: list[str] = []
        # OpenMP reads this when a model's library is loaded. Its threads otherwise spin while they
        # wait for each other, and on a busy machine each spins away the time the other needs: 2 to 18
        # times slower was seen, and on a quiet one next to nothing is lost.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")

    @property
    def missing(self) -> tuple[str, ...]:
        """For each model that cannot be used, the stage that is left out and why."""
        return tuple(self._missing)

    def models(
        self,
        *,
        expander: str | None,
        reranker: str | None,
        passage_tokens: int = PASSAGE_TOKENS,
    ) -> Models:
        """Everything a search can use on this machine; what cannot be used is named in `missing`.

        Args:
            expander: name or path; `none` for none; None for the chosen one.
            reranker: the same.
            passage_tokens: longest passage the reranker reads.
        """
        return Models(
            self.embedder(questions_only=True),
            self._expander(expander),
            self._reranker(reranker, passage_tokens),
            self.missing,
            tuple(self._absent),
        )

    def embedder(self, *, questions_only: bool = False) -> Embedder | None:
        """The embedder that was chosen; the built-in one unless set otherwise.

        Args:
            questions_only: whether it is for searching, not for indexing.
        """
        found = self._file("embed", self._config.settings.embed)
        if found is None:
            return None
        spec, file = found
        if client := self._client(spec):
            from qmd_py.remote.embedder import RemoteEmbedder

            return RemoteEmbedder(
                *client, query_prefix=spec.query_prefix, passage_prefix=spec.passage_prefix
            )
        if file is None:
            return self._built_in(1 if questions_only else self._threads)
        from qmd_py import gguf

        try:
            from qmd_py.llama.embedder import LlamaEmbedder
            from qmd_py.llama.opening import Pooling

            return LlamaEmbedder(
                file,
                fingerprint=gguf.fingerprint(file),
                threads=self._threads,
                gpu=self._gpu,
                questions_only=questions_only,
                pooling=Pooling[spec.pooling.upper()] if spec.pooling else Pooling.AS_IN_FILE,
                query_prefix=spec.query_prefix,
                passage_prefix=spec.passage_prefix,
            )
        except ModelFailed as error:
            self._missing.append(f"dense: {error}")
            return None

    def _built_in(self, threads: int) -> Embedder | None:
        try:
            from qmd_py.embedded import BuiltIn

            return BuiltIn(threads)
        except (ImportError, OSError) as error:
            self._missing.append(f"dense: no built-in embedder on this machine ({error})")
            return None

    def _expander(self, choice: str | None) -> Expander | None:
        found = self._file("expand", self._config.settings.expand, choice)
        if found is None:
            return None
        spec, file = found
        if client := self._client(spec):
            from qmd_py.remote.expander import RemoteExpander

            return RemoteExpander(*client, spec.prompt)
        if file is None:
            return None
        from qmd_py import gguf
        from qmd_py.llama.expander import LlamaExpander

        return LlamaExpander(
            file,
            fingerprint=gguf.fingerprint(file),
            prompt=spec.prompt or "chat",
            threads=self._threads,
            gpu=self._gpu,
            prefix_folder=self._config.cache.parent if self._keeping else None,
        )

    def _reranker(self, choice: str | None, passage_tokens: int) -> Reranker | None:
        found = self._file("rerank", self._config.settings.rerank, choice)
        if found is None:
            return None
        spec, file = found
        if client := self._client(spec):
            from qmd_py.remote.reranker import RemoteReranker

            return RemoteReranker(*client)
        if file is None:
            return None
        from qmd_py import gguf
        from qmd_py.llama.reranker import LlamaReranker

        return LlamaReranker(
            file,
            fingerprint=gguf.fingerprint(file),
            threads=self._threads,
            gpu=self._gpu,
            passage_tokens=passage_tokens,
        )

    def _file(
        self, role: "Role", setting: str | None, option: str | None = None
    ) -> "tuple[ModelSpec, Path | None] | None":
        """The chosen model and its file (None for the built-in); None when it cannot be used."""
        try:
            return self._found(role, option or setting)
        except ModelMissing as error:
            why = f"{STAGES[role]}: {error}"
            self._missing.append(why)
            if isinstance(error, NotPulled) and role != "embed" and not option:
                self._absent.append(why)
            return None

    def _found(self, role: "Role", choice: str | None) -> "tuple[ModelSpec, Path | None] | None":
        from qmd_py import catalogue

        spec = self._catalogue.choose(role, choice)
        if spec is None:
            return None
        if isinstance(spec.source, catalogue.Server):
            _key(spec)
        file = catalogue.file_of(spec, self._config.models_dir)
        if file is not None and not file.is_file():
            local = isinstance(spec.source, catalogue.Local)
            raise (ModelMissing if local else NotPulled)(catalogue.absent(spec))
        return spec, file

    def _client(self, spec: "ModelSpec") -> "tuple[Server, Client] | None":
        """The server of a model and what asks it; None for a model on this machine."""
        from qmd_py.catalogue import Server

        if not isinstance(spec.source, Server):
            return None
        from qmd_py.remote.server import Client

        name = f"{spec.role}.{spec.name}"
        return spec.source, Client(name, spec.source, _key(spec), notice)

    @cached_property
    def _catalogue(self) -> "Catalogue":
        from qmd_py import catalogue

        return catalogue.load(self._config.catalogues)


def _key(spec: "ModelSpec") -> str | None:
    """The key of a model's server, from the variable that the list of models names.

    Raises:
        ModelMissing: it is not set, or can be no key.
    """
    variable = getattr(spec.source, "key_env", None)
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ModelMissing(f"{spec.name} wants a key: set {variable}")
    if not (key.isascii() and key.isprintable()):
        raise ModelMissing(f"{variable} holds what can be no key: set it anew")
    return key


def uses_gpu(device: str) -> bool | None:
    """Whether to use the GPU; None for where there is one.

    Raises:
        UsageError: there is no such device.
    """
    if device not in DEVICES:
        raise UsageError(f"no device '{device}': there are {', '.join(DEVICES)}")
    return DEVICES[device]
