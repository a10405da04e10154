"""What a model is: what for, where from, how to talk to it, and where its file lies."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from qmd_py.errors import NotFound
from qmd_py.records.values import Value

Role = Literal["embed", "expand", "rerank"]
ROLES: tuple[Role, ...] = get_args(Role)
NONE = "none"
"""The choice that leaves a stage out."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BuiltIn(Value):
    """Comes with the installation."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Local(Value):
    """A file of the user's own."""

    path: Path


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Hub(Value):
    """A file in a repository on the model hub."""

    repo: str
    file: str
    revision: str
    """A commit, or the name of a branch."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Package(Value):
    """A file inside a wheel on the Python package index."""

    dist: str
    version: str
    member: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Server(Value):
    """A model that a server runs, at an address that the user wrote."""

    url: str
    """Without a slash at its end."""
    model: str
    """What the server calls it."""
    key_env: str | None = None
    """The variable that holds the key, if the server wants one."""
    seconds: float = 30.0
    """Most time for one answer."""
    batch: int = 16
    """Texts in one request."""
    dimensions: int | None = None
    """Length of an embedder's vectors; None: as it answers."""
    format: str = "rerank"
    """How a reranker is asked: `rerank`, as most are, or `tei`."""
    logits: bool = False
    """Whether a reranker's scores are logits; probabilities else."""


Source: TypeAlias = BuiltIn | Local | Hub | Package | Server


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ModelSpec(Value):
    """A model: what it is for, where it comes from, how to talk to it."""

    role: Role
    name: str
    source: Source
    about: str = ""
    license: str = ""
    size: int | None = None
    """Bytes; None when not known."""
    sha256: str | None = None
    """64 lower-case digits; None when not known."""
    pooling: str | None = None
    """How token vectors become one: mean, cls or last; None: as the file says."""
    query_prefix: str = ""
    passage_prefix: str = ""
    prompt: str = "chat"
    """How an expander is asked: through its chat template, or in the words of `qmd`'s own."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Listed(Value):
    """A model as it stands on this machine."""

    spec: ModelSpec
    file: Path | None
    """Where its file lies or would lie; None for one without a file here."""
    here: bool
    chosen: bool
    """Whether it is the one that this user's searches use."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Catalogue(Value):
    """All models known to this run."""

    models: tuple[ModelSpec, ...]
    defaults: Mapping[Role, str]

    def named(self, name: str) -> ModelSpec:
        """The model of a name.

        Raises:
            NotFound: there is none.
        """
        for spec in self.models:
            if spec.name == name:
                return spec
        from qmd_py import spelling

        near = spelling.suggestion(name, (spec.name for spec in self.models))
        raise NotFound(f"no model '{name}'{near}: see 'qmd models list'")

    def choose(self, role: Role, choice: str | None = None) -> ModelSpec | None:
        """The model for a role: of a name, from a path, or the default; None for `none`.

        Raises:
            NotFound: no model of that name, or it is for another role.
        """
        choice = choice or self.defaults.get(role, NONE)
        if choice == NONE:
            return None
        if is_path(choice):
            return self._like_known(ModelSpec(role, choice, Local(Path(choice).expanduser())))
        spec = self.named(choice)
        if spec.role != role:
            raise NotFound(
                f"model '{choice}' is there to {spec.role}, not to {role}: see 'qmd models list'"
            )
        return spec

    def _like_known(self, spec: ModelSpec) -> ModelSpec:
        """A file that bears a known model's file name is talked to as that model is."""
        assert isinstance(spec.source, Local)
        for known in self.models:
            if known.role == spec.role and _file_name(known.source) == spec.source.path.name:
                return replace(known, name=spec.name, source=spec.source, sha256=None, size=None)
        return spec


def file_of(spec: ModelSpec, folder: Path) -> Path | None:
    """Where a model's file lies, or would when it was pulled; None for one without a file here."""
    match spec.source:
        case BuiltIn() | Server():
            return None
        case Local(path):
            return path
        case Hub(repo, file, revision):
            return folder / f"{repo.replace('/', '--')}@{revision}" / file
        case Package(dist, version, member):
            return folder / f"{dist}=={version}" / member


def listed(catalogue: Catalogue, choices: Mapping[Role, str | None], folder: Path) -> list[Listed]:
    """Every model, by role, as it stands on this machine; files chosen by path included."""
    chosen = {role: catalogue.choose(role, choices.get(role)) for role in ROLES}
    own = [spec for spec in chosen.values() if spec and isinstance(spec.source, Local)]
    specs = [*catalogue.models, *(spec for spec in own if spec not in catalogue.models)]
    rows = []
    for spec in sorted(specs, key=lambda spec: ROLES.index(spec.role)):
        file = file_of(spec, folder)
        rows.append(Listed(spec, file, file is None or file.is_file(), spec == chosen[spec.role]))
    return rows


def absent(spec: ModelSpec) -> str:
    """What to tell of a model whose file is not here, and what to do."""
    if isinstance(spec.source, Local):
        return f"there is no file {spec.source.path}: check the path"
    size = f" ({human_size(spec.size)})" if spec.size else ""
    return f"{spec.name} is not here: run 'qmd models pull {spec.name}'{size}"


def human_size(size: int | None) -> str:
    """Bytes in the units that people use: `639 MB`; empty when not known."""
    if size is None:
        return ""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{max(1, round(size / 1e6))} MB"


def is_path(choice: str) -> bool:
    """Whether a choice is a path to a file, not a name."""
    return "/" in choice or choice.endswith(".gguf") or choice.startswith("~")


def _file_name(source: Source) -> str | None:
    match source:
        case Hub(file=path) | Package(member=path):
            return path.rpartition("/")[2]
        case _:
            return None
