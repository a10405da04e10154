"""The header of a GGUF file, read without trust: what model is in it, and is it all there.

llama.cpp ends the whole process over some broken files, so a file is looked at before it is opened.
The reader of the `gguf` package makes an array for each of 300,000 vocabulary entries and puts no bound
on what a file may claim, so this is our own.
"""

import hashlib
import mmap
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from qmd_py.catalogue import Role
from qmd_py.errors import ModelFailed, ModelMissing

Scalar: TypeAlias = str | int | float | bool

_VERSIONS = (2, 3)
_POOLINGS = ("none", "mean", "cls", "last", "rank")
_RANK_HEADS = frozenset({"cls.weight", "cls.output.weight"})
# encoders have no next token, so they can neither write nor say yes
_ENCODERS = frozenset(
    {"bert", "eurobert", "gemma-embedding", "jina-bert-v2", "jina-bert-v3", "modern-bert",
     "neo-bert", "nomic-bert", "nomic-bert-moe", "t5encoder"}
)  # fmt: skip
_MAX_ENTRIES = 1 << 16  # metadata keys, and tensors; the largest models have some thousands
_MAX_ELEMENTS = 1 << 22  # of an array; the largest vocabularies have half a million
_MAX_KEY = 1 << 16
_MAX_KEPT = 1 << 10  # longer texts are vocabularies and templates, of no use here
_MAX_DIMENSIONS = 8  # ggml has 4
_STRING, _ARRAY = 8, 9
_FORMS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
# weights in a block and its bytes, by ggml's number of the type
_BLOCKS = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34),
    9: (32, 40), 10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210),
    15: (256, 292), 16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18),
    21: (256, 110), 22: (256, 82), 23: (256, 136), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8),
    28: (1, 8), 29: (256, 56), 30: (1, 2), 34: (256, 54), 35: (256, 66), 39: (32, 17),
}  # fmt: skip
_SAMPLES = 64
_SAMPLE = 4096


@dataclass(frozen=True, slots=True)
class Header:
    """What a GGUF file says of itself."""

    path: Path
    size: int
    """Bytes of the whole file."""
    metadata: Mapping[str, Scalar]
    """Numbers and short texts; arrays and long texts are left out."""
    tensors: frozenset[str]

    @property
    def architecture(self) -> str:
        """llama.cpp's name of the model's kind, as `qwen3`; empty when the file gives none."""
        return str(self.metadata.get("general.architecture", ""))

    @property
    def pooling(self) -> str | None:
        """How token vectors become one: none, mean, cls, last or rank; None when not given."""
        kind = self.number("pooling_type")
        return _POOLINGS[kind] if kind is not None and 0 <= kind < len(_POOLINGS) else None

    @property
    def has_rank_head(self) -> bool:
        """Whether the file can score a pair by itself, without the yes and no of a language model."""
        return bool(self.tensors & _RANK_HEADS)

    @property
    def is_encoder(self) -> bool:
        """Whether the model reads only, and has no next token."""
        return self.architecture in _ENCODERS

    def number(self, key: str) -> int | None:
        """A whole number of the architecture's own, as `context_length`; None when not given."""
        value = self.metadata.get(f"{self.architecture}.{key}")
        return value if isinstance(value, int) else None


class _BadFile(Exception):  # noqa: N818 — reads as what happened
    """The file is no GGUF that we can use; says what it is instead."""


def inspect(path: Path, role: Role | None = None, called: str | None = None) -> Header:
    """Read a file's header, and check that it is whole and fit for a role.

    Args:
        path: the file.
        role: what the model is for; None does not check that.
        called: what messages call the file; its path when None.

    Raises:
        ModelMissing: there is no such file.
        ModelFailed: it is no GGUF, not all there, or unfit for the role.
    """
    called = called or str(path)
    try:
        header = _read(path)
        if role:
            _check(header, role)
    except FileNotFoundError as error:
        raise ModelMissing(f"there is no file {called}: check the path") from error
    except OSError as error:
        raise ModelFailed(f"cannot read {called}: {error.strerror}") from error
    except _BadFile as error:
        raise ModelFailed(f"{called} {error}") from error
    return header


def lacking(header: Header, role: Role) -> tuple[str, ...]:
    """Names of tensors that a role needs and the file lacks."""
    needed = ["token_embd.weight"]
    if not any(name.startswith("blk.0.") for name in header.tensors):
        needed.append("blk.0.*")
    if role == "rerank" and header.is_encoder and not header.has_rank_head:
        needed.append("cls.weight")
    return tuple(name for name in needed if name not in header.tensors)


def fingerprint(path: Path) -> str:
    """Tells files apart in a moment: a digest of the size, the beginning and samples throughout.

    Raises:
        ModelMissing: there is no such file.
        ModelFailed: it cannot be read.
    """
    try:
        size = path.stat().st_size
        digest = hashlib.sha256(str(size).encode())
        with path.open("rb") as stream:
            for at in range(_SAMPLES):
                stream.seek(at * max(_SAMPLE, size // _SAMPLES))
                digest.update(stream.read(_SAMPLE))
    except FileNotFoundError as error:
        raise ModelMissing(f"there is no file {path}: check the path") from error
    except OSError as error:
        raise ModelFailed(f"cannot read {path}: {error.strerror}") from error
    return digest.hexdigest()[:16]


def _check(header: Header, role: Role) -> None:
    if role == "expand" and header.is_encoder:
        raise _BadFile(f"cannot write ({header.architecture}): choose a language model")
    if missing := lacking(header, role):
        raise _BadFile(
            f"is not fit to {role}: it lacks {', '.join(missing)}; choose a file made for that"
        )


def _read(path: Path) -> Header:
    with path.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        _expect_gguf(stream.read(64), size)
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            try:
                return _parse(_Cursor(data), path, size)
            except struct.error as error:
                raise _BadFile("ends before its header does: fetch it again") from error


def _expect_gguf(start: bytes, size: int) -> None:
    if not size:
        raise _BadFile("is empty: fetch it again")
    if start.lstrip().lower().startswith((b"<!doctype", b"<html", b"<?xml", b"<head")):
        raise _BadFile("is a web page, not a model (a proxy's or a login's?): fetch it again")
    if start.startswith(b"version https://git-lfs"):
        raise _BadFile("only names a model kept elsewhere (Git LFS): fetch the file itself")
    if not start.startswith(b"GGUF"):
        raise _BadFile("is no GGUF model: choose a file ending in .gguf, or fetch it again")
    if len(start) >= 8 and start[4:6] == b"\0\0":
        raise _BadFile("is for big-endian machines: choose another file")


_LENGTH = struct.Struct("<Q")


class _Cursor:
    """Reads values one after the other; past the end it raises struct.error."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.at = 0

    def number(self, form: str) -> int | float | bool:
        (value,) = struct.unpack_from(f"<{form}", self.data, self.at)
        self.at += struct.calcsize(f"<{form}")
        return value  # type: ignore[no-any-return]

    def count(self, most: int, what: str, form: str = "Q") -> int:
        value = int(self.number(form))
        if value > most:
            raise _BadFile(f"is damaged ({value} {what}): fetch it again")
        return value

    def skip(self, length: int) -> None:
        if length > len(self.data) - self.at:
            raise struct.error
        self.at += length

    def text(self, most: int) -> str:
        length = self.count(most, "bytes in a name")
        self.skip(length)
        return self.data[self.at - length : self.at].decode("utf-8", "replace")

    def value(self, kind: int) -> Scalar | None:
        """A metadata value; None for one that is not kept."""
        if kind in _FORMS:
            return self.number(_FORMS[kind])
        if kind == _STRING:
            length = int(self.number("Q"))
            self.skip(length)
            if length > _MAX_KEPT:
                return None
            return self.data[self.at - length : self.at].decode("utf-8", "replace")
        if kind == _ARRAY:
            self._skip_array()
            return None
        raise _BadFile(f"is damaged (a value of kind {kind}): fetch it again")

    def _length_of_strings(self, count: int) -> int:
        """Bytes of so many strings from here on; vocabularies have 100,000, so the loop is tight."""
        data, end, at, length_at = self.data, len(self.data), self.at, _LENGTH.unpack_from
        for _ in range(count):
            at += 8 + length_at(data, at)[0]
            if at > end:
                raise struct.error
        return at - self.at

    def _skip_array(self) -> None:
        kind = int(self.number("I"))
        length = self.count(_MAX_ELEMENTS, "values in a list")
        if kind in _FORMS:
            self.skip(length * struct.calcsize(f"<{_FORMS[kind]}"))
        elif kind == _STRING:
            self.skip(self._length_of_strings(length))
        else:
            raise _BadFile(f"is damaged (a list of kind {kind}): fetch it again")


def _parse(cursor: _Cursor, path: Path, size: int) -> Header:
    cursor.skip(4)
    version = cursor.number("I")
    if version not in _VERSIONS:
        raise _BadFile(f"is GGUF of version {version}, not 2 or 3: choose another file")
    tensors = cursor.count(_MAX_ENTRIES, "tensors")
    entries = cursor.count(_MAX_ENTRIES, "metadata entries")
    metadata = {}
    for _ in range(entries):
        key = cursor.text(_MAX_KEY)
        value = cursor.value(int(cursor.number("I")))
        if value is not None:
            metadata[key] = value
    ends = dict(_tensor(cursor) for _ in range(tensors))
    _expect_all(cursor.at, metadata, max(ends.values(), default=0), size)
    return Header(path, size, metadata, frozenset(ends))


def _tensor(cursor: _Cursor) -> tuple[str, int]:
    """A tensor's name, and where its data end, counted from the beginning of all data."""
    name = cursor.text(_MAX_KEY)
    weights = 1
    for _ in range(cursor.count(_MAX_DIMENSIONS, "dimensions", "I")):
        weights *= int(cursor.number("Q"))
    block, length = _BLOCKS.get(int(cursor.number("I")), (1, 0))
    return name, int(cursor.number("Q")) + -(-weights // block) * length


def _expect_all(at: int, metadata: Mapping[str, Scalar], end: int, size: int) -> None:
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or not 0 < alignment <= _MAX_KEY:
        raise _BadFile(f"is damaged (alignment {alignment}): fetch it again")
    needed = -(-at // alignment) * alignment + end
    if end and size < needed:
        raise _BadFile(f"is cut short ({size:,} of {needed:,} bytes): fetch it again")
