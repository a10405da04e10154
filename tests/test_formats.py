"""Files that are not Markdown, through the command line."""

import importlib.util
import json
import subprocess
import sys
import textwrap
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qmd_py.formats import kinds, parsing, reading
from tests import papers

if TYPE_CHECKING:
    from typer.testing import Result

Qmd = Callable[..., "Result"]

DOCUMENTS = Path(__file__).parent / "documents"
PEAK = '''\
    # thermocouples jump when the relay switches, so single peaks are no heat
    def peak(self, window: int = 3) -> float:
        """The hottest moment, smoothed over a window of readings."""
        temperatures = [reading.celsius for reading in self.readings]
        spans = [temperatures[at : at + window] for at in range(len(temperatures) - window + 1)]
        return max(sum(span) / window for span in spans)
'''
CANDLING = """\
## Candling

Hold the kiln at 95 degrees overnight so that steam can leave the
walls of thick pots slowly.
\\# 3 of the old schedule is no longer used.
"""


def without(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    """Let modules seem not to be installed."""
    real = importlib.util.find_spec

    def find(name: str) -> ModuleSpec | None:
        return None if name in modules else real(name)

    monkeypatch.setattr(kinds, "find_spec", find)


def headings(text: str, name: str) -> list[tuple[str, ...]]:
    return [spot.section.path for spot in parsing.parse(text, name).spots]


def test_a_pdf_and_a_python_file_are_found_and_their_sections_printed(qmd: Qmd) -> None:
    added = qmd("collection", "add", DOCUMENTS, "--glob", "*.p*", "--no-embed")
    assert (added.exit_code, added.stdout) == (0, "documents: 2 new\n")
    for words, wanted, text in (
        ("steam in thick pots", ["Firing schedules", "Candling"], CANDLING),
        ("smoothed peak thermocouples", ["FiringLog", "peak"], PEAK),
    ):
        hit = json.loads(qmd("search", words, "--json").stdout)["results"][0]
        match = hit["matches"][0]
        assert match["toc_path"] == wanted
        assert qmd("section", hit["pid"], *wanted).stdout == text
        lines = qmd("get", f"{hit['pid']}:{match['line']}:1").stdout
        assert lines.strip() in text


def test_documents_are_notes_by_default_and_code_is_not(qmd: Qmd, folder: Path) -> None:
    for file in DOCUMENTS.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    assert qmd("index", folder, "--no-embed").stdout == "notes: 1 new\n"
    assert "Kiln Handbook.pdf" in qmd("ls").stdout


def test_a_kind_whose_extra_is_missing_is_counted_and_named(
    qmd: Qmd, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.md").write_text("apples")
    for name in ("b.pdf", "c.PDF", "d.docx"):
        (folder / name).write_bytes(b"")
    without(monkeypatch, "pypdfium2", "markitdown")
    done = qmd("index", folder, "--no-embed")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == (
        "notes: 1 new, 1 passed over (1 .docx, 2 .pdf need the extra 'documents': "
        "pip install 'qmd-py[documents]')\n"
    )


def test_code_without_its_extra_is_counted_only_where_it_was_asked_for(
    qmd: Qmd, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.md").write_text("apples")
    (folder / "b.py").write_text("pears = 1")
    without(monkeypatch, "tree_sitter")
    assert qmd("index", folder, "--no-embed").stdout == "notes: 1 new\n"
    added = qmd("collection", "add", folder, "--name", "code", "--glob", "*.py", "--no-embed")
    assert "1 .py need the extra 'code': pip install 'qmd-py[code]'" in added.stdout


def test_what_is_known_of_a_file_stays_when_its_extra_goes(
    qmd: Qmd, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.md").write_text("apples")
    (folder / "b.pdf").write_bytes(papers.pdf(papers.HANDBOOK, papers.BOOKMARKS))
    qmd("index", folder, "--no-embed")
    without(monkeypatch, "pypdfium2")
    done = qmd("index", folder, "--no-embed")
    assert done.stdout.startswith("notes: nothing changed, 1 note, 1 passed over (1 .pdf need")
    assert qmd("search", "cone heatwork").exit_code == 0
    gone = qmd("section", "b.pdf", "Cones")
    assert gone.exit_code == 2
    assert "pip install 'qmd-py[documents]'" in gone.stderr


def test_a_folder_of_files_that_cannot_be_read_yet_is_not_called_empty(
    qmd: Qmd, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "b.pdf").write_bytes(papers.pdf(papers.HANDBOOK, papers.BOOKMARKS))
    qmd("index", folder, "--no-embed")
    without(monkeypatch, "pypdfium2")
    assert qmd("index", folder, "--no-embed").exit_code == 0


PROBLEMS = {
    "damaged.pdf": (b"%PDF-1.4 and nothing else", "PdfiumError"),
    "empty.docx": (b"", "BadZipFile"),
    "scan.pdf": (papers.pdf([[], []]), "holds no text: is it a scan?"),
    "bomb.docx": (papers.packed({"word/document.xml": b"\0" * 210_000_000}), "it unpacks to"),
}


def test_each_document_that_cannot_be_converted_is_named_once_and_the_rest_indexed(
    qmd: Qmd, folder: Path
) -> None:
    for name, (content, _) in PROBLEMS.items():
        (folder / name).write_bytes(content)
    (folder / "good.html").write_text("<h1>Pears</h1><p>ripen indoors")
    done = qmd("index", folder, "--no-embed")
    assert done.exit_code == 2
    for name, (_, reason) in PROBLEMS.items():
        assert any(name in line and reason in line for line in done.stderr.splitlines()), name
    assert "good.html" in qmd("search", "pears ripen").stdout
    again = qmd("index", folder, "--no-embed")
    assert (again.exit_code, again.stdout) == (0, "notes: nothing changed, 5 notes\n")
    assert "damaged.pdf" in qmd("search", "damaged").stdout
    printed = qmd("get", "damaged.pdf")
    assert printed.exit_code == 2
    assert "damaged.pdf cannot be converted: PdfiumError" in printed.stderr


def test_a_document_that_takes_too_long_is_given_up_on(
    qmd: Qmd, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "SECONDS", 0.01)
    (folder / "a.pdf").write_bytes(papers.pdf(papers.HANDBOOK))
    assert "not done after 0.01 seconds" in qmd("index", folder, "--no-embed").stderr


def test_a_document_whose_text_is_too_long_is_named(folder: Path) -> None:
    (folder / "a.html").write_text("<hr>" * 600)
    read = reading.read(folder, "a.html", 2_500)
    assert read.text == ""
    assert "longer than 2500 characters: raise max_bytes" in (read.problem or "")


def test_a_document_reads_no_other_file_and_asks_no_server(folder: Path) -> None:
    (folder / "secret.txt").write_text("the secret")
    picture = (
        '<w:p><w:r><w:drawing><wp:inline xmlns:wp="http://schemas.openxmlformats.org/drawingml/'
        '2006/wordprocessingDrawing"><a:graphic xmlns:a="http://schemas.openxmlformats.org/'
        'drawingml/2006/main"><a:graphicData><pic:pic xmlns:pic="http://schemas.openxmlformats.org/'
        'drawingml/2006/picture"><pic:blipFill><a:blip r:link="i1"/></pic:blipFill></pic:pic>'
        "</a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>"
    )
    relation = (
        '<Relationship Id="i1" Type="http://schemas.openxmlformats.org/officeDocument/2006/'
        f'relationships/image" Target="file://{folder}/secret.txt" TargetMode="External"/>'
    )
    file = folder / "a.docx"
    file.write_bytes(papers.docx([(1, "Alpha")], relation, picture))
    text = reading.read(file.parent, file.name, 10_000_000)
    assert text.text.startswith("# Alpha")
    assert "secret" not in text.text
    assert "dGhlIHNlY3JldA" not in text.text  # base64 of it


def test_a_module_in_the_folder_of_work_is_not_run(folder: Path, tmp_path: Path) -> None:
    for name in ("pypdfium2", "markitdown", "json"):
        (tmp_path / "work" / f"{name}.py").write_text("raise SystemExit('run')")
    file = folder / "a.pdf"
    file.write_bytes(papers.pdf(papers.HANDBOOK))
    assert reading.read(file.parent, file.name, 10_000_000).problem is None


OFFICE = {
    "a.docx": papers.docx([(1, "Alpha"), (0, "first"), (2, "Beta"), (0, "second")]),
    "a.pptx": papers.pptx([("Alpha", "first"), ("Beta", "second"), ("", "third")]),
    "a.epub": papers.epub("Book", ["<h1>Alpha</h1><p>first</p>", "<h1>Beta</h1><p>second</p>"]),
    "a.html": b"<title>Page</title><h1>Alpha</h1><p>first<h1>Beta</h1><p>second",
}


def test_headings_of_documents_are_sections(qmd: Qmd, folder: Path) -> None:
    for name, content in OFFICE.items():
        (folder / name).write_bytes(content)
    assert qmd("index", folder, "--no-embed").exit_code == 0
    hits = json.loads(qmd("search", "second", "--json").stdout)["results"]
    assert sorted(hit["path"] for hit in hits) == sorted(OFFICE)
    assert all(hit["matches"][0]["toc_path"] == ["Beta"] for hit in hits)
    printed = qmd("section", "a.docx", "Beta")
    assert (printed.exit_code, printed.stdout) == (0, "## Beta\n\nsecond\n")


def test_a_rule_at_the_beginning_is_no_front_matter(folder: Path) -> None:
    (folder / "a.html").write_text("<hr><p>key: value<hr><h1>Alpha</h1>")
    text = reading.read(folder, "a.html", 10_000_000).text
    assert parsing.parse(text, "a.html").front.metadata == {}


def test_slides_without_a_title_have_their_number(folder: Path) -> None:
    (folder / "a.pptx").write_bytes(OFFICE["a.pptx"])
    text = reading.read(folder, "a.pptx", 10_000_000).text
    assert headings(text, "a.pptx") == [("Alpha",), ("Beta",), ("Slide 3",)]


def converted(folder: Path, content: bytes) -> str:
    file = folder / "a.pdf"
    file.write_bytes(content)
    return reading.read(file.parent, file.name, 10_000_000).text


def test_a_pdf_without_bookmarks_has_its_pages_as_sections(folder: Path) -> None:
    text = converted(folder, papers.pdf([["One"], [], ["Two"]]))
    assert headings(text, "a.pdf") == [("Page 1",), ("Page 3",)]
    assert headings(converted(folder, papers.pdf([["One"], []])), "a.pdf") == []


def test_text_of_a_pdf_makes_no_headings_and_hides_none(folder: Path) -> None:
    odd = ["# sharp", "```", "~~~ x", "under", "====", "<!-- open", "<pre>", "---", "    ## deep"]
    text = converted(folder, papers.pdf([odd, ["End", "of it"]], [("End", 1, 1)]))
    assert headings(text, "a.pdf") == [("a",), ("End",)]


def test_a_bookmark_stands_in_place_of_the_lines_with_its_title(folder: Path) -> None:
    page = ["Before", "2.1 A long", "heading", "After", "Unseen", "End"]
    marks = [("2.1 A long heading", 1, 0), ("Not on the page *", 2, 0)]
    text = converted(folder, papers.pdf([page], marks))
    assert headings(text, "a.pdf") == [
        ("a",),
        ("2.1 A long heading",),
        ("2.1 A long heading", "Not on the page *"),
    ]
    assert "Before\n\n# 2.1 A long heading" in text
    assert text.index("# Not") < text.index("After")


def test_a_pdf_is_called_as_it_calls_itself(qmd: Qmd, folder: Path) -> None:
    (folder / "x.pdf").write_bytes(papers.pdf([["text"]], title='A "quoted": title'))
    qmd("index", folder, "--no-embed")
    assert 'A "quoted": title' in qmd("ls").stdout


@pytest.mark.parametrize("title", ["Microsoft Word - x.doc", "untitled", "thesis.DVI"])
def test_what_a_program_wrote_for_a_title_is_none(folder: Path, title: str) -> None:
    assert not converted(folder, papers.pdf([["One"]], title=title)).startswith("---")


@pytest.mark.parametrize("encoding", ["utf-16", "cp1251"])
def test_pages_in_other_encodings(folder: Path, encoding: str) -> None:
    page = f"<meta charset={encoding}><h1>Груша</h1>"
    (folder / "a.html").write_bytes(page.encode(encoding))
    assert reading.read(folder, "a.html", 10_000_000).text == "# Груша\n"


@pytest.mark.parametrize(
    ("deed", "said"),
    [
        ("import socket; socket.socket().connect(('127.0.0.1', 9))", "socket.connect"),
        ("import socket; socket.getaddrinfo('example.org', 80)", "socket.getaddrinfo"),
        ("import subprocess; subprocess.run(['true'])", "subprocess.Popen"),
        ("import os; os.system('true')", "os.system"),
        ("import os; os.remove('x')", "os.remove"),
        ("open('x', 'w')", "not cause the writing of x"),
        ("import os; os.open('x', os.O_CREAT)", "not cause the writing of x"),
        ("bytearray(3 << 30)", "MemoryError"),
    ],
)
def test_what_a_converter_may_not_do(deed: str, said: str) -> None:
    program = f"from qmd_py.formats import worker; worker._confine(5); {deed}"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert said in done.stderr.splitlines()[-1]


def test_org_headings_are_sections(qmd: Qmd, folder: Path) -> None:
    (folder / "garden.org").write_text(
        textwrap.dedent("""\
        #+TITLE: Garden year
        #+filetags: :beds:frost:
        Before all.

        * TODO [#A] Sow peas :spring:
        In March.
        #+begin_src sh
        * no heading
        #+end_src
        ** [[https://example.org][Depth]] of the seed
        Two fingers.
        * Harvest
        Late.
        *bold, no heading*
        """)
    )
    qmd("index", folder, "--no-embed")
    toc = json.loads(qmd("toc", "garden.org", "--json").stdout)
    assert toc["title"] == "Garden year"
    assert [entry["path"] for entry in toc["toc"]] == [
        ["Garden year"], ["Sow peas"], ["Sow peas", "Depth of the seed"], ["Harvest"],
    ]  # fmt: skip
    assert qmd("section", "garden.org", "Harvest").stdout == (
        "* Harvest\nLate.\n*bold, no heading*\n"
    )
    assert "garden.org" in qmd("search", "frost").stdout


def test_a_pointer_to_an_org_heading_survives_that_it_is_done() -> None:
    for state in ("", "TODO ", "DONE ", "DONE [#B] "):
        assert headings(f"* {state}Sow peas\n", "a.org") == [("Sow peas",)]
    assert headings("* TODO\n* DONE x\n", "a.org") == [("TODO",), ("x",)]


def test_javascript_in_mdx_does_no_harm(qmd: Qmd, folder: Path) -> None:
    (folder / "chart.mdx").write_text(
        textwrap.dedent("""\
        import Chart from "../chart"
        export const meta = {
          depth: "# no heading",
        }

        # Snowfall

        import of goods is no module line here, it is text

        ```js
        # no heading

        export default 3
        ```

        ## Winter

        <Chart year={2020}>melting</Chart>
        """)
    )
    qmd("index", folder, "--no-embed")
    toc = json.loads(qmd("toc", "chart.mdx", "--json").stdout)
    assert toc["title"] == "Snowfall"
    assert [entry["path"] for entry in toc["toc"]] == [["Snowfall"], ["Winter"]]
    assert qmd("section", "chart.mdx", "Winter").stdout.startswith("## Winter\n")
    assert "import Chart" in qmd("get", "chart.mdx").stdout
    assert qmd("search", "depth").exit_code == 1


def test_plain_text_is_found(qmd: Qmd, folder: Path) -> None:
    (folder / "todo.txt").write_text("Shopping\n========\n\npears\n\nChores\n------\n\nsweep\n")
    qmd("index", folder, "--no-embed")
    assert qmd("section", "todo.txt", "Chores").stdout == "Chores\n------\n\nsweep\n"


CODE = {
    "a.ts": (
        'import x from "y";\n/** Doc. */\nexport class Foo<T> {\n  a = 1;\n  bar(): void {\n  }\n}\n'
        "export const go = async () => {\n  return 1;\n};\ngo();\n",
        [("a.ts",), ("Foo",), ("Foo", "bar"), ("go",), ("go();",)],
    ),
    "a.go": (
        "package main\ntype A struct {\n}\n// Do does.\nfunc (a *A) Do() {\n}\nfunc main() {\n}\n",
        [("a.go",), ("A",), ("A.Do",), ("main",)],
    ),
    "a.rs": (
        "/// Doc\n#[derive(Debug)]\nstruct A { x: i32 }\nimpl Display for A {\n    fn fmt(&self) {}\n}\n",
        [("A",), ("Display for A",), ("Display for A", "fmt")],
    ),
    "a.cpp": (
        "namespace n {\ntemplate <class T>\nclass Q {\n  int f(int a) { return a; }\n};\n}\n"
        "static int *g(int a) {\n  return 0;\n}\nclass Later;\n",
        [("n",), ("n", "Q"), ("n", "Q", "f"), ("g",), ("class Later;",)],
    ),
    "a.c": ("#include <x>\nint main(void) {\n  return 0;\n}\n", [("a.c",), ("main",)]),
    "a.java": (
        "package p;\nclass A {\n  A() {}\n  int f() { return 1; }\n}\n",
        [("a.java",), ("A",), ("A", "A"), ("A", "f")],
    ),
    "a.rb": (
        "module M\n  class A\n    def x\n    end\n  end\nend\n",
        [("M",), ("M", "A"), ("M", "A", "x")],
    ),
    "a.sh": ("set -e\nrun() {\n  echo 1\n}\nrun\n", [("a.sh",), ("run",), ("run (2)",)]),
    "a.cs": ("class A {\n  void F() {\n  }\n}\n", [("A",), ("A", "F")]),
    "a.php": ("<?php\nfunction f() {\n}\nclass B {\n}\n", [("a.php",), ("f",), ("B",)]),
    "a.py": ("x = 1\n", []),
}  # fmt: skip


@pytest.mark.parametrize("name", CODE)
def test_classes_and_functions_are_sections(name: str) -> None:
    text, expected = CODE[name]
    assert headings(text, name) == expected


def test_a_function_ends_where_it_ends() -> None:
    document = parsing.parse("def a():\n    pass\n\n\nX = 1\n\n\ndef b():\n    pass\n", "m.py")
    shown = {spot.section.path[-1]: document.text(spot) for spot in document.spots}
    assert shown == {"a": "def a():\n    pass", "X = 1": "X = 1", "b": "def b():\n    pass"}


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"], ids=["LF", "CR LF", "CR"])
def test_lines_of_code_are_counted_whatever_ends_them(ends: str) -> None:
    document = parsing.parse("x = 1\nдва = 2\ndef f():\n    pass\n".replace("\n", ends), "m.py")
    assert [document.text(spot) for spot in document.spots][1] == "def f():\n    pass"


def test_the_signs_of_code_are_kept_in_snippets(qmd: Qmd, folder: Path) -> None:
    (folder / "a.py").write_text(
        "class A:\n    def __init__(self, *args: list[str]) -> None: ...\n"
    )
    qmd("collection", "add", folder, "--glob", "*.py", "--no-embed")
    assert "def __init__(self, *args: list[str]) -> None: ..." in qmd("search", "init args").stdout


def test_damaged_code_is_indexed_all_the_same(qmd: Qmd, folder: Path) -> None:
    (folder / "a.py").write_text("def broken(:\n  ((((\nclass 7\ndef fine():\n    return pears\n")
    (folder / "b.py").write_text("(" * 100_000)
    done = qmd("collection", "add", folder, "--glob", "*.py", "--no-embed")
    assert (done.exit_code, done.stdout) == (0, "notes: 2 new\n")
    assert "a.py" in qmd("search", "pears").stdout


def test_code_stands_in_a_fence_in_html(qmd: Qmd, folder: Path) -> None:
    (folder / "a.py").write_text('def f():\n    return "# <b>```"\n')
    qmd("collection", "add", folder, "--glob", "*.py", "--no-embed")
    html = qmd("section", "a.py", "f", "--html").stdout
    assert html == (
        '<pre><code class="language-py">def f():\n    return &quot;# &lt;b&gt;```&quot;\n'
        "</code></pre>\n"
    )


def test_a_file_that_changes_its_kind_is_read_anew(qmd: Qmd, folder: Path) -> None:
    (folder / "a.md").write_text("* Peas\ntext\n")
    qmd("index", folder, "--no-embed")
    (folder / "a.md").rename(folder / "a.org")
    assert qmd("index", folder, "--no-embed").stdout == "notes: 1 moved\n"
    assert "Peas" in qmd("toc", "1").stdout
