"""What the JSON of an answer says its sections and notes would cost."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qmd_py import passages
from qmd_py.formats import kinds, suffixes
from tests import papers

if TYPE_CHECKING:
    from typer.testing import Result

KINDS = kinds.KINDS.items()
Qmd = Callable[..., "Result"]


@pytest.mark.parametrize("question", ["limit concurrency Go", "ограничить конкурентность Go"])
def test_the_counts_are_those_of_the_section_command(qmd: Qmd, vault: Path, question: str) -> None:
    qmd("index", "--no-embed", vault)
    for hit in json.loads(qmd("search", question, "--json").stdout)["results"]:
        for match in hit["matches"]:
            path = json.dumps(match["toc_path"], ensure_ascii=False)
            read = json.loads(qmd("section", hit["pid"], path, "--json").stdout)
            assert match["section_tokens"] == read["section_tokens"], path
            assert hit["note_tokens"] == read["note_tokens"], path


def test_a_note_without_headings_is_its_own_section(qmd: Qmd, folder: Path) -> None:
    (folder / "a.md").write_text("Just some words.\r\nAnd more of them.\r\n")
    qmd("index", "--no-embed", folder)
    hit = json.loads(qmd("search", "words", "--json").stdout)["results"][0]
    assert hit["matches"][0]["section_tokens"] == hit["note_tokens"] > 0


ENDS = {
    "crlf": ("\r\n", "a.md"),
    "lone CR": ("\r", "a.md"),
    "both": ("\r\r\n", "a.md"),
    "org": ("\n", "a.org"),
    "mdx": ("\r\n", "a.mdx"),
    "code": ("\r\n", "a.py"),
}


@pytest.mark.parametrize("case", ENDS)
def test_the_counts_are_the_same_whatever_ends_lines(qmd: Qmd, folder: Path, case: str) -> None:
    end, name = ENDS[case]
    star = "*" if name == "a.org" else "##"
    text = f"kiwi before\n{star} One\n\nkiwi is ten\nfruit\n   \n\n{star} Two\nkiwi\n      \n\n"
    if name == "a.py":
        text = "class One:\n    kiwi = 10\n\n    def two(self):\n        return 'kiwi'\n     \n"
    (folder / name).write_bytes(text.replace("\n", end).encode())
    qmd("collection", "add", folder, "--glob", "*", "--no-embed")
    (hit,) = json.loads(qmd("search", "kiwi", "--json").stdout)["results"]
    assert len(hit["matches"]) > 1
    for match in hit["matches"]:
        path = json.dumps(match["toc_path"])
        read = json.loads(qmd("section", hit["pid"], path, "--json").stdout)
        assert match["section_tokens"] == read["section_tokens"], path
        assert hit["note_tokens"] == read["note_tokens"]


def test_a_document_is_not_converted_anew_to_be_counted(
    qmd: Qmd, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.pdf").write_bytes(papers.pdf(papers.HANDBOOK, papers.BOOKMARKS))
    qmd("index", "--no-embed", folder)
    monkeypatch.setattr(subprocess, "run", None)
    (hit,) = json.loads(qmd("search", "heatwork", "--json").stdout)["results"]
    assert (hit["note_tokens"], hit["matches"][0]["section_tokens"]) == (None, None)
    assert all(suffixes.is_document(f"a.{suffix}") is kind.converted for suffix, kind in KINDS)


def test_what_has_changed_since_is_not_counted(qmd: Qmd, folder: Path) -> None:
    (folder / "a.md").write_text("# One\n\nwords\n\n# Two\n\nmore\n")
    qmd("index", "--no-embed", folder)
    (folder / "a.md").write_text("words\n")
    hit = json.loads(qmd("search", "words", "--json").stdout)["results"][0]
    assert hit["note_tokens"] is None
    assert hit["matches"][0]["section_tokens"] is None


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("abcdefgh", 2), ("привет", 2), ("日本語", 3), ("a\udc80", 1), ("👍", 1)],
)
def test_tokens_are_estimated_by_script(text: str, tokens: int) -> None:
    assert passages.tokens(text) == tokens
