from __future__ import annotations

import copy
import pickle
from dataclasses import field, replace

from sdb.records import record


@record
class Point:
    x: int
    y: float = 1.0
    note: str = field(default="", compare=False, kw_only=True)


@record
class Other:
    x: int
    y: float = 1.0


def test_records_are_equal_by_value_and_class() -> None:
    assert Point(1) == Point(1, 1.0, note="there")
    assert Point(1) != Point(2)
    assert Point(1) != Other(1)
    assert {Point(1): "a"}[Point(1, note="b")] == "a"
    nan = float("nan")
    assert Point(1, nan) == Point(1, nan)


def test_records_are_dataclasses() -> None:
    assert repr(Point(1)) == "Point(x=1, y=1.0)"
    assert replace(Point(1, note="n"), x=2).note == "n"
    assert not hasattr(Point(1), "__dict__")
    for one in (copy.deepcopy(Point(3)), pickle.loads(pickle.dumps(Point(3)))):  # noqa: S301
        assert one == Point(3)
    match Point(4, 5.0):
        case Point(x, y):
            assert (x, y) == (4, 5.0)
