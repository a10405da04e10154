"""What the speed bench stands on."""

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.bench import measuring, plot, speed, vaults
from tests.bench.measuring import Command, Cost, Pair, paired
from tests.bench.serving import Served, compared
from tests.bench.tools import Ours


def test_a_vault_is_the_same_for_the_same_seed_and_begins_a_larger_one(tmp_path: Path) -> None:
    for name, notes in (("one", 12), ("two", 12), ("more", 20)):
        vaults.write(tmp_path / name, notes)
    files = sorted(file.relative_to(tmp_path / "one") for file in (tmp_path / "one").rglob("*.md"))
    assert len(files) == 12
    for file in files:
        text = (tmp_path / "one" / file).read_bytes()
        assert (tmp_path / "two" / file).read_bytes() == text
        assert (tmp_path / "more" / file).read_bytes() == text


def test_ratios_are_taken_run_by_run() -> None:
    ours = iter([9.0, 1.0, 2.0, 30.0])
    theirs = iter([9.0, 2.0, 4.0, 30.0])
    pair = paired(lambda: Cost(next(ours), 0, 1), lambda: Cost(next(theirs), 0, 2), 3)
    assert (pair.ours.seconds, pair.ratio) == (2.0, 0.5)


def test_a_bar_holds_only_when_all_of_it_does() -> None:
    pair = Pair(Cost(1.0, 1.0, 500), Cost(2.0, 1.0, 1), 0.5, 7)
    assert speed.Bar(0.5, 1.5).met(pair)
    assert not speed.Bar(0.5, 1.5, 400).met(pair)
    assert speed.Bar().met(pair) is None


def test_a_process_is_measured_with_what_it_starts(tmp_path: Path) -> None:
    cost = Command(("sh", "-c", "sleep 0.3 & wait"), {}).run(watch=True)
    assert cost.seconds >= 0.3 > cost.processor
    assert cost.megabytes > 0.5


def test_a_server_is_measured_without_its_start(tmp_path: Path, vault: Path) -> None:
    ours = Ours(tmp_path / "ours")
    ours.forget()
    ours.command("index", str(vault), "--no-embed").run()
    search = Served(ours.command("mcp"), "search", '{"query": "QUESTION", "rerank": false}')
    pair = compared(search, None, ["bread", 'the "best" bread'], 2)
    assert (pair.theirs, pair.ratio, pair.runs) == (None, None, 2)
    assert pair.ours.seconds > 0
    assert pair.ours.megabytes > 20
    wrong = Served(ours.command("mcp"), "toc", '{"pid": 99}')
    with pytest.raises(RuntimeError, match="no note with pid 99"):
        compared(wrong, None, ["bread"], 2)


def test_curves_are_drawn_of_what_was_measured() -> None:
    drawn = plot.svg([("search", 1000, 0.1, 0.2), ("search", 10_000, 0.2, 0.4)])
    lines = [one for one in ElementTree.fromstring(drawn) if one.tag.endswith("polyline")]
    assert len(lines) == 2


def bench(folder: Path) -> speed.Bench:
    return speed.Bench(folder, None, None, None, (), 2, 1)


def breaks() -> Cost:
    raise RuntimeError("qmd index: a | b\nno room")


def test_what_fails_is_a_row_that_says_so_and_a_miss(tmp_path: Path) -> None:
    row = bench(tmp_path).row("search", 10, speed.Bar(0.5), breaks, None)
    assert (row.met, row.said) == (False, "failed: qmd index: a / b no room")
    assert speed.line(row).count("|") == 9


def test_ours_is_measured_where_theirs_fails(tmp_path: Path) -> None:
    row = bench(tmp_path).row("search", 10, speed.Bar(0.5), lambda: Cost(1, 1, 1), breaks)
    assert (row.ours, row.theirs, row.met) == (Cost(1, 1, 1), None, False)
    assert row.said.startswith("npm failed")


def test_a_part_that_breaks_off_leaves_its_rows_and_says_so(tmp_path: Path) -> None:
    def work(one: speed.Bench) -> Iterator[speed.Row]:
        yield one.row("search", 10, speed.Bar(), lambda: Cost(1, 1, 1), None)
        breaks()

    first, last = speed.rows_of("pages", work, bench(tmp_path))
    assert (first.work, last.work, last.met) == ("search", "rest of `pages`", False)


def test_a_process_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "LONGEST", 0.1)
    with pytest.raises(RuntimeError):
        Command(("sleep", "60"), {}).run()
