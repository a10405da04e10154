"""What the JSON of an answer says its sections and notes would cost."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qmd_py import passages

if TYPE_CHECKING:
    from typer.testing import Result

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
