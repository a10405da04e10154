"""Citations, and claims that rest on them, through the command line."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmd_py import ledger
from qmd_py.ledger import Claim
from qmd_py.visible import one_line
from tests import papers
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
    assert text.splitlines()[-2].startswith(
        "| Upgrades \\| serve | [Adapter three > Schema upgrade](file://"
    )
    assert "Quaggacurrent: an upgrade of the schema runs while the adapter serves." in text
    assert text.endswith("| needs-human-verification |\n\n")


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
        note.write_text(text)
        qmd("index", indexed, "--no-embed")
        note.write_text(changed)
        # until that is indexed, two texts stand under one revision
        assert "revision-changed" in qmd("cite", "--check", claims).stdout
        qmd("index", indexed, "--no-embed")
        result = qmd("cite", "--check", claims)
        assert (result.exit_code, result.stdout) == (2, f"line 10  {reason}  Upgrades | serve\n")
    note.unlink()
    assert "source-not-found" in qmd("cite", "--check", claims).stdout


def test_a_note_that_moved_is_told_with_its_new_address(
    indexed: Path, claims: Path, qmd: Qmd, policy: Path
) -> None:
    moved = indexed / "moved.md"
    (indexed / "adapter-v3.md").rename(moved)
    qmd("index", indexed, "--no-embed")
    now = f"file://{moved}#schema-upgrade"
    told = qmd("cite", "--check", claims)
    assert (told.exit_code, told.stdout) == (2, f"line 10  source-moved  Upgrades | serve  {now}\n")
    checked = json.loads(qmd("cite", "--check", claims, "--json").stdout)
    assert (checked[0]["reason"], checked[0]["moved_to"]) == ("source-moved", now)
    moved.write_text(moved.read_text().replace("[engineering-read, ops]", "hr"))
    assert "moved.md" not in qmd("cite", "--check", claims, "--policy", policy).output
    moved.write_text(moved.read_text() + "more\n")
    assert "source-not-found" in qmd("cite", "--check", claims).stdout


def test_a_renamed_collection_is_told_as_one_that_moved(
    indexed: Path, claims: Path, qmd: Qmd
) -> None:
    qmd("collection", "rename", "notes", "diary")
    now = f"file://{indexed}/adapter-v3.md#schema-upgrade"
    told = qmd("cite", "--check", claims)
    assert (told.exit_code, told.stdout) == (2, f"line 10  source-moved  Upgrades | serve  {now}\n")
    claims.write_text(claims.read_text().replace("v3", "v2"))
    assert "source-not-found" in qmd("cite", "--check", claims).stdout


@pytest.mark.parametrize(
    "name", ["adapter-v3.md#schema-upgrade", "adapter-v3.md:8", "{pid}:10", "{record}", "{uri}"]
)
def test_a_place_that_a_name_tells_is_cited(name: str, indexed: Path, qmd: Qmd) -> None:
    told = json.loads(qmd("cite", "adapter-v3.md", "Schema upgrade", "--json").stdout)["citation"]
    uri, record = told["uri"], told["record_id"]
    named = name.format(pid=record.split("/")[1], record=record, uri=uri)
    assert json.loads(qmd("cite", named, "--json").stdout)["citation"]["uri"] == uri


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", "## Pool\nA fixed pool bounds concurrency.\n\nLunch is at noon.\n"),
        ("a.md", "Pool\n----\nA fixed pool bounds concurrency.\n\nLunch is at noon.\n"),
        ("a.md", "## Pool\n\n### Fixed pool\nA fixed pool bounds concurrency.\n\nLunch.\n"),
        ("a.md", "## Pool\n\n#pool A fixed pool bounds concurrency.\n\nLunch is at noon.\n"),
        ("a.org", "* Pool\nA fixed pool bounds concurrency.\n\nLunch is at noon.\n"),
        ("a.org", "* Pool\n\nLunch is at noon.\n** Fixed pool\nA fixed pool bounds concurrency.\n"),
    ],
)
def test_the_paragraph_nearest_to_the_claim_is_quoted_without_headings(
    name: str, text: str, folder: Path, qmd: Qmd
) -> None:
    (folder / name).write_text(text)
    qmd("index", folder, "--no-embed")
    made = qmd("cite", name, "Pool", "--claim", "a fixed pool bounds concurrency", "--json")
    fragment = json.loads(made.stdout)["claim"]["fragment"]
    assert fragment.removeprefix("#pool ") == "A fixed pool bounds concurrency."


def test_claims_as_json(indexed: Path, qmd: Qmd, tmp_path: Path) -> None:
    file = tmp_path / "claims.jsonl"
    file.write_text(cited(indexed, qmd, "--json", "--quote", "Quaggacurrent:  an\nupgrade"))
    told = json.loads(file.read_text())
    assert told["citation"]["revision"] == "v3"
    assert told["claim"]["fragment"] == "Quaggacurrent: an upgrade"
    checked = json.loads(qmd("cite", "--check", file, "--json").stdout)
    assert [(row["line"], row["reason"]) for row in checked] == [(1, None)]


@pytest.mark.parametrize("name", ["a.org", "a.mdx", "a.py", "a.pdf"])
def test_notes_of_every_kind_can_be_cited_and_checked(
    name: str, folder: Path, qmd: Qmd, tmp_path: Path
) -> None:
    note = folder / name
    note.write_bytes(
        papers.pdf(papers.HANDBOOK, papers.BOOKMARKS) if "pdf" in name else KINDS[name]
    )
    assert qmd("collection", "add", folder, "--glob", "*", "--no-embed").exit_code == 0
    (entry,) = (
        one
        for one in json.loads(qmd("toc", name, "--json").stdout)["toc"]
        if one["title"] == "Cones"
    )
    file = tmp_path / "claims.md"
    made = qmd("cite", name, *entry["path"], "--claim", "a cone measures heatwork")
    file.write_text(made.stdout)
    told = qmd("cite", "--check", file)
    assert (told.exit_code, told.stdout.count("  holds  ")) == (0, 1), made.output + told.output
    forged = file.read_text().replace("heatwork, not temperature", "temperature, not heatwork")
    file.write_text(forged)
    assert "fragment-not-found" in qmd("cite", "--check", file).stdout
    note.write_bytes(note.read_bytes() + b"\n")
    assert "revision-changed" in qmd("cite", "--check", file).stdout


KINDS = {
    "a.org": b"* Loading\nDry it.\n** Cones\nA cone measures heatwork, not temperature.\n",
    "a.mdx": b"# Loading\n\nDry.\n\n## Cones\n\nA cone measures heatwork, not temperature.\n",
    "a.py": b"class Cones:\n    'A cone measures heatwork, not temperature.'\n",
}


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
        (("cite", "--check", "nowhere.md", "--quote", "x"), "goes alone"),
        (("cite", "--check", "nowhere.md", "--limitation", ""), "goes alone"),
        (("cite", "adapter-v3.md", "Schema upgrade", "--claim", "x" * 100_001), "too long"),
    ],
)
def test_wrong_citations(args: tuple[str, ...], says: str, indexed: Path, qmd: Qmd) -> None:
    result = qmd(*args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "text",
    ["", "no table", "| a | b |", "{", "| a | [b](c) | d | e | f |", '{"claim": null}',
     "[" * 50_000, '{"a":' * 50_000, "| claim | link |\n|---|---|\n| a | b |"],
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


@pytest.mark.parametrize(
    "row", ["|" * 100_001, "x" * 100_001, "| a |", "a", "| a | b | c | d | e |"]
)
def test_no_row_under_a_head_is_passed_over(row: str) -> None:
    for rule in ("", "|---|---|---|---|---|\n"):
        (read,) = ledger.read(
            f"| Claim | Link | Fragment | Limitation | Status |\n{rule}{row}\n\n{row}\n"
        )
        assert not read.readable
        assert len(read.claim.claim) <= 200


def one_row(file: Path) -> str:
    return next(line for line in file.read_text().splitlines() if "](file://" in line)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(file:///", "(https://evil.example/"),
        ("(file:///", "(file://host/"),
        ("(file:///", "(javascript:alert(1)///"),
        ("(file:///", "(http://[::1"),
        ("(file:///", "(FILE:///"),
        ("#schema-upgrade", "#adapter-three"),
        ("#schema-upgrade", "#Schema-upgrade"),
        ("#schema-upgrade", ""),
        ("/schema-upgrade @", "/adapter-three @"),
        ("/schema-upgrade @", "/ @"),
        ('"notes/', '"other/'),
        ("@ front-matter", "@ git"),
        ("@ front-matter", "@ content"),
        ("@ front-matter v3", "@ front-matter v2"),
        ("@ front-matter v3", "@ v3"),
        ("Quaggacurrent: an upgrade of the schema runs while the adapter serves.", " "),
        ("Quaggacurrent: an upgrade of the schema runs while the adapter serves.", "|"),
        ("(file:///", "](" * 15_000),
        ("(file:///", "[" * 50_000),
        ("(file:///", "x" * 200_000),
        ("| Upgrades", "\udc80 | Upgrades"),
        (" | needs-human-verification |", ""),
    ],
)
def test_a_forged_row_does_not_hold(
    old: str, new: str, indexed: Path, claims: Path, qmd: Qmd
) -> None:
    text = claims.read_text()
    assert old in text
    claims.write_bytes(text.replace(old, new).encode(errors="surrogateescape"))
    result = qmd("cite", "--check", claims)
    assert result.exit_code == 2
    assert "holds" not in result.output
    assert not result.exception or isinstance(result.exception, SystemExit)


@pytest.mark.parametrize(
    "changed",
    [
        lambda row: row,
        lambda row: "> " + row,
        lambda row: row.removeprefix("| "),
        lambda row: row.removesuffix(" |"),
        lambda row: row.removeprefix("| ").removesuffix(" |"),
        lambda row: "   " + row.replace(" | ", "  |\t"),
    ],
)
def test_rows_are_read_however_they_are_framed(
    changed: Callable[[str], str], indexed: Path, claims: Path, qmd: Qmd
) -> None:
    row = one_row(claims)
    claims.write_text(claims.read_text().replace(row, changed(row)))
    assert qmd("cite", "--check", claims).exit_code == 0
    claims.write_text("text\n\n" + changed(row) + "\n")  # its head got lost
    assert qmd("cite", "--check", claims).exit_code == 0
    claims.write_text(claims.read_text().replace("v3", "v2"))
    assert qmd("cite", "--check", claims).exit_code == 2


def test_one_row_that_cannot_be_read_does_not_hide_the_others(
    indexed: Path, claims: Path, qmd: Qmd
) -> None:
    others = "\n| a | b |\n|---|---|\n| c | d |\n\n{ text\n| more text\n\n"
    row = one_row(claims)
    claims.write_text(others + claims.read_text().rstrip() + f"\n| broken |\n{row}\n" + others)
    told = qmd("cite", "--check", claims)
    assert told.exit_code == 2
    assert [line.split("  ")[1] for line in told.stdout.splitlines()] == [
        "holds",
        "malformed-row",
        "holds",
    ]


@pytest.mark.parametrize(
    "title",
    ["{c}", "[x", "| claim | link |", "<!-- x", "``` x", "a \\| b", "# x", "> x", "&#93;", "a\\"],
)
def test_what_cite_appends_can_be_checked(
    title: str, folder: Path, qmd: Qmd, tmp_path: Path
) -> None:
    (folder / "a.md").write_text(
        f"---\ntitle: '{title}'\nrevision: r1\n---\n## Gnu {title}\n\ngnu\n"
    )
    qmd("index", folder, "--no-embed")
    anchor = json.loads(qmd("toc", "a.md", "--json").stdout)["toc"][0]["anchor"]
    file = tmp_path / "claims.md"
    made = qmd("cite", "a.md", f"#{anchor}", "--claim", f"claims {title}")
    file.write_text(made.stdout * 3)
    told = qmd("cite", "--check", file)
    assert (told.exit_code, told.stdout.count("  holds  ")) == (0, 3), made.output + told.output
    lines = [
        qmd("cite", "a.md", f"#{anchor}", "--json", *more).stdout for more in ((), ("--claim", "x"))
    ]
    file.write_text("".join(lines) * 2)
    assert qmd("cite", "--check", file).stdout.count("  holds  ") == 2


def test_a_heading_puts_no_link_of_its_own_into_a_row() -> None:
    place = 'See ](https://evil.example/ "t") [\\](x) `<b> \u202e\x1b'
    claim = Claim("c", one_line(place), "file:///n.md#see", "v/1/see", "git", "git:ab", "words")
    row = ledger.table([claim])
    link = row.splitlines()[2].split(" | ")[1]
    assert re.findall(r"(?<!\\)(?:\\\\)*\](.)", link) == ["("]
    assert [one.claim for one in ledger.read(row)] == [claim]


odd = st.text(st.sampled_from('ab |\\[]()"<`>{}@#%& \n\u202e'), min_size=1, max_size=12)


@given(st.lists(st.tuples(odd, odd, odd, odd, odd), min_size=1, max_size=3))
def test_whatever_is_written_is_read(told: list[tuple[str, ...]]) -> None:
    kept = [
        Claim(
            one_line(claim), one_line(place), "file:///a%28b.md#x", f"v/1/{one_line(anchor)}",
            "front-matter", one_line(f"r {revision}").replace(" ", ""), one_line(words), "l",
        )
        for claim, place, anchor, revision, words in told
    ]  # fmt: skip
    assert [row.claim for row in ledger.read(ledger.table(kept))] == kept


def test_a_proof_is_told_and_not_guessed(folder: Path, qmd: Qmd, tmp_path: Path) -> None:
    policy = tmp_path / "git.toml"
    policy.write_text('version = "1"\nlabels = []\nunlabelled = "open"\nproofs = ["git"]\n')
    for revision in ("git:evil", "sha256:abc", 'r 1 %20 "x"'):
        (folder / "a.md").write_text(f"---\nrevision: '{revision}'\n---\n# Gnu\n\ngnu\n")
        qmd("index", folder, "--no-embed")
        file = tmp_path / "claims.md"
        file.write_text(qmd("cite", "a.md", "Gnu", "--claim", "x").stdout)
        assert qmd("cite", "--check", file).exit_code == 0
        told = qmd("cite", "--check", file, "--policy", policy)
        assert (told.exit_code, "missing-revision" in told.stdout) == (2, True)


def test_a_citation_always_has_a_revision(folder: Path, qmd: Qmd, tmp_path: Path) -> None:
    policy = tmp_path / "any.toml"
    policy.write_text('version = "1"\nlabels = []\nunlabelled = "open"\nrequire = []\n')
    note = folder / "a.md"
    note.write_text("# Gnu\n\ngnu\n")
    qmd("index", folder, "--no-embed")
    assert qmd("cite", "a.md", "Gnu", "--policy", policy).exit_code == 0
    note.write_text("# Gnu\n\ngnus\n")
    told = qmd("cite", "a.md", "Gnu", "--policy", policy)
    assert (told.exit_code, told.stdout) == (2, "")
    assert told.stderr.startswith("qmd: stale-index: ")
