"""Every file that is a note is one note, under the very name it has, and nothing else is."""

import json
import os
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.faults.shelf import Notes, Shelf, said, write

if TYPE_CHECKING:
    from typer.testing import Result

Qmd = Callable[..., "Result"]

ODD_NAMES = (
    "my file.md",
    "my-file.md",
    "my_file.md",
    "# Meeting & Co (Q4) [x].md",
    "README.md",
    "readme.md",
    "100% #1?.md",
    "'quoted' \"twice\".md",
    "-leading-dash.md",
    "D: drive\\back.md",
    "semi;colon&and|pipe$HOME`x`.md",
    "emoji 🚀.md",
    "deep/er/and deeper/x.md",
    "line\nend.md",
    ".md.md",
    "B.MD",
    "c.Markdown",
)
YAML: Notes = {
    "links.md": "---\nfamily: [[A]]  [[B]]\n---\nbody quagga",
    "tab.md": "---\n\tindent: x\n---\nbody quagga",
    "colons.md": "---\na: b: c\n---\nbody quagga",
    "twice.md": "---\na: 1\na: 2\n---\nbody quagga",
    "template.md": "---\ndate: {{date}}\n---\nbody quagga",
    "list.md": "---\n- a\n- b\n---\nbody quagga",
    "odd-tag.md": "---\na: !!python/object/apply:os.system ['touch pwned']\n---\nbody quagga",
    "anchor.md": "---\na: &x [1]\nb: *x\n---\nbody quagga",
    "quote.md": "---\ntitle: 'open\n---\nbody quagga",
    "open.md": "---\ntitle: never closed\n\nbody quagga",
    "nul.md": "---\ntitle: a\0b\n---\nbody quagga",
    "number.md": f"---\na: !!int 0x{'f' * 4000}\n---\nbody quagga",
    "emoji.md": "---\ntitle: \U0001f680 @x `y` %z\n---\nbody quagga",
}
METADATA: Notes = {
    "json.md": '---\naliases: \'["zettelkasten","slipbox"]\'\n---\nx',
    "scalar.md": "---\nalias: zettelkasten\n---\nx",
    "comma.md": "---\naliases: one, zettelkasten\n---\nx",
    "flow.md": "---\naliases: [one, zettelkasten]\n---\nx",
    "block.md": "---\naliases:\n  - zettelkasten\n  - null\n---\nx",
    "tag.md": "---\ntags: zettelkasten\n---\nx",
    "hash.md": "---\ntags: '#a, #zettelkasten'\n---\nx",
    "title.md": "---\ntitle: Zettelkasten\ntags: [a]\n---\n",
}
MARKDOWN: Notes = {
    "rules.md": "---\n\n# Heading\n\nquagga\n\n---\n\nmore",
    "lists.md": "- - 3\n- 2. quagga\n* -",
    "table.md": "| a |\n|--\n| quagga",
    "rule.md": "***\n___ quagga\n- - -",
    "html.md": "<div><p>quagga",
    "reference.md": "[a]: <b 'quagga",
    "escapes.md": "\\# \\quagga \\",
    "entity.md": "&#0; &#xD800; &bogus; quagga",
    "tilde.md": "~~~\nquagga",
    "math.md": "$$\n\\frac{quagga}{2}\n$$",
    "footnote.md": "[^1]: quagga\n[^1]: twice",
    "nested.md": "> - > 1. > - quagga",
}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    notes = {name: f"Text {at} of zebras." for at, name in enumerate(ODD_NAMES)}
    return Shelf.of(tmp_path_factory.mktemp("files"), notes)


def listed(qmd: Qmd) -> list[str]:
    return [note["path"] for note in json.loads(qmd("ls", "--json").stdout)]


def test_every_name_is_one_note(shelf: Shelf) -> None:
    assert sorted(shelf.hits("zebras", "-n", "99")) == sorted(set(ODD_NAMES) - {".md.md"})


@pytest.mark.parametrize("name", sorted(set(ODD_NAMES) - {".md.md"}))
def test_a_note_opens_by_the_path_that_is_printed(shelf: Shelf, name: str) -> None:
    text = f"Text {ODD_NAMES.index(name)} of zebras.\n"
    for reference in (name, f"notes/{name}", str(shelf.folder / name), str(shelf.pid(name))):
        assert shelf("get", "--", reference).stdout == text
    (hit,) = (hit for hit in shelf.answer("search", "zebras", "-n", "99")["results"]
              if hit["path"] == name)  # fmt: skip
    assert hit["source"]["uri"] == (shelf.folder / name).as_uri()


def test_a_name_in_another_case_is_the_same_note_moved(qmd: Qmd, folder: Path) -> None:
    write(folder, {"Note.md": "zebras"})
    qmd("index", "--no-embed", folder)
    pid = json.loads(qmd("ls", "--json").stdout)[0]["pid"]
    (folder / "Note.md").rename(folder / "note.md")
    assert qmd("index", "--no-embed").stdout == "notes: 1 moved\n"
    (note,) = json.loads(qmd("ls", "--json").stdout)
    assert (note["pid"], note["path"]) == (pid, "note.md")


def test_both_unicode_forms_of_a_name_open(qmd: Qmd, folder: Path) -> None:
    name = unicodedata.normalize("NFD", "Café é.md")
    write(folder, {name: "zebras"})
    qmd("index", "--no-embed", folder)
    for form in ("NFC", "NFD"):
        assert qmd("get", unicodedata.normalize(form, name)).stdout == "zebras\n"


def test_new_text_is_found_after_an_update_and_old_text_is_not(qmd: Qmd, folder: Path) -> None:
    write(folder, {"a.md": "old zebras", "b.md": "gone zebras"})
    qmd("index", "--no-embed", folder)
    write(folder, {"a.md": "new gnus"})
    (folder / "b.md").unlink()
    shown = qmd("search", "zebras")
    assert "run 'qmd index'" in shown.stderr
    assert "is gone since it was indexed: run 'qmd index'" in said(qmd("get", "b.md"))
    qmd("index", "--no-embed")
    assert qmd("search", "zebras").exit_code == 1
    assert qmd("search", "gnus").exit_code == 0


def test_a_note_that_became_a_pipe_keeps_nobody_waiting(qmd: Qmd, folder: Path) -> None:
    write(folder, {"zebra.md": ""})
    qmd("index", "--no-embed", folder)
    (folder / "zebra.md").unlink()
    os.mkfifo(folder / "zebra.md")
    assert "has changed since it was indexed" in qmd("search", "zebra").stderr
    assert "is not a regular file" in said(qmd("get", "zebra.md"))
    assert "is not a regular file" in said(qmd("section", "zebra.md"))


def test_a_disk_that_is_not_there_loses_nothing(qmd: Qmd, folder: Path) -> None:
    write(folder, {"a.md": "zebras", "sub/b.md": "gnus"})
    qmd("index", "--no-embed", folder)
    away = folder.rename(folder.with_name("away"))
    for _ in range(2):
        shown = qmd("index", "--no-embed")
        assert shown.exit_code == 2
        assert "--prune" in shown.stderr
    folder.mkdir()  # an empty mount point
    assert "--prune" in qmd("index", "--no-embed").stderr
    shown = qmd("search", "zebras")
    assert (shown.exit_code, shown.stdout) == (1, "")
    assert "gone" in shown.stderr
    folder.rmdir()
    away.rename(folder)
    assert qmd("search", "zebras").exit_code == 0
    assert qmd("index", "--no-embed").stdout == "notes: nothing changed, 2 notes\n"
    (folder.rename(away) / "a.md").unlink()
    assert qmd("index", "--no-embed", "--prune").exit_code == 0
    assert listed(qmd) == []


def test_what_cannot_be_read_is_named_and_the_rest_goes_on(qmd: Qmd, folder: Path) -> None:
    write(
        folder, {"a.md": "zebras", "z.md": "zebras", "bin.md": b"\x7fELF\0\0\xff\xfe", "d.md/x": ""}
    )
    write(
        folder, {"latin.md": "zèbres zebras".encode("latin-1"), "cp.md": "зебры".encode("cp1251")}
    )
    write(folder / os.fsdecode(b"caf\xe9"), {"inside.md": "zebras"})
    os.mkfifo(folder / "pipe.md")
    (folder / "dangling.md").symlink_to("nowhere")
    shown = qmd("index", "--no-embed", folder)
    assert shown.exit_code == 2
    for name in ("bin.md", "latin.md", "cp.md", "caf\\xe9"):
        assert name in shown.stderr
    for name in ("pipe.md", "dangling.md"):
        assert name in shown.output
    assert listed(qmd) == ["a.md", "cp.md", "latin.md", "z.md"]
    assert qmd("search", "zebras").exit_code == 0


def test_a_loop_of_links_ends(qmd: Qmd, folder: Path) -> None:
    write(folder, {"d/a.md": "zebras"})
    (folder / "d/loop").symlink_to("..")
    (folder / "d/self.md").symlink_to("self.md")
    (folder / "d/down").symlink_to(".")
    qmd("index", "--no-embed", folder)
    assert listed(qmd) == ["d/a.md"]


def test_links_lead_nowhere_outside(qmd: Qmd, folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(tmp_path, {"outside/secret.md": "zebras"})
    write(folder, {"a.md": "gnus"})
    (folder / "file.md").symlink_to(outside / "secret.md")
    (folder / "folder").symlink_to(outside)
    (folder / "node_modules").symlink_to(outside)
    shown = qmd("index", "--no-embed", folder)
    assert "file.md is a symbolic link" in shown.output
    assert listed(qmd) == ["a.md"]
    assert qmd("search", "zebras").exit_code == 1
    assert "no note at" in said(qmd("get", "file.md"))
    assert "no note at" in said(qmd("get", "folder/secret.md"))
    assert qmd("index", "--no-embed", folder / "folder").exit_code == 0  # asked for by name
    assert qmd("search", "zebras").exit_code == 0


def test_rules_that_change_take_notes_out_and_bring_them_back(qmd: Qmd, folder: Path) -> None:
    write(
        folder, {"a.md": "x", "drafts/b.md": "x", "drafts/keep.md": "x", "node_modules/r.md": "x"}
    )
    qmd("index", "--no-embed", folder)
    assert listed(qmd) == ["a.md", "drafts/b.md", "drafts/keep.md"]
    write(folder, {".gitignore": "drafts/*\n!drafts/keep.md\n"})
    assert qmd("index", "--no-embed").stdout == "notes: 1 removed, 2 unchanged\n"
    assert listed(qmd) == ["a.md", "drafts/keep.md"]
    (folder / ".gitignore").unlink()
    qmd("index", "--no-embed")
    assert listed(qmd) == ["a.md", "drafts/b.md", "drafts/keep.md"]


def test_a_folder_inside_another_is_told(qmd: Qmd, folder: Path) -> None:
    write(folder, {"a.md": "zebras", "sub/b.md": "zebras"})
    qmd("index", "--no-embed", folder)
    for command in (["collection", "add"], ["index"]):
        shown = qmd(*command, "--no-embed", folder / "sub")
        assert shown.exit_code == 0
        assert "'sub' and 'notes' lie in each other" in shown.stderr
        assert shown.stderr.count("\n") == 1
        assert qmd("index", "--no-embed", folder / "sub").stderr == ""
        qmd("collection", "remove", "sub", "--force")
    (folder.parent / "notes2").mkdir()
    assert qmd("index", "--no-embed", folder.parent / "notes2").stderr == ""


@pytest.mark.parametrize("name", YAML)
def test_odd_front_matter_costs_no_text(qmd: Qmd, folder: Path, name: str) -> None:
    write(folder, {name: YAML[name]})
    shown = qmd("index", "--no-embed", folder)
    assert shown.stderr.count("\n") <= 1
    (hit,) = json.loads(qmd("search", "quagga", "--json").stdout)["results"]
    assert hit["path"] == name
    assert not (Path.cwd() / "pwned").exists()


def test_metadata_is_read_in_every_form(tmp_path: Path) -> None:
    shelf = Shelf.of(tmp_path, METADATA)
    assert sorted(shelf.hits("zettelkasten", "-n", "20")) == sorted(METADATA)


def test_odd_markdown_is_text(tmp_path: Path) -> None:
    shelf = Shelf.of(tmp_path, MARKDOWN)
    assert sorted(shelf.hits("quagga", "-n", "20")) == sorted(MARKDOWN)


def test_all_notes_of_a_deep_tree_are_there(qmd: Qmd, folder: Path) -> None:
    names = [f"{a}/{b}/{a}{b}{c}.md" for a in range(5) for b in range(5) for c in range(60)]
    write(folder, dict.fromkeys(names, "x"))
    assert qmd("index", "--no-embed", folder).stdout == "notes: 1500 new\n"
    assert len(listed(qmd)) == sum(1 for _ in folder.rglob("*.md")) == 1500


def test_no_folder_is_indexed_unasked(qmd: Qmd, isolated: Path) -> None:
    (Path.cwd() / "a.md").write_text("zebras")
    assert "missing argument 'DIR'" in said(qmd("collection", "add"))
    said(qmd("index"))
    assert list(isolated.iterdir()) == []


@pytest.mark.parametrize("command", [["collection", "add"], ["index"]])
def test_what_is_no_folder_is_told_by_its_full_path(
    qmd: Qmd, isolated: Path, command: list[str]
) -> None:
    (Path.cwd() / "a.md").write_text("x")
    assert f"{Path.cwd()}/nope does not exist" in said(qmd(*command, "nope"))
    assert f"{Path.cwd()}/a.md is not a folder" in said(qmd(*command, "a.md"))
    assert list(isolated.iterdir()) == []


def test_signs_of_an_address_in_the_places_of_our_files(qmd: Qmd, tmp_path: Path) -> None:
    odd = tmp_path / "we#ird?100%25 &x;"
    write(odd, {"notes/a.md": "zebras"})
    env = {
        **os.environ,
        "QMD_INDEX": "",
        **{f"XDG_{name}_HOME": str(odd / name) for name in ("CACHE", "DATA", "CONFIG")},
    }
    del env["QMD_INDEX"]
    for words in (["index", odd / "notes"], ["query", "zebras"], ["cache", "show"], ["status"]):
        command = [sys.executable, "-m", "qmd_py", *map(str, words)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert "no index" not in done.stdout
    assert {path.name for path in tmp_path.iterdir()} <= {odd.name, "home", "work", "notes"}


def test_a_folder_that_came_from_elsewhere_commands_nothing(qmd: Qmd, folder: Path) -> None:
    settings = 'index = "pwned.sqlite"\nupdate = "touch pwned"\nrerank = "/tmp/x.gguf"\n'
    names = ("config.toml", "qmd.toml", ".qmd.toml", "qmd.yml", ".qmd/config.toml", "models.toml")
    write(folder, {**dict.fromkeys(names, settings), "a.md": "zebras"})
    os.chdir(folder)
    qmd("index", "--no-embed", ".")
    assert qmd("query", "zebras").exit_code == 0
    assert not list(folder.rglob("pwned*"))


def test_a_link_waits_for_its_note(qmd: Qmd, folder: Path) -> None:
    def broken() -> set[str]:
        return {
            one["target"] for one in json.loads(qmd("links", "a.md", "--json").stdout)["broken"]
        }

    write(folder, {"a.md": "[[later]] [[Its title]] [x](sub/b.md) [[Alias]]", "z.md": "z"})
    qmd("index", "--no-embed", folder)
    assert broken() == {"later", "Its title", "sub/b.md", "Alias"}
    write(folder, {"later.md": "x"})
    qmd("index", "--no-embed")
    assert broken() == {"Its title", "sub/b.md", "Alias"}
    write(folder, {"z.md": "---\ntitle: Its title\naliases: [alias]\n---\nz", "sub/b.md": "b"})
    qmd("index", "--no-embed")
    assert broken() == set()
    assert "←2" not in qmd("search", "z").stdout  # two links of one note are one note
    (folder / "sub" / "b.md").rename(folder / "moved.md")
    qmd("index", "--no-embed")
    assert broken() == {"sub/b.md"}
