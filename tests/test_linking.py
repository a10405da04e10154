import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qmd_py import indexing, registry
from qmd_py.config import Settings
from qmd_py.records.notes import Link
from qmd_py.relinking import Names, Relinking
from qmd_py.store import references
from qmd_py.store.references import Named
from qmd_py.store.writer import Writer

if TYPE_CHECKING:
    from typer.testing import Result

Qmd = Callable[..., "Result"]

PATHS = (
    "Home.md", "a/Note.md", "b/Note.md", "b/deep/Other.md", "b/Проект.md", "Node.js.md", "c/x.y.txt",
)  # fmt: skip
NAMED = [
    Named(at, path, f"Title of {path}", (f"alias {at}", "Shared")) for at, path in enumerate(PATHS)
]


@pytest.mark.parametrize(
    ("source", "target", "found"),
    [
        pytest.param("Home.md", "Note", "a/Note.md", id="by name, the first by path"),
        pytest.param("b/Проект.md", "Note", "b/Note.md", id="in the same folder"),
        pytest.param("a/Note.md", "home", "Home.md", id="in any case"),
        pytest.param("Home.md", "b/Note", "b/Note.md", id="by path"),
        pytest.param("Home.md", "deep/Other", "b/deep/Other.md", id="by the end of a path"),
        pytest.param("Home.md", "eep/Other", None, id="by no part of a folder"),
        pytest.param("a/Note.md", "../b/Note.md", "b/Note.md", id="from the own folder"),
        pytest.param("a/Note.md", "./Note.md", "a/Note.md", id="in the own folder"),
        pytest.param("a/Note.md", "./Home.md", None, id="not there"),
        pytest.param("a/Note.md", "/Home", "Home.md", id="from the root"),
        pytest.param("a/Note.md", "/Note", None, id="not at the root"),
        pytest.param("Home.md", "../../Home.md", None, id="out of the collection"),
        pytest.param("Home.md", "b/проект", "b/Проект.md", id="another script"),
        pytest.param("Home.md", "Node.js", "Node.js.md", id="a dot in the name"),
        pytest.param("Home.md", "c/x.y.txt", "c/x.y.txt", id="another kind of file"),
        pytest.param("Home.md", "x.y", None, id="which needs its ending"),
        pytest.param("Home.md", "title of b/note.md", "b/Note.md", id="by title"),
        pytest.param("Home.md", "Alias  4", "b/Проект.md", id="by alias"),
        pytest.param("b/Проект.md", "shared", "b/Note.md", id="by an alias that several have"),
        pytest.param("Home.md", "..", None, id="dots alone"),
        pytest.param("Home.md", "/", None, id="a slash alone"),
    ],
)
def test_what_a_link_names(source: str, target: str, found: str | None) -> None:
    pid = Names(NAMED).find(Link(target, "", True, 1), PATHS.index(source))
    assert (None if pid is None else PATHS[pid]) == found


NOTES = {
    "a.md": "---\ntitle: First\naliases: [Eins]\n---\n[[b]] [[b#Part|x]] and [[a]].\n\n[[Nowhere#x]]\n",
    "b.md": "# Second\n\n[to a](a.md) ![[picture.png]] [doc](files/x.pdf)\n\n## Part\n\n![[c]]\n",
    "c.md": "[[Eins]] [[second]] `[[code]]`\n",
    "alone.md": "no links\n",
}


@pytest.fixture
def notes(qmd: Qmd, folder: Path) -> Path:
    for name, text in NOTES.items():
        (folder / name).write_text(text)
    assert qmd("index", "--no-embed", folder).exit_code == 0
    return folder


def links(qmd: Qmd, note: str) -> dict[str, object]:
    answer = json.loads(qmd("links", note, "--json").stdout)
    return {
        "out": [one["path"] for one in answer["out"]],
        "in": [one["path"] for one in answer["in"]],
        "broken": [one["target"] for one in answer["broken"]],
    }


def test_links_go_out_and_in_or_are_broken(qmd: Qmd, notes: Path) -> None:
    assert links(qmd, "a.md") == {"out": ["b.md"], "in": ["b.md", "c.md"], "broken": ["Nowhere"]}
    assert links(qmd, "b.md") == {"out": ["a.md", "c.md"], "in": ["a.md", "c.md"], "broken": []}
    assert links(qmd, "c.md") == {"out": ["a.md", "b.md"], "in": ["b.md"], "broken": []}
    result = qmd("links", "a.md")
    assert result.stdout.splitlines() == [
        "→  #3 notes/b.md  Second  line 5",
        "←  #3 notes/b.md  Second  line 3",
        "←  #4 notes/c.md  c  line 1",
        "✗  [[Nowhere#x]]  line 7",
    ]


def test_a_note_without_links_has_none(qmd: Qmd, notes: Path) -> None:
    result = qmd("links", "alone.md")
    assert (result.exit_code, result.stdout) == (1, "")
    assert qmd("related", "alone.md", "--hops", "3").exit_code == 1


def test_a_broken_link_leads_somewhere_once_its_note_appears(qmd: Qmd, notes: Path) -> None:
    (notes / "sub").mkdir()
    (notes / "sub" / "nowhere.md").write_text("here now")
    qmd("index", "--no-embed")
    assert links(qmd, "a.md")["out"] == ["b.md", "sub/nowhere.md"]
    (notes / "sub" / "nowhere.md").unlink()
    qmd("index", "--no-embed")
    assert links(qmd, "a.md") == {"out": ["b.md"], "in": ["b.md", "c.md"], "broken": ["Nowhere"]}
    (notes / "c.md").write_text("---\naliases: Nowhere\n---\n")
    qmd("index", "--no-embed")
    assert links(qmd, "a.md")["out"] == ["b.md", "c.md"]


def test_links_follow_a_note_that_moves(qmd: Qmd, notes: Path) -> None:
    (notes / "sub").mkdir()
    (notes / "b.md").rename(notes / "sub" / "b.md")
    qmd("index", "--no-embed")
    assert links(qmd, "a.md")["out"] == ["sub/b.md"]
    assert links(qmd, "sub/b.md")["broken"] == []


def test_collections_do_not_link_to_each_other(qmd: Qmd, notes: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "Nowhere.md").write_text("[[a]]")
    qmd("index", "--no-embed", other)
    assert links(qmd, "Nowhere.md")["broken"] == ["a"]
    assert links(qmd, "a.md")["broken"] == ["Nowhere"]


def test_hits_count_notes_that_are_linked(qmd: Qmd, notes: Path) -> None:
    (hit,) = json.loads(qmd("search", "First", "--json").stdout)["results"]
    assert hit["links"] == {"out": 1, "in": 2}
    assert qmd("search", "First").stdout.splitlines()[0].endswith("  →1 ←2")
    assert qmd("search", "no links").stdout.splitlines()[0].split()[-1][0].isdigit()


def test_hops_go_both_ways_and_end_in_a_ring(qmd: Qmd, folder: Path) -> None:
    for at, to in enumerate("bcdea"):
        (folder / f"{'abcde'[at]}.md").write_text(f"[[{to}]] [[{'abcde'[at]}]]")
    (folder / "far.md").write_text("[[c]]")
    qmd("index", "--no-embed", folder)

    def reached(hops: int) -> list[tuple[str, int, str | None]]:
        answer = json.loads(qmd("related", "a.md", "--hops", hops, "--json").stdout)["related"]
        return [(one["path"], one["hops"], one["linked"]) for one in answer]

    near = [("b.md", 1, "out"), ("e.md", 1, "in")]
    assert reached(1) == near
    assert reached(2) == [*near, ("c.md", 2, None), ("d.md", 2, None)]
    assert reached(9) == [*reached(2), ("far.md", 3, None)]
    assert qmd("related", "a.md", "--hops", 9, "-n", 1).stdout == "   1  →  #2 notes/b.md  b\n"


def test_near_notes_are_those_with_like_chunks_and_linked_ones_are_marked(
    qmd: Qmd, folder: Path
) -> None:
    (folder / "bread.md").write_text("Baking bread at home, with flour and water. [[tax]]")
    (folder / "loaf.md").write_text("A loaf of bread takes flour, water and a hot oven.")
    (folder / "tax.md").write_text("The declaration for the tax office is due in May.")
    qmd("index", folder)
    answer = json.loads(qmd("related", "bread.md", "--json").stdout)["related"]
    assert [(one["path"], one["linked"]) for one in answer] == [
        ("loaf.md", None),
        ("tax.md", "out"),
    ]
    assert 1 > answer[0]["score"] > answer[1]["score"] > 0
    (folder / "loaf.md").unlink()
    result = qmd("related", "bread.md", "-n", "1")
    assert result.stdout.split("  ", 1)[1] == "→  #3 notes/tax.md  tax\n"


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["links", "99"], "no note with pid 99"),
        (["links", "nope.md"], "no note at 'nope.md'"),
        (["related", "99"], "no note with pid 99"),
        (["related", "1", "--hops", "0"], "'--hops'"),
        (["related", "1", "--hops", "x"], "'--hops'"),
        (["related", "1"], "is not embedded yet: run 'qmd embed'"),
    ],
)
def test_wrong_input_is_told(qmd: Qmd, notes: Path, args: list[str], told: str) -> None:
    result = qmd(*args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr


def test_links_to_closed_notes_are_not_told(qmd: Qmd, folder: Path, tmp_path: Path) -> None:
    text = "---\naccess: {}\nrevision: 1\n---\n# {} xyzzy\n\n[[a]] [[b]] [[c]]\n"
    for name, access in (("a", "eng"), ("b", "hr"), ("c", "eng")):
        (folder / f"{name}.md").write_text(text.format(access, name))
    policy = tmp_path / "policy.toml"
    policy.write_text('version = "1"\nlabels = ["eng"]\nunlabelled = "closed"\n')
    qmd("index", folder)
    links = json.loads(qmd("links", "a.md", "--json", "--policy", policy).stdout)
    assert [one["path"] for one in (*links["out"], *links["in"])] == ["c.md", "c.md"]
    for hops in ((), ("--hops", 2)):
        related = qmd("related", "a.md", *hops, "--json", "--policy", policy)
        assert [one["path"] for one in json.loads(related.stdout)["related"]] == ["c.md"]
    assert "xyzzy" not in qmd("links", "b.md", "--policy", policy).output
    for command in ("search", "query"):
        found = json.loads(qmd(command, "xyzzy", "--json", "--policy", policy).stdout)["results"]
        counted = {hit["path"]: hit["links"] for hit in found}
        assert counted == {"a.md": None, "c.md": None}


_NAMES = ("a", "b", "A", "проект", "x.y")
_PLACES = st.sampled_from(
    [f"{folder}{name}.md" for folder in ("", "a/", "b/a/") for name in _NAMES]
)
_TARGETS = st.sampled_from(
    [
        *_NAMES,
        "a/b",
        "a.md",
        "../a",
        "./b.md",
        "/a",
        "..",
        ".",
        "b/..",
        "b/a/",
        "T/a",
        "tea",
        "a//b",
    ]
)
_NOTE = st.tuples(st.sampled_from(["", "a", "T/a", "tea"]), st.lists(_TARGETS, max_size=3))
_CHANGES = st.lists(
    st.dictionaries(_PLACES, st.none() | _NOTE, min_size=1, max_size=5), min_size=2, max_size=5
)


@settings(max_examples=20, deadline=None)
@given(changes=_CHANGES)
def test_after_each_change_links_lead_where_they_lead_when_all_are_looked_up(
    changes: list[dict[str, tuple[str, list[str]] | None]],
) -> None:
    with tempfile.TemporaryDirectory() as place:
        notes = Path(place, "notes")
        notes.mkdir()
        with Writer.open(Path(place, "index.sqlite")) as store:
            collection = registry.collection_for(store, notes)
            for change in changes:
                _apply(notes, change)
                indexing.update(store, collection, Settings(), prune=True)
                led = references.links(store, collection)
                with store.batch():
                    references.set_pending(store, collection, True)
                Relinking(store, collection).finish([])
                assert led == references.links(store, collection)


def _apply(notes: Path, change: dict[str, tuple[str, list[str]] | None]) -> None:
    for name, note in change.items():
        file = notes / name
        file.unlink(missing_ok=True)
        if note:
            alias, targets = note
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(
                f"---\naliases: [{alias}]\n---\n" + " ".join(f"[[{target}]]" for target in targets)
            )
