"""The list of models: ours, the user's, choices, places."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from qmd_py import catalogue, config
from qmd_py.catalogue import BuiltIn, Catalogue, Hub, Local, ModelSpec, Package, Role, Source
from qmd_py.errors import ConfigError, NotFound

ROOT = Path(__file__).parent.parent


@pytest.fixture
def own(tmp_path):
    """Write a list of models: `own('[expand.x]…')`."""

    def write(text: str, name: str = "own.toml") -> Path:
        path: Path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def chosen(known: Catalogue, role: Role, choice: str | None = None) -> ModelSpec:
    found = known.choose(role, choice)
    assert found
    return found


def entry(source: str = "hf:o/r/x.gguf", role: str = "expand", more: str = "") -> str:
    return f'[{role}.x]\nsource = "{source}"\n{more}\n'


class TestOurs:
    def test_every_model_of_each_role_is_there(self) -> None:
        names: dict[str, list[str]] = {role: [] for role in catalogue.ROLES}
        for spec in catalogue.load().models:
            names[spec.role].append(spec.name)
        assert names == {
            "embed": ["e5-small", "qwen3-embedding-0.6b", "embeddinggemma-300m"],
            "expand": ["qwen3-0.6b", "qwen3-1.7b", "qmd-1.7b", "smollm2-135m"],
            "rerank": ["qwen3-reranker-0.6b"],
        }

    def test_the_defaults_exist_and_the_embedder_needs_no_file(self) -> None:
        known = catalogue.load()
        assert [chosen(known, role).name for role in catalogue.ROLES] == [
            "e5-small",
            "qwen3-0.6b",
            "qwen3-reranker-0.6b",
        ]
        assert chosen(known, "embed").source == BuiltIn()

    def test_what_is_pulled_is_pinned_to_a_commit_and_a_checksum(self) -> None:
        for spec in catalogue.load().models:
            if isinstance(spec.source, Hub):
                assert len(spec.source.revision) == 40
            if not isinstance(spec.source, BuiltIn):
                assert all((spec.sha256, spec.size, spec.license, spec.about))

    def test_how_to_talk_to_them(self) -> None:
        known = catalogue.load()
        qwen = known.named("qwen3-embedding-0.6b")
        assert (qwen.pooling, qwen.passage_prefix) == ("last", "")
        assert qwen.query_prefix == (
            "Instruct: Given a web search query, retrieve relevant passages that answer the query\n"
            "Query:"
        )
        gemma = known.named("embeddinggemma-300m")
        assert gemma.query_prefix == "task: search result | query: "
        assert gemma.passage_prefix == "title: none | text: "
        assert known.named("qmd-1.7b").prompt == "qmd"
        assert known.named("smollm2-135m").prompt == "chat"

    def test_the_wheel_holds_the_list(self, tmp_path) -> None:
        """As pip builds it: force-include puts it inside the package, where it is looked for first."""
        tree = tmp_path / "tree"
        for folder in ("catalogue", "records"):
            shutil.copytree(ROOT / "qmd_py" / folder, tree / "qmd_py" / folder)
        shutil.copy(ROOT / "qmd_py" / "errors.py", tree / "qmd_py" / "errors.py")
        (tree / "qmd_py" / "__init__.py").touch()
        program = "from qmd_py import catalogue; print(len(catalogue.load().models))"

        def run() -> "subprocess.CompletedProcess[str]":
            return subprocess.run(
                [sys.executable, "-c", program], cwd=tree, capture_output=True, text=True
            )

        assert "install qmd-py again" in run().stderr
        shutil.copy(ROOT / "models.toml", tree / "qmd_py" / "models.toml")
        assert run().stdout == "8\n"
        assert '"models.toml" = "qmd_py/models.toml"' in (ROOT / "pyproject.toml").read_text()


class TestSources:
    @pytest.mark.parametrize(
        ("text", "source"),
        [
            ("hf:o/r/x.gguf", Hub("o/r", "x.gguf", "main")),
            ("hf:o/r.b/sub/x-Q8.gguf@v1.0", Hub("o/r.b", "sub/x-Q8.gguf", "v1.0")),
            ("pypi:a-b==1.0/m/x.gguf", Package("a-b", "1.0", "m/x.gguf")),
            ("/models/x.gguf", Local(Path("/models/x.gguf"))),
        ],
    )
    def test_are_read(self, own, text: str, source: object) -> None:
        assert catalogue.load([own(entry(text))]).named("x").source == source

    def test_a_relative_path_is_taken_from_the_list(self, own, tmp_path) -> None:
        assert catalogue.load([own(entry("sub/x.gguf"))]).named("x").source == Local(
            tmp_path / "sub" / "x.gguf"
        )

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "x",
            "hf:x.gguf",
            "hf:o/x.gguf",
            "hf:o/r/../../x.gguf",
            "hf:o/r/x.bin",
            "hf:o/r/x.gguf@",
            "hf:o/r/x.gguf@a/../b",
            "hf:../r/x.gguf",
            "hf:o--p/r/x.gguf",
            "hf:o/r/x.gguf ",
            "pypi:a/x.gguf",
            "pypi:a==1.0",
            "pypi:--index-url==1/x.gguf",
            "pypi:a==1.0/../x.gguf",
            "pypi:a>=1.0/x.gguf",
            "https://example.org/x.gguf",
            "builtin",
        ],
    )
    def test_that_say_nothing_are_errors(self, own, text: str) -> None:
        with pytest.raises(ConfigError, match=r"'expand.x.source'"):
            catalogue.load([own(entry(text))])


class TestUsersOwn:
    def test_a_later_entry_takes_the_place_of_an_earlier(self, own) -> None:
        first = own('[rerank."qwen3-reranker-0.6b"]\nsource = "/one.gguf"', "1.toml")
        second = own('[rerank."qwen3-reranker-0.6b"]\nsource = "/two.gguf"', "2.toml")
        known = catalogue.load([first, second])
        assert chosen(known, "rerank").source == Local(Path("/two.gguf"))
        assert chosen(known, "rerank").sha256 is None
        assert len(known.models) == 8

    def test_defaults_of_one_role_leave_the_others(self, own) -> None:
        known = catalogue.load([own('[defaults]\nexpand = "none"')])
        assert known.choose("expand") is None
        assert chosen(known, "rerank").name == "qwen3-reranker-0.6b"

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("[expand", "cannot read the models in"),
            (f"a = {'[' * 9000}{']' * 9000}", "cannot read the models in"),
            ("[judge.x]", "unknown table 'judge'"),
            ("expand = 1", "'expand' in .* must be a table"),
            ("[expand]\nx = 1", "'expand.x' in .* must be a table"),
            ("[expand.x]", "'expand.x.source' in .* must be a text"),
            (
                "[expand.x-1.7b]\nsource = 'hf:o/r/x.gguf'",
                r'put a name with dots in quotes.*"x-1.7b"',
            ),
            (entry(more="colour = 'red'"), "unknown key of expand.x 'colour'"),
            (entry(more="pooling = 'last'"), "unknown key of expand.x 'pooling'"),
            (entry(role="rerank", more="prompt = 'chat'"), "unknown key of rerank.x 'prompt'"),
            (entry(role="embed", more="pooling = 'max'"), "must be one of mean, cls, last"),
            (entry(more="prompt = 'poem'"), "must be one of chat, qmd"),
            (entry(more="prompt = 1"), "'expand.x.prompt' in .* must be a text"),
            (entry(more="sha256 = 'abc'"), "'expand.x.sha256' in .* 64 digits"),
            (entry(more="size = '1 GB'"), "'expand.x.size' in .* number of bytes"),
            (entry(more="size = 0"), "'expand.x.size' in .* number of bytes"),
            ("[expand.none]\nsource = 'hf:o/r/x.gguf'", "'none' in .* cannot be a model's name"),
            ('[expand."a/b"]\nsource = "hf:o/r/x.gguf"', "'a/b' in .* cannot be a model's name"),
            ("[defaults]\njudge = 'x'", "unknown role 'judge'"),
            ("[defaults]\nembed = 1", "'embed' in .* must be a text"),
        ],
    )
    def test_what_is_impossible_is_told(self, own, text: str, words: str) -> None:
        with pytest.raises(ConfigError, match=words):
            catalogue.load([own(text)])

    def test_a_file_that_is_not_there(self, tmp_path) -> None:
        with pytest.raises(ConfigError, match="No such file"):
            catalogue.load([tmp_path / "none.toml"])


class TestChoices:
    def test_by_name_by_path_or_none(self) -> None:
        known = catalogue.load()
        assert known.choose("expand", "smollm2-135m") == known.named("smollm2-135m")
        assert known.choose("expand", "none") is None
        assert known.choose("expand", "/x/y.gguf") == ModelSpec(
            "expand", "/x/y.gguf", Local(Path("/x/y.gguf"))
        )

    def test_a_name_that_is_not_there_names_the_nearest(self) -> None:
        with pytest.raises(NotFound, match=r"no model 'smollm2' \(did you mean 'smollm2-135m'\?\)"):
            catalogue.load().choose("expand", "smollm2")

    def test_a_model_for_another_role_is_refused(self) -> None:
        with pytest.raises(NotFound, match=r"'qwen3-0.6b' is there to expand, not to rerank"):
            catalogue.load().choose("rerank", "qwen3-0.6b")

    def test_a_file_with_a_known_name_is_talked_to_as_that_model(self) -> None:
        spec = chosen(catalogue.load(), "embed", "/mine/Qwen3-Embedding-0.6B-Q8_0.gguf")
        assert spec.pooling == "last"
        assert spec.query_prefix.startswith("Instruct:")
        assert spec.sha256 is None


class TestPlaces:
    def test_each_source_has_its_own(self, tmp_path) -> None:
        def place(source: Source) -> Path | None:
            return catalogue.file_of(ModelSpec("expand", "x", source), tmp_path)

        assert place(BuiltIn()) is None
        assert place(Local(Path("/x.gguf"))) == Path("/x.gguf")
        assert place(Hub("o/r", "d/x.gguf", "v1")) == tmp_path / "o--r@v1" / "d" / "x.gguf"
        assert place(Package("p", "1.0", "m/x.gguf")) == tmp_path / "p==1.0" / "m" / "x.gguf"

    def test_the_list_tells_what_is_here_and_what_is_used(self, tmp_path) -> None:
        known = catalogue.load()
        file = catalogue.file_of(known.named("smollm2-135m"), tmp_path)
        assert file
        file.parent.mkdir(parents=True)
        file.touch()
        file.with_name("other.gguf.etag").touch()
        rows = catalogue.listed(known, {"rerank": "/x.gguf", "expand": "smollm2-135m"}, tmp_path)
        assert [row.spec.name for row in rows if row.chosen] == [
            "e5-small",
            "smollm2-135m",
            "/x.gguf",
        ]
        assert [row.spec.name for row in rows if row.here] == ["e5-small", "smollm2-135m"]

    @pytest.mark.parametrize(
        ("size", "words"),
        [(None, ""), (1, "1 MB"), (98_362_432, "98 MB"), (1_834_426_016, "1.8 GB")],
    )
    def test_sizes_in_words(self, size: int | None, words: str) -> None:
        assert catalogue.human_size(size) == words


class TestConfig:
    def test_models_lie_in_the_cache_folder(self, isolated) -> None:
        found = config.load({})
        assert found.models_dir.name == "models"
        assert found.models_dir.is_relative_to(isolated)
        assert (found.catalogues, found.hub) == ((), None)

    def test_variables_and_settings(self, isolated, tmp_path) -> None:
        file = tmp_path / "c.toml"
        file.write_text(
            'expand = "none"\nrerank = "sub/r.gguf"\nembed = "e5-small"\nmodels_dir = "/big/models"\n'
        )
        environ = {"QMD_CONFIG": str(file), "QMD_MODELS": "/m.toml", "HF_ENDPOINT": "http://hub"}
        found = config.load(environ)
        assert found.settings.expand == "none"
        assert found.settings.embed == "e5-small"
        assert found.settings.rerank == str(tmp_path / "sub" / "r.gguf")
        assert found.models_dir == Path("/big/models")
        assert found.catalogues == (Path("/m.toml"),)
        assert found.hub == "http://hub"
        assert config.load({**environ, "QMD_MODELS_DIR": "/v"}).models_dir == Path("/v")

    def test_a_list_in_the_configuration_folder_comes_before_the_named_one(self, isolated) -> None:
        folder = isolated / "qmd-py"
        folder.mkdir()
        (folder / "models.toml").touch()
        if sys.platform == "linux":
            found = config.load({"QMD_MODELS": "/m.toml"})
            assert found.catalogues == (folder / "models.toml", Path("/m.toml"))

    @pytest.mark.parametrize("value", ["1", '""', "true"])
    def test_a_choice_has_to_be_a_text(self, tmp_path, value: str) -> None:
        file = tmp_path / "c.toml"
        file.write_text(f"rerank = {value}")
        with pytest.raises(ConfigError, match=r"'rerank' in .* must be the name of a model"):
            config.load({"QMD_CONFIG": str(file)})
