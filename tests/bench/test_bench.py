"""What the speed bench stands on."""

from pathlib import Path
from xml.etree import ElementTree

from tests.bench import plot, speed, vaults
from tests.bench.measuring import Command, Cost, Pair, paired


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


def test_curves_are_drawn_of_what_was_measured() -> None:
    drawn = plot.svg([("search", 1000, 0.1, 0.2), ("search", 10_000, 0.2, 0.4)])
    lines = [one for one in ElementTree.fromstring(drawn) if one.tag.endswith("polyline")]
    assert len(lines) == 2
