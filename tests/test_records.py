"""Values are compared, hashed and shown as dataclasses with methods of their own are."""

from dataclasses import dataclass, field

import pytest

from qmd_py.records.answers import Stage
from qmd_py.records.stored import Chunk
from qmd_py.records.values import Value


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Jar(Value):
    label: str
    grams: float = field(compare=False)


@dataclass(frozen=True, slots=True)
class Own:
    label: str
    grams: float = field(compare=False)


def test_values_are_equal_when_their_compared_fields_are() -> None:
    assert Jar("plum", 300.0) == Jar("plum", 310.0)
    assert Jar("plum", 300.0) != Jar("pear", 300.0)
    assert Stage("cite", 0.1, "x") == Stage("cite", 0.2, "x")


def test_a_value_is_no_value_of_another_class() -> None:
    assert Jar("plum", 300.0) != Own("plum", 300.0)
    assert Jar("plum", 300.0) != ("plum", 300.0)


def test_equal_values_have_one_hash() -> None:
    assert len({Jar("plum", 300.0), Jar("plum", 310.0), Jar("pear", 300.0)}) == 2
    assert hash(Jar("plum", 300.0)) == hash(Own("plum", 300.0))
    with pytest.raises(TypeError, match="unhashable"):
        hash(Chunk([], 1, 1, ""))  # type: ignore[arg-type]


def test_a_value_is_shown_as_it_is_written() -> None:
    assert repr(Jar("plum", 300.0)) == repr(Own("plum", 300.0)).replace("Own", "Jar")
