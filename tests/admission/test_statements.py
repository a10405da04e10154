"""What the heads of notes state, also where a slip makes them none to a parser."""

import json
from pathlib import Path

import pytest

from qmd_py import visible
from qmd_py.config import Keys
from qmd_py.statements.heads import said
from qmd_py.statements.stated import Stated
from tests.conftest import Qmd

BODY = "# Gnu\n\ngnu words\n"
HIDDEN = "unclear"


def of(text: str) -> Stated:
    return said(text, Keys())


@pytest.mark.parametrize(
    "head",
    ["--- \n{}\n---\n", "\n---\n{}\n---\n", " ---\n{}\n---\n", "----\n{}\n----\n", "---\n{}\n...\n",
     "---\n{}\n", "---\n{}\n----\n", "\ufeff---\n{}\n---\n", "\u200b---\n{}\n---\n",
     "<!-- a --><!-- b -->\n---\n{}\n---\n", "+++\n{}\n+++\n", "---yaml\n{}\n---\n", "—-\n{}\n—-\n",
     "—\n{}\n—\n", "---\n" + "x: y\n" * 300 + "{}\n", "> ---\n> {}\n> ---\n", "---\r{}\n", "{}\n\n",
     "---\n- {}\n---\n", "---\nbroken: [\n{}\n---\n", "{{{}}}\n", "---\n---\n{}\n---\n--- x\n", "---\ntitle: x\n---\n---\n{}\n---\n",
     "---\nrevision: r1\n---\n\n+++\n{}\n+++\n", "# Title\n\n---\n{}\n---\n", "-x-\n{}\n---\n", "-\u200b-\n{}\n---\n", "-\n{}\n-\n"],
)  # fmt: skip
@pytest.mark.parametrize(
    "line",
    ["access: hr", '"access": [hr]', "Access : hr", "ac\u200bcess: hr", "access\u00a0: hr", "access：hr",
     "“access”: hr", "labels = ['hr']", "expires: 2020-01-01", "REVIEW_BY: 2020-01-01"],
)  # fmt: skip
def test_a_slip_in_the_fences_opens_nothing(head: str, line: str) -> None:
    found = of(head.format(line) + BODY)
    readable = found == Stated(access=("hr",)) or found.expires == "2020-01-01T00:00:00Z"
    assert readable or (not found.access_known and found.expires == HIDDEN)


@pytest.mark.parametrize("key", ["revision", "published", "expires", "access"])
def test_a_number_without_end_states_nothing(key: str) -> None:
    found = of(f"---\n{key}: !!int 0x{'f' * 4000}\n---\n{BODY}")
    assert (found.revision, found.published) == (None, None)
    assert found.expires == (HIDDEN if key == "expires" else None)
    assert found.access_known == (key != "access")


@pytest.mark.parametrize(
    "text",
    [BODY, "", "---", "---\n---\n", "---\ntitle: x\n---\n" + BODY, "---\n# access: hr\n---\n" + BODY,
     "# Access: who may read\n\ntext", "# T\n\naccess: hr\n", "---\ntitle: [\n---\n" + BODY,
     "— Кто там?\n\n— Access: hr\n", "---\n\ntext\n\n---\n\nrevision: x\n",
     "---\nmeta:\n  access: hr\n---\n" + BODY, "plain text, labels of it: none",
     "# T\n\n---\n\ntext\n", "---\ntitle: x\n---\n\n---\n\ntext\n", "---\ntitle: x\n---\n\nVersion: 2\n"],
)  # fmt: skip
def test_what_states_nothing_is_left_open(text: str) -> None:
    assert of(text) == Stated()


@pytest.mark.parametrize(
    "front",
    ["access: #hr", "access:", "access:hr:", "access: []", 'access: ""', 'access: ","', 'access: " "', "access: {}",
     'access: ["", hr]', "access: [[hr]]", "access: [null]", "Access: [eng]\naccess: [hr]",
     "access:\nlabels: eng", "base: &b {access: hr}\n<<: *b", "<<: {access: hr}",
     f"access: {'x' * 300}", "access\u200b: []", "' access': []"],
)  # fmt: skip
def test_unclear_labels_are_not_none(front: str) -> None:
    assert not of(f"---\nrevision: r1\n{front}\n---\n{BODY}").access_known


@pytest.mark.parametrize(
    ("front", "labels"),
    [
        ("access: eng", ("eng",)),
        ("access: eng, hr,", ("eng", "hr")),
        ('access: [" eng ", eng, 7]', ("eng", "7")),
        ("access: cafe\u0301", ("café",)),
        ("\u200bACCESS: hr", ("hr",)),
        ("labels: b\naccess: a", ("a",)),
        ('access: "a\\nb"', ("a b",)),
        ("Access: hr\naccess: hr", ("hr",)),
    ],
)
def test_labels(front: str, labels: tuple[str, ...]) -> None:
    found = of(f"---\n{front}\n---\n{BODY}")
    assert (found.access, found.access_known) == (labels, True)


@pytest.mark.parametrize(
    ("front", "expires"),
    [
        ("expires: 2025-01-01", "2025-01-01T00:00:00Z"),
        ("expires: 2099-01-01\nreview_by: 2025-01-01", "2025-01-01T00:00:00Z"),
        ("expires: 2099-01-01\nreview_by: soon", "soon"),
        ("expires:", HIDDEN),
        ("expires: []", HIDDEN),
        ("expires: 2025-01-01\nreview_by:", HIDDEN),
        ("expires: 2099-01-01\nExpires: 2025-01-01", HIDDEN),
        ('expires: "so\\non"', "so on"),
        ("title: x", None),
    ],
)
def test_of_several_ends_the_earliest_counts(front: str, expires: str | None) -> None:
    assert of(f"---\n{front}\n---\n{BODY}").expires == expires


@pytest.mark.parametrize(
    ("front", "revision"),
    [
        ("revision: r1", "r1"),
        ("revision:\nversion: 2", "2"),
        ("revision: 1\nRevision: 2\nversion: 3", None),
        ("revision: [1]", None),
        ('revision: "r1\\nforged  line"', "r1 forged line"),
        ('revision: "r\\e[31m\\u202E1"', "r [31m 1"),
        (f"revision: {'9' * 300}", None),
    ],
)
def test_revisions_are_one_line(front: str, revision: str | None) -> None:
    assert of(f"---\n{front}\n---\n{BODY}").revision == revision


def test_a_published_date_is_that_of_the_first_key_with_one() -> None:
    assert of("---\npublished:\ndate: 2025-01-01\n---\n").published == "2025-01-01T00:00:00Z"
    assert of("---\npublished:\n---\n").published is None
    assert of("---\npublished: once\n---\n").published == "once"


@pytest.mark.parametrize("text", ["---" * 200_000, "\n" * 500_000, "<!---->" * 100_000, "--- \n" * 100_000,
                                  "---\n" + "{" * 500_000, "\u200b" * 500_000, "—" * 300_000])  # fmt: skip
def test_no_head_takes_long(text: str) -> None:
    assert of(text).revision is None


def test_lines_show_what_they_are() -> None:
    assert visible.one_line("a\n b\u2028\x85c\u202e\x1b\ud800d") == "a b c d"
    assert visible.folded("Re\u00advi\u200bSIO\uff2e") == "revision"


def test_keys_of_the_settings_are_compared_like_those_of_notes() -> None:
    keys = Keys(revision=(), expires=(), access=("Für wen", "§"))
    for line in ("für wen: hr", "FÜR WEN: hr", "§: hr"):
        assert said(f"---\n{line}\n---\n", keys).access == ("hr",)
        assert not said(f"--- \n{line}\n---\n", keys).access_known
    nothing = Keys(revision=(), expires=(), published=(), access=())
    assert said("--- \naccess: hr\n---\n", nothing) == Stated()


def test_a_key_in_what_yaml_cannot_read_closes() -> None:
    assert not of("---\nrevision: r1access: hr\n---\n").access_known


def test_org_files_say_it_in_their_own_words(folder: Path, qmd: Qmd, tmp_path: Path) -> None:
    policy = tmp_path / "open.toml"
    policy.write_text('version = "1"\nlabels = ["eng"]\nunlabelled = "open"\n')
    for name, access in (("a", "eng"), ("b", "hr")):
        head = f"#+title: {name}\n#+access: {access}\n#+revision: 4\n"
        (folder / f"{name}.org").write_text(f"{head}\n* Zebra {name}\n\nzebra\n")
    qmd("index", folder, "--no-embed")
    answer = json.loads(qmd("search", "zebra", "--policy", policy, "--json").stdout)
    assert [hit["path"] for hit in answer["results"]] == ["a.org"]
    assert answer["evidence"][0]["revision"] == "4"


def test_a_document_is_known_by_its_bytes(folder: Path, qmd: Qmd, tmp_path: Path) -> None:
    policy = tmp_path / "open.toml"
    policy.write_text('version = "1"\nlabels = []\nunlabelled = "open"\n')
    file = folder / "a.html"
    file.write_text("<h1>Zebra</h1><p>zebra stripes")
    qmd("index", folder, "--no-embed")
    answer = json.loads(qmd("search", "zebra", "--policy", policy, "--json").stdout)
    assert answer["evidence"][0]["proof"] == "content"
    file.write_text("<h1>Zebra</h1><p>gnu spots")
    answer = json.loads(qmd("search", "zebra", "--policy", policy, "--json").stdout)
    assert (answer["status"], answer["reasons"]) == ("stop", ["missing-revision"])
