"""Citations, and claims that rest on them, through the command line."""

import json
from pathlib import Path

import pytest

from tests.admission.notes import AS_OF, NOTES
from tests.conftest import Qmd


def cited(folder: Path, qmd: Qmd, *more: object) -> str:
    result = qmd("cite", "adapter-v3.md", "Schema upgrade", "--claim", "Upgrades | serve", *more)
    assert result.exit_code == 0, result.stderr
    return str(result.stdout)


@pytest.fixture
def claims(indexed: Path, qmd: Qmd, tmp_path: Path) -> Path:
    file = tmp_path / "claims.md"
    file.write_text("# What we say\n\n" + cited(indexed, qmd))
    return file


def test_a_citation_restores_revision_address_and_anchor(indexed: Path, qmd: Qmd) -> None:
    text = cited(indexed, qmd, "--as-of", AS_OF)
    assert "Adapter three > Schema upgrade" in text
    assert "revision v3 (front-matter), published 2025-03-02T06:00:00Z" in text
    assert f"file://{indexed}/adapter-v3.md#schema-upgrade" in text
    assert AS_OF in text
    assert text.splitlines()[-1].startswith(
        "| Upgrades \\| serve | [Adapter three > Schema upgrade](file://"
    )
    assert "Quaggacurrent: an upgrade of the schema runs while the adapter serves." in text
    assert text.endswith("| needs-human-verification |\n")


def test_claims_hold_until_the_source_changes(indexed: Path, claims: Path, qmd: Qmd) -> None:
    held = qmd("cite", "--check", claims)
    assert (held.exit_code, held.stdout) == (0, "line 10  holds  Upgrades | serve\n")
    note = indexed / "adapter-v3.md"
    text = note.read_text()
    for changed, reason in (
        (text.replace("v3", "v4"), "revision-changed"),
        (text.replace("## Schema upgrade", "## Migration"), "anchor-not-found"),
        (text.replace("runs while", "runs before"), "fragment-not-found"),
    ):
        note.write_text(changed)
        result = qmd("cite", "--check", claims)
        assert (result.exit_code, result.stdout) == (2, f"line 10  {reason}  Upgrades | serve\n")
    note.unlink()
    assert "source-not-found" in qmd("cite", "--check", claims).stdout


def test_a_claim_follows_a_note_that_was_moved(indexed: Path, claims: Path, qmd: Qmd) -> None:
    (indexed / "adapter-v3.md").rename(indexed / "moved.md")
    qmd("index", indexed, "--no-embed")
    assert qmd("cite", "--check", claims).exit_code == 0


def test_claims_as_json(indexed: Path, qmd: Qmd, tmp_path: Path) -> None:
    file = tmp_path / "claims.jsonl"
    file.write_text(cited(indexed, qmd, "--json", "--quote", "Quaggacurrent:  an\nupgrade"))
    told = json.loads(file.read_text())
    assert told["citation"]["revision"] == "v3"
    assert told["claim"]["fragment"] == "Quaggacurrent: an upgrade"
    checked = json.loads(qmd("cite", "--check", file, "--json").stdout)
    assert [(row["line"], row["reason"]) for row in checked] == [(1, None)]


def test_a_content_hash_stands_for_a_revision(indexed: Path, qmd: Qmd, tmp_path: Path) -> None:
    file = tmp_path / "claims.md"
    file.write_text(qmd("cite", "unversioned.md", "Gnunorev upgrade", "--claim", "x").stdout)
    assert "sha256:" in file.read_text()
    assert qmd("cite", "--check", file).exit_code == 0
    note = indexed / "unversioned.md"
    note.write_text(note.read_text() + "\nmore\n")
    assert "revision-changed" in qmd("cite", "--check", file).stdout


def test_checked_claims_tell_nothing_of_closed_notes(
    indexed: Path, policy: Path, qmd: Qmd, tmp_path: Path
) -> None:
    file = tmp_path / "claims.md"
    made = qmd("cite", "closed.md", "Okapisecret schema upgrade", "--claim", "x").stdout
    file.write_text(made.replace("v9", "v8"))
    result = qmd("cite", "--check", file, "--policy", policy)
    assert result.stdout == "line 8  access-label-not-granted  x\n"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("cite",), "no note"),
        (("cite", "plain.md"), "missing-exact-citation"),
        (("cite", "adapter-v3.md", "No such"), "no heading"),
        (("cite", "adapter-v3.md", "Schema upgrade", "--claim", " "), "claim is empty"),
        (("cite", "adapter-v3.md", "Schema upgrade", "--claim", "x", "--quote", "zebra"), "quoted"),
        (("cite", "adapter-v3.md", "Schema upgrade", "--quote", "Quagga"), "add --claim"),
        (("cite", "--check", "nowhere.md"), "cannot read"),
        (("cite", "adapter-v3.md", "--check", "nowhere.md"), "goes alone"),
    ],
)
def test_wrong_citations(args: tuple[str, ...], says: str, indexed: Path, qmd: Qmd) -> None:
    result = qmd(*args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "text",
    ["", "no table", "| a | b |", '{"claim": 3}', "{", "| a | [b](c) | d | e | f |",
     '{"claim": {"claim": 1}}', "[" * 50_000, '{"a":' * 50_000],
)  # fmt: skip
def test_what_is_no_claims_table(text: str, indexed: Path, qmd: Qmd, tmp_path: Path) -> None:
    file = tmp_path / "claims.md"
    file.write_text(text)
    result = qmd("cite", "--check", file)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1


def test_a_row_names_no_file_outside_of_the_collections(
    indexed: Path, claims: Path, qmd: Qmd, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text(NOTES["adapter-v3.md"])
    text = claims.read_text().replace(str(indexed / "adapter-v3.md"), str(outside))
    claims.write_text(text.replace("notes/", "notes/9"))
    assert "source-not-found" in qmd("cite", "--check", claims).stdout
