from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from sdb.records import changing_record, field, field_names, record, replace


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
    assert repr(Point(1)) == "Point(x=1, y=1.0, note='')"
    assert dataclasses.is_dataclass(Point)
    assert dataclasses.asdict(Point(1)) == {"x": 1, "y": 1.0, "note": ""}
    assert [field.name for field in dataclasses.fields(Point(1))] == ["x", "y", "note"]
    assert dataclasses.replace(Point(1, note="n"), x=2).note == "n"
    assert str(inspect.signature(Point)) == "(x, y=1.0, *, note='')"
    match Point(4, 5.0):
        case Point(x, y):
            assert (x, y) == (4, 5.0)


def test_copies() -> None:
    assert replace(Point(1, note="n"), x=2).note == "n"
    assert field_names(Point) == ("x", "y", "note")
    for item in (copy.deepcopy(Point(3)), pickle.loads(pickle.dumps(Point(3)))):  # noqa: S301
        assert item == Point(3)


def test_a_frozen_record_never_changes() -> None:
    point = Point(1)
    assert not hasattr(point, "__dict__")
    with pytest.raises(AttributeError, match="'x' of Point never changes"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError, match="'x' of Point never changes"):
        del point.x


@changing_record
class Basket:
    things: list[int] = field(default_factory=list)
    count: int = field(init=False)

    def __post_init__(self) -> None:
        self.count = len(self.things)


def test_records_that_change() -> None:
    basket, other = Basket(), Basket()
    basket.things.append(1)
    basket.count += 1
    assert (other.things, other.count) == ([], 0)
    assert Basket([2]).count == 1
    assert Basket([2]) == Basket([2])
    with pytest.raises(TypeError, match="unhashable"):
        hash(basket)


@record
class Place(Point):
    name: str = "here"


class Named(Place):
    def __init__(self, x: int) -> None:
        super().__init__(x, name="there")


def test_what_inherits() -> None:
    assert Place(1, 2.0, "a", note="b").note == "b"
    assert Place(1) != Point(1)
    assert Named(1).name == Named(2).name == "there"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((), "missing 1 required positional argument: 'x'"), ((1, 2, 3), "takes from 2 to 3")],
)
def test_wrong_arguments(arguments: tuple[int, ...], message: str) -> None:
    for _ in range(2):
        with pytest.raises(TypeError, match=message):
            Point(*arguments)


def test_first_records_of_many_threads() -> None:
    for _ in range(20):

        @record
        class Fresh:
            x: int

        def make(barrier: Barrier, kind: type[Fresh] = Fresh) -> Fresh:
            barrier.wait()
            return kind(1)

        with ThreadPoolExecutor(4) as pool:
            made = list(pool.map(make, [Barrier(4)] * 4))
        assert made == [Fresh(1)] * 4


def test_the_first_record_of_defaults_is_as_the_others() -> None:
    made: list[object] = []

    @record
    class Base:
        name: str = "n"

    @record
    class Usual(Base):
        parts: list[int] = field(default_factory=list)
        fresh: list[int] = field(default_factory=list, init=False)
        unset: int = field(init=False)
        note: str = field(default="x", kw_only=True)

        def __post_init__(self) -> None:
            made.append(self.parts)

    first, second, third = Usual(), Usual(), Usual("n", [], note="x")
    for each in (first, second, third):
        assert (each.name, each.parts, each.fresh, each.note) == ("n", [], [], "x")
        assert not hasattr(each, "unset")
    assert len(made) == len({id(parts) for parts in made}) == 3
    assert Base() == Base() == Base("n")

    @record
    class Needs:
        name: str
        size: int = 1

    for _ in range(2):
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
            Needs()  # type: ignore[call-arg]
    assert Needs("a").size == 1
