"""Expansions and rerank scores by model, question and passage."""

import json
import sqlite3
import time
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self, TypeAlias

from qmd_py.cache.file import CacheFile
from qmd_py.records.values import Value
from qmd_py.records.wordings import Variant

DEFAULT_BOUND = 64_000_000  # bytes; about 30,000 questions with 40 scores each

_HOUR = 3600  # finer times of use would cost a write for every read

_Counts: TypeAlias = tuple[int, int, str | None, str | None]
"""Expansions, scores, oldest and newest use."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CacheState(Value):
    """What a cache holds."""

    file: str
    bytes: int
    """On disk, the log beside the file included."""
    bound: int
    """Bytes it may take."""
    expansions: int
    scores: int
    oldest_use: str | None
    newest_use: str | None
    """RFC 3339, UTC, exact to an hour; None when it holds nothing."""


class AnswerCache(Protocol):
    """What models said of earlier questions; no method raises for a fault of the cache.

    A fingerprint names everything but the question and the passage that an answer depends on: the
    model's file, its prompt or template with its version, the instruction.
    """

    @property
    def problem(self) -> str | None:
        """Why it acts as empty or keeps nothing, in one line; None while all is well."""

    def expansion(self, fingerprint: str, question: str) -> tuple[Variant, ...] | None:
        """The variants kept of a question; None when there are none."""

    def put_expansion(self, fingerprint: str, question: str, variants: Sequence[Variant]) -> None:
        """Keep the variants of a question, unless there are none."""

    def scores(self, fingerprint: str, question: str, keys: Sequence[bytes]) -> dict[bytes, float]:
        """Those scores that are kept of passages, which are named by the hashes of their texts."""

    def put_scores(self, fingerprint: str, question: str, scores: Mapping[bytes, float]) -> None:
        """Keep the scores of passages; what is not within 0 to 1 is left out."""

    def close(self) -> None:
        """Let go of the file."""


class NoCache:
    """A cache that keeps nothing."""

    problem: str | None = None

    def expansion(self, fingerprint: str, question: str) -> None:
        """Nothing."""

    def put_expansion(self, fingerprint: str, question: str, variants: Sequence[Variant]) -> None:
        """Keep nothing."""

    def scores(self, fingerprint: str, question: str, keys: Sequence[bytes]) -> dict[bytes, float]:
        """Nothing."""
        return {}

    def put_scores(self, fingerprint: str, question: str, scores: Mapping[bytes, float]) -> None:
        """Keep nothing."""

    def close(self) -> None:
        """There is no file."""


class Cache:
    """One SQLite file of bounded size; the questions least recently asked are forgotten first.

    It is opened when first asked and made when there is something to keep; any number of processes
    may share it. Questions that differ in white space or Unicode form alone are the same.
    """

    def __init__(
        self, file: Path, bound: int = DEFAULT_BOUND, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._file = CacheFile(file, bound)
        self._clock = clock

    @property
    def problem(self) -> str | None:
        """Why it acts as empty or keeps nothing, in one line; None while all is well."""
        return self._file.problem

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file; the next use opens it again."""
        self._file.close()

    def expansion(self, fingerprint: str, question: str) -> tuple[Variant, ...] | None:
        """The variants kept of a question; None when there are none."""
        key = _key("expansion", fingerprint, question)

        def look_up(db: sqlite3.Connection) -> tuple[Variant, ...] | None:
            packed = self._asked_again(db, key)[1]
            return _unpacked(packed) if packed else None

        return self._file.read(look_up, None)

    def put_expansion(self, fingerprint: str, question: str, variants: Sequence[Variant]) -> None:
        """Keep the variants of a question, unless there are none."""
        if any(variant.text.strip() for variant in variants):
            key = _key("expansion", fingerprint, question)
            packed = _packed(variants)
            self._file.write(lambda db: self._put_question(db, key, packed))

    def scores(self, fingerprint: str, question: str, keys: Sequence[bytes]) -> dict[bytes, float]:
        """Those scores that are kept of passages, which are named by the hashes of their texts."""
        key = _key("score", fingerprint, question)
        wanted = {_digest(passage): passage for passage in keys}

        def look_up(db: sqlite3.Connection) -> dict[bytes, float]:
            found = db.execute(
                "SELECT passage, score FROM scores WHERE question = ?",
                (self._asked_again(db, key)[0],),
            )
            return {wanted[digest]: score for digest, score in found if digest in wanted}

        return self._file.read(look_up, {}) if keys else {}

    def put_scores(self, fingerprint: str, question: str, scores: Mapping[bytes, float]) -> None:
        """Keep the scores of passages; what is not within 0 to 1 is left out."""
        key = _key("score", fingerprint, question)
        # the comparison is false for NaN
        kept = [(_digest(name), float(score)) for name, score in scores.items() if 0 <= score <= 1]

        def put(db: sqlite3.Connection) -> None:
            asked = self._put_question(db, key, None)
            db.executemany(
                "INSERT OR REPLACE INTO scores (question, passage, score) VALUES (?, ?, ?)",
                [(asked, digest, score) for digest, score in kept],
            )

        if kept:
            self._file.write(put)

    def clear(self) -> bool:
        """Forget everything; False when that could not be done, and `problem` says why."""
        return self._file.clear()

    def state(self) -> CacheState:
        """What it holds; nothing, when it cannot be read."""
        file = self._file
        nothing: _Counts = (0, 0, None, None)
        counts = file.read(_counts, nothing)
        return CacheState(str(file.path), file.bytes(), file.bound, *counts)

    def _asked_again(self, db: sqlite3.Connection, key: bytes) -> tuple[int | None, bytes | None]:
        """Id and variants of a question, whose time of use is now; (None, None) for a new one."""
        row = db.execute(
            "SELECT id, used, variants FROM questions WHERE key = ?", (key,)
        ).fetchone()
        if row is None:
            return None, None
        question, used, variants = row
        now = int(self._clock())
        # a clock that was ahead once must not keep a question for ever
        if abs(now - used) >= _HOUR:
            self._file.hint(db, "UPDATE questions SET used = ? WHERE id = ?", (now, question))
        return question, variants

    def _put_question(self, db: sqlite3.Connection, key: bytes, variants: bytes | None) -> int:
        [(question,)] = db.execute(
            "INSERT INTO questions (key, used, variants) VALUES (?, ?, ?) ON CONFLICT (key)"
            " DO UPDATE SET used = excluded.used, variants = excluded.variants RETURNING id",
            (key, int(self._clock()), variants),
        ).fetchall()
        return int(question)


def _key(what: str, fingerprint: str, question: str) -> bytes:
    import hashlib

    folded = " ".join(unicodedata.normalize("NFC", question).split())
    # hashed apart, so that no question can pass for the end of a fingerprint
    maker = hashlib.blake2b(_encoded(fingerprint)).digest()
    return hashlib.blake2b(
        _encoded(folded), digest_size=16, key=maker, person=what.encode()
    ).digest()


def _digest(passage: bytes) -> bytes:
    import hashlib

    return hashlib.blake2b(passage, digest_size=16).digest()


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # a command line may hold bytes that are no text


def _packed(variants: Sequence[Variant]) -> bytes:
    return _encoded(json.dumps([[v.kind, v.text] for v in variants], ensure_ascii=False))


def _unpacked(packed: bytes) -> tuple[Variant, ...]:
    return tuple(Variant(kind, text) for kind, text in json.loads(packed))


def _counts(db: sqlite3.Connection) -> _Counts:
    [(expansions, oldest, newest)] = db.execute(
        "SELECT count(variants), strftime(?1, min(used), 'unixepoch'),"
        " strftime(?1, max(used), 'unixepoch') FROM questions",
        ("%Y-%m-%dT%H:%M:%SZ",),
    ).fetchall()
    [(scores,)] = db.execute("SELECT count(*) FROM scores").fetchall()
    return expansions, scores, oldest, newest
