"""Where things are and what the user set; read once, passed on."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from qmd_py.errors import ConfigError
from qmd_py.records.values import Value

PROJECT_FOLDER = ".qmd"
PROJECT_INDEX = "index.sqlite"
DEFAULT_LANGUAGES = ("en", "ru")
DEFAULT_CHUNK_CHARS = 1400  # halving it changed little, and longer ones dilute the vector
DEFAULT_MAX_BYTES = 10_000_000  # a note above this is a log or a dump; it would crowd out the rest


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Keys(Value):
    """Keys of the front matter that tell a note's provenance; the first that holds a value counts."""

    revision: tuple[str, ...] = ("revision", "version")
    published: tuple[str, ...] = ("published", "date")
    expires: tuple[str, ...] = ("expires", "review_by")
    access: tuple[str, ...] = ("access", "labels")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Settings(Value):
    """What the user set, or the defaults."""

    languages: tuple[str, ...] = DEFAULT_LANGUAGES
    """ISO 639-1 codes; the first of each script chooses that script's stemmer."""
    chunk_chars: int = DEFAULT_CHUNK_CHARS
    """Longest chunk with its breadcrumb, in characters."""
    max_bytes: int = DEFAULT_MAX_BYTES
    """Larger files are passed over, by name."""
    embed: str | None = None
    """The model that embeds: a name, the path of a file, or `none`; None: the catalogue's default."""
    expand: str | None = None
    """The model that expands questions, likewise."""
    rerank: str | None = None
    """The model that reranks, likewise."""
    metadata: Keys = field(default_factory=Keys)
    editor: str | None = None
    """The address by which an editor opens a line, with `{path}` and perhaps `{line}`, or `none`: no
    links; None: a `file://` address."""

    @property
    def make(self) -> str:
        """Those that decide how a note comes out, as the index keeps them with each."""
        return f"{','.join(self.languages)} {self.chunk_chars}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Config(Value):
    """Settings and places of one run."""

    index: Path
    """The index file."""
    settings: Settings
    named_cache: Path | None
    named_models: Path | None
    named_catalogue: Path | None
    """What stands in place of the usual cache and folder of models, or beside the usual list."""
    hub: str | None
    """Address of the model hub; None: the public one."""
    policy: Path | None = None
    """The file that says what may be used as evidence; None: everything is shown."""

    # the usual places are found out by those who need them: a search by words does not

    @property
    def cache(self) -> Path:
        """The file that keeps what models answered."""
        return self.named_cache or _cache_dir() / "answers.sqlite"

    @property
    def models_dir(self) -> Path:
        """The folder of pulled models."""
        return self.named_models or _cache_dir() / "models"

    @property
    def catalogues(self) -> tuple[Path, ...]:
        """Lists of models beside our own; of two entries with one name the later counts."""
        own, named = _config_dir() / "models.toml", self.named_catalogue
        return (*([own] if own.is_file() else []), *([named] if named else []))


def load(environ: Mapping[str, str], index: str | Path | None = None) -> Config:
    """Read the settings file and the environment; `index` (the option) wins over both.

    A project's index, found upwards from the working folder, goes before the settings file's, since
    it is nearer; nothing else is taken from a project.

    Raises:
        ConfigError: the settings file is not TOML, holds a wrong key or value, or is not where
            QMD_CONFIG says.
    """
    file = _settings_file(environ)
    # only a file that was asked for by name has to be there
    table = _read_toml(file) if file.is_file() or environ.get("QMD_CONFIG") else {}
    named = index_file(index or environ.get("QMD_INDEX"))
    chosen = named or project_index() or index_file(table.get("index"))
    models = _path(environ.get("QMD_MODELS_DIR")) or _path(table.get("models_dir"))
    policy = _policy(environ, table, file)
    return Config(
        index=chosen or _data_dir() / "index.sqlite",
        settings=_settings(table, file),
        named_cache=_path(environ.get("QMD_CACHE")),
        named_models=models,
        named_catalogue=_path(environ.get("QMD_MODELS")),
        hub=environ.get("HF_ENDPOINT") or None,
        policy=policy,
    )


def index_file(named: object) -> Path | None:
    """The index file that a name or a path means; None where nothing is named.

    A bare word is a name, and its file lies beside the default index; what has a slash or a suffix
    is a path.
    """
    if not named:
        return None
    text = str(named)
    if isinstance(named, Path) or "/" in text or os.sep in text or Path(text).suffix:
        return _path(text)
    return _data_dir() / f"{text}.sqlite"


def index_names() -> list[str]:
    """The names of the indexes that there are, as `--index` takes them."""
    return sorted(file.stem for file in _data_dir().glob("*.sqlite"))


def project_index() -> Path | None:
    """The index that `qmd init` made in the working folder or the nearest one above; None if none did.

    A folder of the npm qmd, which bears the same name, is passed over.
    """
    try:
        here = Path.cwd()
    except OSError:  # the working folder has been deleted
        return None
    for folder in (here, *here.parents):
        file = folder / PROJECT_FOLDER / PROJECT_INDEX
        if os.path.lexists(file) and not foreign(file.parent):
            return file
    return None


def foreign(folder: Path) -> bool:
    """Whether a `.qmd` folder is the npm qmd's."""
    return any((folder / name).exists() for name in ("index.yml", "index.yaml"))


def _settings_file(environ: Mapping[str, str]) -> Path:
    if chosen := environ.get("QMD_CONFIG"):
        return Path(chosen).expanduser()
    return _config_dir() / "config.toml"


def _config_dir() -> Path:
    import platformdirs

    return Path(platformdirs.user_config_dir("qmd-py"))


def _data_dir() -> Path:
    import platformdirs

    return Path(platformdirs.user_data_dir("qmd-py"))


def _cache_dir() -> Path:
    import platformdirs

    return Path(platformdirs.user_cache_dir("qmd-py"))


def _path(value: object) -> Path | None:
    return Path(os.path.expanduser(str(value))) if value else None  # noqa: PTH111 — keeps `~user`


def _policy(environ: Mapping[str, str], table: Mapping[str, object], file: Path) -> Path | None:
    """The policy of the settings, else of the environment; what names none must not mean none."""
    chosen, named = table.get("policy"), environ.get("QMD_POLICY")
    if "policy" in table and not (isinstance(chosen, str) and chosen.strip()):
        raise ConfigError(f"'policy' in {file} must be the path of a file")
    if named is not None and not named.strip():
        raise ConfigError("QMD_POLICY is empty: name a file, or unset it")
    # taken from the folder of the settings file
    own, other = (file.parent / str(_path(chosen)) if chosen else None), _path(named)
    if own and other and os.path.realpath(own) != os.path.realpath(other):
        raise ConfigError(f"QMD_POLICY names another policy than {file}, which decides: unset it")
    return own or other


def _read_toml(file: Path) -> dict[str, object]:
    import tomllib

    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read the settings in {file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"cannot read the settings in {file}: {error}") from error


_PLACES = {"index", "models_dir", "policy"}
"""Keys of the settings file that say where something is."""


def _settings(table: Mapping[str, object], file: Path) -> Settings:
    known = set(Settings.__slots__)
    if unknown := sorted(set(table) - known - _PLACES):
        from qmd_py import spelling

        names = sorted(known | _PLACES)
        near = spelling.suggestion(unknown[0], names)
        raise ConfigError(
            f"unknown setting '{unknown[0]}' in {file}{near}: known are {', '.join(names)}"
        )
    languages = table.get("languages", list(DEFAULT_LANGUAGES))
    if not isinstance(languages, list) or not all(isinstance(code, str) for code in languages):
        raise ConfigError(f'\'languages\' in {file} must be a list like ["en", "ru"]')
    return Settings(
        languages=tuple(languages),
        chunk_chars=_number(table, "chunk_chars", DEFAULT_CHUNK_CHARS, 200, file),
        max_bytes=_number(table, "max_bytes", DEFAULT_MAX_BYTES, 1, file),
        embed=_model(table, "embed", file),
        expand=_model(table, "expand", file),
        rerank=_model(table, "rerank", file),
        metadata=_keys(table.get("metadata", {}), file),
        editor=_editor(table.get("editor"), file),
    )


def _keys(table: object, file: Path) -> Keys:
    """The `[metadata]` table: a list of keys for each thing that is told by them."""
    known = Keys.__slots__
    if not isinstance(table, dict) or set(table) - set(known):
        raise ConfigError(f"[metadata] in {file} may only hold {', '.join(known)}")
    for name, keys in table.items():
        if not isinstance(keys, list) or not all(isinstance(key, str) and key for key in keys):
            raise ConfigError(f"'{name}' under [metadata] in {file} must be a list of keys")
    return Keys(**{name: tuple(keys) for name, keys in table.items()})


def _model(table: Mapping[str, object], role: str, file: Path) -> str | None:
    """The choice of a model; a path is taken from the folder of the settings file."""
    value = table.get(role)
    if value is None:
        return None
    if not isinstance(value, str) or not value:
        raise ConfigError(f"'{role}' in {file} must be the name of a model, a path or \"none\"")
    path = _path(value)
    return str(file.parent / path) if path and ("/" in value or path.suffix == ".gguf") else value


def _editor(value: object, file: Path) -> str | None:
    if value is None or value == "none":
        return value
    if not isinstance(value, str) or "://" not in value or "{path}" not in value:
        raise ConfigError(
            f"'editor' in {file} must be an address such as \"vscode://file{{path}}:{{line}}\", "
            'or "none"'
        )
    return value


def _number(table: Mapping[str, object], key: str, default: int, least: int, file: Path) -> int:
    value = table.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigError(f"'{key}' in {file} must be a whole number from {least} up")
    return value
