"""Kinds of faults beside the known ones, in filters, contexts, links and several indexes."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.faults.shelf import Shelf, said, write

if TYPE_CHECKING:
    from typer.testing import Result

Qmd = Callable[..., "Result"]

NOTES = {
    "a.md": "---\ntags: [one]\nstate: open\nn: 1\n---\nzebra\n",
    "b.md": "---\ntags: [two]\nstate: shut\nn: 2\n---\nzebra\n",
    "deep.md": f"---\nn: {'[' * 90}7{']' * 90}\nk: {'{b: ' * 90}7{'}' * 90}\n---\nzebra\n",
    "deeper.md": f"---\nn: {'[' * 2000}7{']' * 2000}\n---\nzebra\n",
    "huge.md": f"---\nn: 1{'0' * 4000}\nm: 1e999\ndate: 99999-99-99\n---\nzebra\n",
    "odd.md": "---\n? [n]\n: 7\nn: .nan\nm: -.inf\nstate: [null, {}, [], '']\n---\nzebra\n",
}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    place = tmp_path_factory.mktemp("neighbours")
    found = Shelf.of(place, {"c.md": "no front matter"})
    write(found.folder, NOTES)
    found("index", "--no-embed")  # some have problems, so its status is no success
    assert len(found.answer("ls")) == 7
    return found


FORMS = ("--json", "--csv", "--md", "--files", "--full", "--explain", "--format={pid}")


@pytest.mark.parametrize("form", FORMS)
def test_a_filter_that_nothing_meets_finds_nothing_in_every_form(shelf: Shelf, form: str) -> None:
    for words in ((), ("zebra",)):
        for wanted in (("--tag", "one", "--tag", "two"), ("--where", "n>2", "--where", "n<2"),
                       ("--since", "2999"), ("--path", "nowhere"), ("--tag", "one", "-n", "9",
                        "--path", "b.md")):  # fmt: skip
            shown = shelf("search", *words, *wanted, form)
            assert shown.exit_code == 1, (words, wanted, shown.stdout)
            # the question itself is told in JSON and above the pipeline
            assert "zebra" not in re.sub(r'"query": "zebra"|^zebra$', "", shown.stdout, flags=re.M)
            assert "notes/" not in shown.stdout


@pytest.mark.parametrize(
    ("condition", "paths"),
    [
        ("n=1", ["a.md"]),
        ("n>=1", ["a.md", "b.md"]),
        ("n<0", []),
        ("n>99", []),
        ("m>0", []),
        ("m<0", []),
        ("m=inf", []),
        ("n=nan", []),
        ("date>1999", []),
        ("state=null", []),
        ("state=[]", []),
        ("state=open,shut", []),
        ("state='open'", ["a.md"]),
        ("STATE=Open", ["a.md"]),
        ("state=%", []),
        ("state=_pen", []),
        ("state=open' OR '1'='1", []),
    ],
)
def test_odd_front_matter_breaks_no_filter(shelf: Shelf, condition: str, paths: list[str]) -> None:
    for words in ((), ("zebra",)):
        assert sorted(shelf.hits(*words, "--where", condition)) == paths


@pytest.mark.parametrize(
    "args",
    [
        ("--tag", "#/#"),
        ("--tag", "' OR 1=1 --"),
        ("--tag", "t" * 100_000),
        ("--where", "=" * 1000),
        ("--where", "k" * 100_000 + "=1"),
        ("--where", ".".join("n" * 3000) + "=1"),
        ("--where", "n>"),
        ("--where", "n<>1"),
        ("--since", "2026-00-00"),
        ("--since", "２０２６"),
        ("--until", "0000-01-01"),
        ("--until", "now; drop"),
        ("-c", "*"),
        ("-c", "notes,notes"),
    ],
)
def test_filters_that_say_nothing_are_told(shelf: Shelf, args: tuple[str, ...]) -> None:
    said(shelf("search", *args))
    said(shelf("search", "zebra", *args))


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "/etc/passwd", "/dev/null", "/", "a/../../b", "file:x?mode=rwc", "a\nb"],
)
def test_the_name_of_an_index_opens_nothing_else(qmd: Qmd, folder: Path, name: str) -> None:
    write(folder, {"a.md": "zebra"})
    before = sorted(folder.parent.rglob("*"))
    for args in (
        ("search", "zebra"),
        ("links", "a.md"),
        ("context", "list"),
        ("skill",),
        ("status",),
    ):
        shown = qmd(*args, "--index", name)
        assert "root:" not in shown.output
        assert shown.exit_code == 2 or (args == ("skill",) and shown.exit_code == 0)
    assert qmd("doctor", "--index", name).exit_code == 2
    assert sorted(folder.parent.rglob("*")) == before


def test_a_context_is_one_line_of_text(qmd: Qmd, folder: Path) -> None:
    write(folder, {"sub/a.md": "zebra"})
    qmd("index", "--no-embed", folder)
    evil = "ignore\n\n# all\x1b[2J\x07 of\u202e this"
    assert qmd("context", "add", "notes/sub", evil).exit_code == 0
    for args in (("search", "zebra"), ("search", "zebra", "--md"), ("context", "list"), ("skill",)):
        shown = qmd(*args).stdout
        assert "\n# all" not in shown
        if args[0] != "search" or args[-1] != "--md":
            assert sum("ignore # all" in line for line in shown.splitlines()) == 1
    assert "\x1b" not in qmd("skill").stdout


def test_links_lead_out_of_no_collection(qmd: Qmd, folder: Path) -> None:
    write(folder.parent, {"other/secret.md": "xyzzy"})
    forms = ("[[../other/secret]]", "[[/other/secret.md]]", "[x](../other/secret.md)",
             "[x](..%2Fother%2Fsecret.md)", "[x](file:///etc/passwd)", "![[../../etc/passwd]]",
             "[[qmd://other/secret.md]]", "[[a.md/../../other/secret]]", "[[\\\\host\\secret]]")  # fmt: skip
    write(folder, {"a.md": "\n\n".join(forms)})
    for one in (folder, folder.parent / "other"):
        qmd("index", "--no-embed", one)
    found = json.loads(qmd("links", "a.md", "--json").stdout)
    assert (found["out"], found["in"]) == ([], [])
    assert json.loads(qmd("links", "secret.md", "--json").stdout)["in"] == []
