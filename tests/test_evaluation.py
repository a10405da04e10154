import json
import math
import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qmd_py.errors import UsageError
from qmd_py.evaluation import judging, questions
from qmd_py.evaluation.judging import Judged
from qmd_py.evaluation.questions import Question, QuestionSet
from qmd_py.render import styled, tables
from tests.fakes import FakeEmbedder

if TYPE_CHECKING:
    from typer.testing import Result

Qmd = Callable[..., "Result"]

LOG3 = math.log2(3)
NOTES = {
    "apples.md": "# Kinds\n\nRed apples.\n\n# Storing\n\nKeep apples cool.\n",
    "bread.md": "Bread and butter.\n",
    "my car.md": "The automobile, parked.\n",
}
GOLDEN = [
    {
        "id": "q1",
        "query": "keep apples cool",
        "relevant_paths": ["apples.md"],
        "partial_paths": [],
        "category": "food",
        "section_heading": "storing",
    },
    {"id": "q2", "query": "bread", "relevant_paths": ["bread.md"], "category": "food"},
    {"id": "q3", "query": "vehicle", "relevant_paths": ["my car.md"], "category": "other"},
]


@pytest.fixture
def notes(qmd: Qmd, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three notes, indexed and embedded by a model with a few synonyms."""
    monkeypatch.setattr("qmd_py.embedded.BuiltIn", lambda threads: FakeEmbedder())
    for name, text in NOTES.items():
        (folder / name).write_text(text)
    assert qmd("index", folder).exit_code == 0
    return folder


def written(name: str, content: object) -> Path:
    """A file in the working folder; what is not text becomes JSON."""
    file = Path(name)
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    file.write_text(text, encoding="utf-8")
    return file


def rows(result: "Result") -> dict[tuple[str, str, str], dict[str, Any]]:
    """The rows of a JSON report by set, category and measure."""
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    return {(row["set"], row["category"], row["measure"]): row for row in found}


def judged(id_: str, category: str = "all", **values: float) -> Judged:
    return Judged(id_, category, (), values, 0.01)


def test_a_golden_file_is_read(tmp_path: Path) -> None:
    decomposed = unicodedata.normalize("NFD", "Кафе й.md")
    row = {
        "id": 7,
        "query": "где кофе",
        "relevant_paths": [decomposed],
        "partial_paths": ["b.md"],
        "category": "",
        "section_heading": "Меню",
        "note": "other keys are passed over",
    }
    file = tmp_path / "set.json"
    file.write_text(json.dumps([row]))
    gains = {unicodedata.normalize("NFC", decomposed): 1.0, "b.md": 0.5}
    asked = Question("7", "где кофе", "all", gains, "Меню")
    assert questions.read(file) == QuestionSet("set", (asked,))


def test_a_path_judged_twice_counts_as_an_answer(tmp_path: Path) -> None:
    file = tmp_path / "set.json"
    row = {"id": "1", "query": "x", "relevant_paths": ["a.md"], "partial_paths": ["a.md"]}
    file.write_text(json.dumps([row]))
    assert questions.read(file).questions[0].gains == {"a.md": 1.0}


def test_trec_judgements_are_read(tmp_path: Path) -> None:
    qrels, queries = tmp_path / "set.qrels", tmp_path / "queries.tsv"
    qrels.write_text("1 0 my car.md 2\n\n1 0 b.md 0\n2\t0\tbread.md\t1\n")
    queries.write_text("2\tany bread\n1\ta vehicle\n3\tnot judged\n")
    one = Question("1", "a vehicle", "all", {"my car.md": 2.0, "b.md": 0.0})
    two = Question("2", "any bread", "all", {"bread.md": 1.0})
    assert questions.read(qrels, queries) == QuestionSet("set", (one, two))


@pytest.mark.parametrize(
    ("paths", "values"),
    [
        pytest.param(
            ["a", "b"],
            {"nDCG@5": 1, "RR": 1, "Success@1": 1, "Success@5": 1, "R@10": 1},
            id="the ideal answer",
        ),
        pytest.param(
            ["x", "a"],
            {
                "nDCG@5": (1 / LOG3) / (1 + 0.5 / LOG3),
                "nDCG@10": (1 / LOG3) / (1 + 0.5 / LOG3),
                "RR": 1 / 2,
                "Success@1": 0,
                "Success@5": 1,
            },
            id="an answer second",
        ),
        pytest.param(
            ["b"],
            {"nDCG@5": 0.5 / (1 + 0.5 / LOG3), "RR": 0, "Success@5": 0, "R@10": 0},
            id="a part of an answer alone",
        ),
        pytest.param(
            [*"uvwxyz", "a"],
            {"nDCG@5": 0, "nDCG@10": (1 / 3) / (1 + 0.5 / LOG3), "RR": 1 / 7, "R@10": 1},
            id="an answer seventh",
        ),
        pytest.param([], dict.fromkeys(judging.MEASURES, 0), id="nothing found"),
    ],
)
def test_one_answer_is_measured(paths: list[str], values: Mapping[str, float]) -> None:
    gains = {"a": 1.0, "b": 0.5}
    found = {name: measure(paths, gains) for name, measure in judging.MEASURES.items()}
    assert {name: found[name] for name in values} == pytest.approx(values)


def test_a_report_has_means_with_intervals_for_all_and_each_category() -> None:
    sets = {"s": [judged("1", "a", RR=1.0), judged("2", "a", RR=0.0), judged("3", "b", RR=1.0)]}
    found = [(row.category, row.questions, row.value) for row in judging.report(sets)]
    assert found == [("", 3, pytest.approx(2 / 3)), ("a", 2, 0.5), ("b", 1, 1.0)]
    assert all(row.low <= row.value <= row.high for row in judging.report(sets))
    assert [row.category for row in judging.report(sets, categories=False)] == [""]


def test_a_single_category_is_not_told_twice() -> None:
    assert len(judging.report({"s": [judged("1", RR=1.0), judged("2", RR=0.0)]})) == 1


def test_runs_are_compared_question_by_question() -> None:
    before = {"s": [judged("1", RR=1.0), judged("2", RR=0.25), judged("9", RR=0.0)]}
    after = {"s": [judged("2", RR=0.5), judged("1", RR=1.0), judged("8", RR=1.0)]}
    (row,) = judging.compare(before, after)
    assert (row.questions, row.value) == (2, 0.125)
    assert row.low <= 0.125 <= row.high
    (back,) = judging.compare(after, before)
    assert back.value == -0.125


def test_an_interval_of_differences_is_paired() -> None:
    before = {"s": [judged(str(n), RR=n % 2) for n in range(20)]}
    after = {"s": [judged(str(n), RR=n % 2 + 0.1) for n in range(20)]}
    (row,) = judging.compare(before, after)
    assert (row.value, row.low, row.high) == pytest.approx((0.1, 0.1, 0.1))


def test_a_measure_that_one_run_lacks_is_not_compared() -> None:
    before = {"s": [judged("1", RR=1.0)]}
    after = {"s": [judged("1", RR=1.0, section=1.0)]}
    assert [row.measure for row in judging.compare(before, after)] == ["RR"]


@pytest.mark.parametrize(
    "after",
    [
        pytest.param({"t": [judged("1", RR=1.0)]}, id="other sets"),
        pytest.param({"s": [judged("2", RR=1.0)]}, id="other questions"),
        pytest.param({}, id="nothing"),
    ],
)
def test_runs_without_common_questions_are_refused(after: dict[str, list[Judged]]) -> None:
    with pytest.raises(UsageError, match="share no set of questions"):
        judging.compare({"s": [judged("1", RR=1.0)]}, after)


def test_a_saved_run_comes_back(tmp_path: Path) -> None:
    run = {"s": (Judged("1", "кат", ("a.md",), {"RR": 0.5}, 0.25),)}
    judging.save(tmp_path / "run.json", run, {"mode": "query"})
    assert judging.load(tmp_path / "run.json") == run


def test_a_table_marks_differences_that_are_more_than_luck() -> None:
    before = {"s": [judged(str(n), RR=0.5, other=n % 2) for n in range(20)]}
    after = {"s": [judged(str(n), RR=0.25, other=n // 2 % 2) for n in range(20)]}
    names = {"RR": judging.MEASURES["RR"], "other": judging.MEASURES["RR"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judging, "MEASURES", names)
        lines = tables.measures(judging.compare(before, after), signed=True)
    marked = [text.strip() for text, style in lines[1] if style == "marked"]
    assert marked == ["-0.250"]
    assert "-0.250 -0.250…-0.250" in styled.plain(lines)


def test_eval_measures_sets_and_categories(qmd: Qmd, notes: Path) -> None:
    found = rows(qmd("eval", written("food.json", GOLDEN), "--json"))
    names = [*judging.MEASURES, "section"]
    assert [key[2] for key in found if key[:2] == ("food", "")] == names
    assert {key[1] for key in found} == {"", "food", "other"}
    for name in names:
        row = found["food", "", name]
        assert (row["value"], row["low"], row["high"]) == (1, 1, 1)
        assert row["questions"] == (1 if name == "section" else 3)
    assert ("food", "other", "section") not in found


@pytest.mark.parametrize(
    ("args", "first"),
    [
        pytest.param(["--mode", "query"], 1, id="everything"),
        pytest.param(["--mode", "vsearch"], 1, id="meaning alone"),
        pytest.param(["--mode", "search"], 2 / 3, id="words do not know the synonym"),
        pytest.param(["--without", "dense"], 2 / 3, id="nor does everything without meaning"),
    ],
)
def test_eval_measures_a_mode(qmd: Qmd, notes: Path, args: list[str], first: float) -> None:
    found = rows(qmd("eval", written("set.json", GOLDEN), "--json", *args))
    assert found["set", "", "Success@1"]["value"] == pytest.approx(first)


@pytest.mark.parametrize(
    ("heading", "accuracy"),
    [
        pytest.param("Storing", 1, id="the right one"),
        pytest.param("STORING", 1, id="case aside"),
        pytest.param("Kinds", 0, id="another"),
        pytest.param("None such", 0, id="none of the note's"),
    ],
)
def test_eval_tells_whether_the_best_place_is_the_judged_section(
    qmd: Qmd, notes: Path, heading: str, accuracy: int
) -> None:
    golden = [{**GOLDEN[0], "section_heading": heading}]
    found = rows(qmd("eval", written("set.json", golden), "--json"))
    assert found["set", "", "section"]["value"] == accuracy


def test_eval_of_trec_files(qmd: Qmd, notes: Path) -> None:
    qrels = written("set.qrels", "1 0 my car.md 1\n2 0 apples.md 1\n")
    queries = written("queries.tsv", "1\tvehicle\n2\tbread\n")
    found = rows(qmd("eval", qrels, "--queries", queries, "--json"))
    assert found["set", "", "Success@1"]["value"] == 0.5


def test_eval_in_the_words_of_another_file(qmd: Qmd, notes: Path) -> None:
    words = [{**row, "query": "автомобиль"} for row in GOLDEN]
    asked = ["eval", written("en.json", GOLDEN), "--questions", written("ru.json", words)]
    found = rows(qmd(*asked, "--json"))
    assert found["ru on en", "", "Success@1"]["value"] == pytest.approx(1 / 3)


def test_eval_of_two_sets_of_one_name_keeps_both(qmd: Qmd, notes: Path) -> None:
    Path("a").mkdir()
    Path("b").mkdir()
    files = written("a/set.json", GOLDEN[:1]), written("b/set.json", GOLDEN[1:])
    found = rows(qmd("eval", *files, "--json"))
    counts = {key[0]: row["questions"] for key, row in found.items() if key[1:] == ("", "RR")}
    assert counts == {"a/set.json": 1, "b/set.json": 2}


def test_eval_searches_where_the_judged_notes_are(qmd: Qmd, notes: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "decoy.md").write_text("bread")
    qmd("index", other)
    file = written("set.json", GOLDEN)
    assert rows(qmd("eval", file, "--json"))["set", "", "Success@1"]["value"] == 1
    beside = qmd("eval", file, "--json", "-c", "other")
    assert rows(beside)["set", "", "R@10"]["value"] == 0


def test_eval_saves_a_run_and_compares_two(qmd: Qmd, notes: Path) -> None:
    file = written("set.json", GOLDEN)
    qmd("eval", file, "--json", "--without", "dense", "-o", "words.json")
    qmd("eval", file, "--json", "-o", "all.json")
    saved = json.loads(Path("words.json").read_text())
    assert (saved["mode"], saved["without"]) == ("query", ["dense"])
    assert [one["id"] for one in saved["sets"]["set"]] == ["q1", "q2", "q3"]
    assert saved["sets"]["set"][0]["paths"][0] == "apples.md"
    found = rows(qmd("eval", "--compare", "words.json", "all.json", "--json"))
    assert found["set", "", "Success@1"]["value"] == pytest.approx(1 / 3)
    assert found["set", "other", "Success@1"]["value"] == 1
    assert found["set", "food", "Success@1"]["value"] == 0
    shown = qmd("eval", "--compare", "words.json", "all.json")
    assert shown.exit_code == 0
    assert "+1.000 +1.000…+1.000" in shown.stdout


def test_eval_runs_no_file_of_the_working_folder(qmd: Qmd, notes: Path) -> None:
    Path("json.py").write_text("open('ran', 'w').close()")
    assert qmd("eval", written("set.json", GOLDEN), "--mode", "search").exit_code == 0
    assert not Path("ran").exists()


def test_eval_prints_a_table_and_times(qmd: Qmd, notes: Path) -> None:
    shown = qmd("eval", written("set.json", GOLDEN), "--mode", "search")
    assert (shown.exit_code, shown.stderr) == (0, "")
    head, whole, food, other, times = shown.stdout.splitlines()
    assert head.split() == [*judging.MEASURES, "section"]
    assert whole.split()[:2] == ["set", "3"]
    assert food.split()[:3] == ["food", "2", "1.000"]
    assert other.split()[:3] == ["other", "1", "0.000"]
    assert "ms a question" in times
    assert "s a process" in times


TREC = "1 0 apples.md 1\n"
SAVED = (
    '{"sets": {"s": [{"id": "1", "category": "all", "paths": [], "values": {"RR": 0.5}, '
    '"seconds": 1}]}}'
)


@pytest.mark.parametrize(
    ("files", "args", "message"),
    [
        pytest.param({}, "eval", "missing argument 'GOLDEN…'", id="no file"),
        pytest.param({}, "eval no.json", "cannot read no.json: No such file", id="a lost file"),
        pytest.param({"a.json": "{"}, "eval a.json", "is not a set of judged", id="no JSON"),
        pytest.param({"a.json": "[]"}, "eval a.json", "a.json holds no questions", id="none"),
        pytest.param({"a.json": "[3]"}, "eval a.json", "is not a set of judged", id="no objects"),
        pytest.param(
            {"a.json": [{"id": "1"}]}, "eval a.json", "KeyError('query')", id="no question"
        ),
        pytest.param(
            {"a.json": [{"id": "1", "query": "x", "relevant_paths": "apples.md"}]},
            "eval a.json",
            "is not a list of paths",
            id="a path in place of a list",
        ),
        pytest.param(
            {"a.json": [{"id": "1", "query": "x", "relevant_paths": ["lost.md"]}]},
            "eval a.json",
            "the index holds none of the notes that a judges",
            id="notes that are not indexed",
        ),
        pytest.param(
            {"a.json": [{"id": "1", "query": "!?", "relevant_paths": ["apples.md"]}]},
            "eval a.json",
            "nothing to look for",
            id="a question without words",
        ),
        pytest.param({}, "eval a.qrels", "cannot read a.qrels: No such file", id="no judgements"),
        pytest.param({"a.qrels": TREC}, "eval a.qrels", "with --queries FILE", id="no queries"),
        pytest.param(
            {"a.qrels": TREC, "q.tsv": "2\tx\n"},
            "eval a.qrels --queries q.tsv",
            "q.tsv has no question '1', which a.qrels judges",
            id="a query left out",
        ),
        pytest.param(
            {"a.qrels": "1 0 apples.md\n", "q.tsv": "1\tx\n"},
            "eval a.qrels --queries q.tsv",
            "a.qrels is not a set of judged questions",
            id="a grade left out",
        ),
        *(
            pytest.param(
                {"a.qrels": f"1 0 apples.md {grade}\n", "q.tsv": "1\tx\n"},
                "eval a.qrels --queries q.tsv",
                "a.qrels is not a set of judged questions",
                id=f"a grade that is {grade}",
            )
            for grade in ("inf", "nan", "-inf", "1e308")
        ),
        *(
            pytest.param(
                {"a.json": SAVED.replace("0.5", value)},
                "eval --compare a.json a.json",
                "a.json is not a run saved by 'qmd eval -o'",
                id=f"a saved value that is {value[:9]}",
            )
            for value in ("NaN", "Infinity", '"0.5"', "null", "true", "9" * 400)
        ),
        pytest.param(
            {"a.qrels": TREC, "q.tsv": "1 x\n"},
            "eval a.qrels --queries q.tsv",
            "q.tsv is not a set of judged questions",
            id="queries without tabs",
        ),
        pytest.param(
            {"a.json": GOLDEN, "b.json": GOLDEN[1:]},
            "eval a.json --questions b.json",
            "b has no question 'q1', which a judges",
            id="other ids",
        ),
        pytest.param(
            {"a.json": GOLDEN}, "eval a.json --mode fast", "no mode 'fast'", id="no such mode"
        ),
        pytest.param({"a.json": GOLDEN}, "eval a.json --without x", "no run 'x'", id="no such run"),
        pytest.param(
            {"a.json": GOLDEN}, "eval a.json -c x", "no collection 'x'", id="no such collection"
        ),
        pytest.param(
            {"a.json": GOLDEN},
            "eval a.json --mode vsearch --without dense",
            "no run is left",
            id="no run left",
        ),
        pytest.param(
            {"a.json": GOLDEN},
            "eval a.json -o none/run.json",
            "cannot write none/run.json",
            id="nowhere to save",
        ),
        pytest.param({"a.json": GOLDEN}, "eval --compare a.json", "takes two saved", id="one run"),
        pytest.param(
            {"a.json": GOLDEN},
            "eval --compare a.json a.json",
            "a.json is not a run saved by 'qmd eval -o'",
            id="no saved runs",
        ),
        pytest.param({}, "eval --compare a.json b.json", "cannot read a.json", id="lost runs"),
    ],
)
def test_eval_refuses(
    qmd: Qmd, notes: Path, files: Mapping[str, object], args: str, message: str
) -> None:
    for name, content in files.items():
        written(name, content)
    shown = qmd(*args.split())
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert shown.stderr.startswith("qmd: ")
    assert shown.stderr.count("\n") == 1
    assert message in shown.stderr


def test_eval_refuses_what_is_no_text(qmd: Qmd, notes: Path) -> None:
    Path("a.json").write_bytes(b"\xff\xfe")
    shown = qmd("eval", "a.json")
    assert shown.exit_code == 2
    assert "a.json is not a set of judged questions" in shown.stderr


class TestFields:
    """What a caller's own wordings add to the plain questions."""

    FIELDS: Mapping[str, object] = {
        "q1": {"short_query": "bread", "intent": "to eat"},
        "q2": {},
        "q3": {"expected_answer": "The automobile is parked."},
    }

    def test_the_difference_is_paired_by_set_and_category(self, qmd: Qmd, notes: Path) -> None:
        golden = written("golden.json", GOLDEN)
        fields = written("fields.json", {"how": "by hand", "fields": self.FIELDS})
        found = rows(qmd("eval", golden, "--fields", fields, "--json"))
        for category in ("", "food", "other"):
            plain = found["golden", category, "nDCG@5"]
            helped = found["golden with fields", category, "nDCG@5"]
            change = found["golden difference", category, "nDCG@5"]
            assert change["value"] == pytest.approx(helped["value"] - plain["value"])
            assert change["low"] <= change["value"] <= change["high"]
            assert change["questions"] == plain["questions"]

    def test_the_fields_are_searched(
        self, qmd: Qmd, notes: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from qmd_py.search.hybrid import hybrid

        asked = []

        def spied(store: Any, text: str, ask: Any, *others: Any) -> Any:
            asked.append((text, ask.handed))
            return hybrid(store, text, ask, *others)

        monkeypatch.setattr("qmd_py.search.hybrid.hybrid", spied)
        golden, fields = written("golden.json", GOLDEN), written("fields.json", self.FIELDS)
        assert qmd("eval", golden, "--fields", fields, "--json").exit_code == 0
        assert [handed for _, handed in asked[:3]] == [None] * 3
        assert asked[3][1].intent == "to eat"
        assert [variant.text for variant in asked[3][1].variants] == ["bread"]
        assert asked[4][1].variants == ()

    def test_people_see_two_tables(self, qmd: Qmd, notes: Path) -> None:
        golden, fields = written("golden.json", GOLDEN), written("fields.json", self.FIELDS)
        printed = qmd("eval", golden, "--fields", fields).stdout
        assert "golden with fields" in printed
        assert printed.count("nDCG@5") == 2
        assert "+0.000" in printed

    def test_both_ways_are_saved(self, qmd: Qmd, notes: Path) -> None:
        golden, fields = written("golden.json", GOLDEN), written("fields.json", self.FIELDS)
        qmd("eval", golden, "--fields", fields, "-o", "run.json")
        assert set(judging.load(Path("run.json"))) == {"golden", "golden with fields"}

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("{", "is no JSON"),
            ([], "holds no fields"),
            ({}, "holds no fields"),
            ({"q1": {}}, "2 questions of golden have no fields, 'q2' first"),
            ({"q1": 5}, "question 'q1': the fields must be a JSON object"),
            ({"q1": {"keywords": "x"}}, "question 'q1': no field 'keywords'"),
            ({"q1": {"short_query": 5}}, "question 'q1': short_query must be a text"),
            ({"q1": {"queries": "x"}}, "question 'q1': queries must be a list of texts"),
            ({"q1": {"searches": [{}]}}, "question 'q1': each search must have just"),
        ],
    )
    def test_a_wrong_file(self, qmd: Qmd, notes: Path, content: object, message: str) -> None:
        found = qmd(
            "eval", written("golden.json", GOLDEN), "--fields", written("fields.json", content)
        )
        assert found.exit_code == 2
        assert message in found.stderr
        assert found.stderr.count("\n") == 1

    def test_a_wrong_use(self, qmd: Qmd, notes: Path) -> None:
        golden, fields = written("golden.json", GOLDEN), written("fields.json", self.FIELDS)
        searched = qmd("eval", golden, "--fields", fields, "--mode", "search")
        assert (searched.exit_code, "--mode query" in searched.stderr) == (2, True)
        twice = qmd("eval", golden, "--fields", fields, "--fields", fields)
        assert (twice.exit_code, "one --fields for each" in twice.stderr) == (2, True)
        assert "cannot read" in qmd("eval", golden, "--fields", "nowhere").stderr
