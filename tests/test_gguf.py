"""Headers of GGUF files, good, broken and hostile."""

import contextlib
import random
import struct
from pathlib import Path

import pytest

from qmd_py import gguf
from qmd_py.errors import ModelFailed, ModelMissing
from tests.tiny import TENSORS, write_gguf


@pytest.fixture
def good(tmp_path):
    return write_gguf(tmp_path / "good.gguf")


def packed(*parts: object) -> bytes:
    """GGUF bytes: whole numbers as 64 bits, (form, value) as told, texts with their length."""
    out = b""
    for part in parts:
        if isinstance(part, bytes):
            out += struct.pack("<Q", len(part)) + part
        elif isinstance(part, tuple):
            out += struct.pack(f"<{part[0]}", part[1])
        else:
            out += struct.pack("<Q", part)
    return out


def header(*parts: object, tensors: int = 0, entries: int = 0, version: int = 3) -> bytes:
    return b"GGUF" + packed(("I", version), tensors, entries, *parts)


class TestGood:
    def test_what_a_file_says(self, good) -> None:
        found = gguf.inspect(good)
        assert found.architecture == "qwen3"
        assert found.tensors == set(TENSORS)
        assert found.number("context_length") == 128
        assert found.number("block_count") is None
        assert (found.pooling, found.has_rank_head, found.is_encoder) == (None, False, False)
        assert found.size == good.stat().st_size

    def test_lists_and_long_texts_are_left_out(self, good) -> None:
        metadata = gguf.inspect(good).metadata
        assert not [key for key in metadata if key.startswith("tokenizer.")]

    @pytest.mark.parametrize("head", ["cls.weight", "cls.output.weight"])
    def test_a_reranker_with_its_head(self, tmp_path, head: str) -> None:
        file = write_gguf(tmp_path / "r.gguf", (*TENSORS, head), pooling=4)
        found = gguf.inspect(file, "rerank")
        assert (found.pooling, found.has_rank_head) == ("rank", True)

    def test_a_reranker_without_a_head_can_still_say_yes(self, good) -> None:
        assert not gguf.inspect(good, "rerank").has_rank_head

    def test_no_tensors_at_all_is_a_whole_file(self, tmp_path) -> None:
        file = tmp_path / "vocab.gguf"
        file.write_bytes(header())
        assert gguf.inspect(file).tensors == frozenset()


class TestUnfit:
    def test_missing_tensors_are_named(self, tmp_path) -> None:
        file = write_gguf(tmp_path / "x.gguf", ["output.weight"])
        with pytest.raises(
            ModelFailed, match=r"x.gguf is not fit to expand: it lacks token_embd.weight, blk.0.\*"
        ):
            gguf.inspect(file, "expand")

    def test_an_encoder_cannot_write(self, tmp_path) -> None:
        file = write_gguf(tmp_path / "x.gguf", architecture="bert")
        assert gguf.inspect(file, "embed").is_encoder
        with pytest.raises(ModelFailed, match=r"cannot write \(bert\)"):
            gguf.inspect(file, "expand")

    def test_an_encoder_reranks_only_with_a_head(self, tmp_path) -> None:
        file = write_gguf(tmp_path / "x.gguf", architecture="bert")
        with pytest.raises(ModelFailed, match=r"lacks cls.weight"):
            gguf.inspect(file, "rerank")


class TestBroken:
    @pytest.mark.parametrize(
        ("content", "words"),
        [
            pytest.param(b"", "is empty: fetch it again", id="empty"),
            pytest.param(b"<!DOCTYPE html><html>", "is a web page, not a model", id="html"),
            pytest.param(b"\n <HTML>", "is a web page, not a model", id="html after blanks"),
            pytest.param(b"version https://git-lfs.github.com/spec/v1\n", "Git LFS", id="lfs"),
            pytest.param(b"PK\3\4 a zip file", "is no GGUF model", id="zip"),
            pytest.param(b"GGU", "is no GGUF model", id="three bytes"),
            pytest.param(b"GGUF", "ends before its header does", id="magic alone"),
            pytest.param(b"GGUF\0\0\0\3" + bytes(16), "big-endian", id="big-endian"),
            pytest.param(header(version=1), "is GGUF of version 1", id="old"),
            pytest.param(header(version=99), "is GGUF of version 99", id="new"),
            pytest.param(header(entries=1), "ends before its header does", id="no entry"),
            pytest.param(header(tensors=1 << 60), "is damaged", id="many tensors"),
            pytest.param(header(entries=1 << 60), "is damaged", id="many entries"),
            pytest.param(header(1 << 62, entries=1), "is damaged", id="long key"),
            pytest.param(header(60_000, entries=1), "ends before", id="key past the end"),
            pytest.param(header(b"k", ("I", 8), 1 << 63, entries=1), "ends before", id="long text"),
            pytest.param(header(b"k", ("I", 99), entries=1), "a value of kind 99", id="kind"),
            pytest.param(
                header(b"k", ("I", 9), ("I", 4), 1 << 61, entries=1), "is damaged", id="long list"
            ),
            pytest.param(
                header(b"k", ("I", 9), ("I", 9), 1, entries=1), "a list of kind 9", id="nested list"
            ),
            pytest.param(
                header(b"k", ("I", 9), ("I", 8), 1 << 22, entries=1), "ends before", id="texts"
            ),
            pytest.param(header(b"t", ("I", 1 << 30), tensors=1), "is damaged", id="dimensions"),
            pytest.param(
                header(b"general.alignment", ("I", 4), ("I", 0), entries=1),
                "is damaged .alignment 0.",
                id="alignment",
            ),
            pytest.param(
                header(b"t", ("I", 2), 1 << 40, 1 << 40, ("I", 0), 0, tensors=1),
                "is cut short",
                id="huge tensor",
            ),
        ],
    )  # fmt: skip
    def test_is_told_in_words(self, tmp_path, content: bytes, words: str) -> None:
        file = tmp_path / "bad.gguf"
        file.write_bytes(content)
        with pytest.raises(ModelFailed, match=words) as caught:
            gguf.inspect(file)
        assert str(file) in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_nine_tenths_of_a_file(self, tmp_path) -> None:
        good = write_gguf(tmp_path / "x.gguf", weights=10_000)
        content = good.read_bytes()
        good.write_bytes(content[: len(content) * 9 // 10])
        with pytest.raises(ModelFailed, match=r"is cut short \([\d,]+ of [\d,]+ bytes\)"):
            gguf.inspect(good)

    def test_every_truncation_is_noticed(self, good) -> None:
        content = good.read_bytes()
        for length in [*range(0, 2000, 13), len(content) - 1]:
            good.write_bytes(content[:length])
            with pytest.raises(ModelFailed):
                gguf.inspect(good)

    def test_random_damage_is_an_error_or_harmless(self, good) -> None:
        content = good.read_bytes()
        chance = random.Random(4)
        for _ in range(120):
            damaged = bytearray(content)
            for _ in range(chance.randrange(1, 8)):
                damaged[chance.randrange(4, 400)] = chance.randrange(256)
            good.write_bytes(damaged)
            with contextlib.suppress(ModelFailed):
                gguf.inspect(good, "expand")

    def test_a_file_that_is_not_there_or_a_folder(self, tmp_path) -> None:
        with pytest.raises(ModelMissing, match="there is no file"):
            gguf.inspect(tmp_path / "none.gguf")
        with pytest.raises(ModelFailed, match="cannot read"):
            gguf.inspect(tmp_path)

    def test_the_name_to_use_in_messages(self, tmp_path) -> None:
        file = tmp_path / "x.part"
        file.touch()
        with pytest.raises(ModelFailed, match=r"^what came is empty"):
            gguf.inspect(file, called="what came")


class TestFingerprint:
    def test_of_copies_is_the_same(self, good, tmp_path) -> None:
        copy = tmp_path / "copy.gguf"
        copy.write_bytes(good.read_bytes())
        assert gguf.fingerprint(good) == gguf.fingerprint(copy)

    def test_tells_files_of_one_header_apart(self, tmp_path) -> None:
        file = write_gguf(tmp_path / "x.gguf", weights=400_000)
        before = gguf.fingerprint(file)
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2] + bytes(len(content) - len(content) // 2))
        assert gguf.fingerprint(file) != before

    def test_of_nothing(self, tmp_path) -> None:
        with pytest.raises(ModelMissing):
            gguf.fingerprint(Path(tmp_path / "none.gguf"))
