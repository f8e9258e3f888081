"""Tests of rows of data files, by which files, row groups and rows are left out.

A test may let rows pass that do not matter, and never keeps one back that does.
"""

from __future__ import annotations

from functools import reduce

from sdb import instants
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeAlias

    import numpy as np
    import pyarrow as pa

    from sdb.lake.columns import Way
    from sdb.store.parquetpages import BoundedParquet

    Bounds: TypeAlias = tuple[Any, Any]

_DAY_US = 86_400 * instants.SECOND_US
_UNITS_US = {"s": instants.SECOND_US, "ms": 1000, "us": 1}
_FUNCTIONS = {
    "=": "equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}
_INT64 = range(-(1 << 63), 1 << 63)
_MOST_ROWS = 1 << 24
"""Of larger row groups no rows are tested one by one."""


@record
class TestedConstant:
    """A constant of a test, by the types of the values that it is compared with."""

    text: str | None = None
    number: int | None = None
    us: int | None = None  # a time, in microseconds since 1970


@record
class RowTest:
    """The comparison of a field with constants."""

    path: tuple[str, ...]
    op: str  # ``=``, ``<``, ``<=``, ``>`` or ``>=``
    values: tuple[TestedConstant, ...]  # several only for ``=``: one of them

    def may_be(self, value: pa.Scalar) -> bool:
        """Return whether the comparison may be TRUE of a value."""
        if not value.is_valid:
            return False
        wanted = self.wanted(value.type)
        if wanted is None:
            return True
        import pyarrow as pa

        plain = _plain(pa.repeat(value, 1))
        return plain is None or self.may_hold((plain[0].as_py(),) * 2, wanted)

    def wanted(self, kind: pa.DataType) -> list[Any] | None:
        """Return the constants as values of a type are compared: UTF-8, integers, microseconds.

        None: they are not, since values of the type are compared otherwise.
        """
        from pyarrow import types

        wanted: list[Any]
        if types.is_string(kind) or types.is_large_string(kind):
            wanted = [value.text for value in self.values]
            is_known = None not in wanted
            return [text.encode(errors="surrogatepass") for text in wanted] if is_known else None
        if types.is_signed_integer(kind):
            wanted = [value.number for value in self.values]
        elif types.is_timestamp(kind) or types.is_date32(kind):
            wanted = [value.us for value in self.values]
        else:
            return None
        are_known = all(type(number) is int and number in _INT64 for number in wanted)
        return wanted if are_known else None

    def may_hold(self, bounds: Bounds, wanted: Sequence[Any]) -> bool:
        """Return whether the comparison may be TRUE of a value between two bounds."""
        low, high = bounds
        if (
            isinstance(low, int)
            and self._has_times
            and not instants.FIRST_US <= low <= high <= instants.LAST_US
        ):
            return True  # some are texts in rows
        match self.op:
            case "=":
                return any(low <= value <= high for value in wanted)
            case "<" | "<=":
                return bool(low < wanted[0] or (self.op == "<=" and low == wanted[0]))
            case _:
                return bool(high > wanted[0] or (self.op == ">=" and high == wanted[0]))

    def holds(self, values: pa.Array, wanted: Sequence[Any]) -> pa.Array:
        """Return of which values the comparison may be TRUE; of nulls it is not.

        * ``values``: As they are compared.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        compare = getattr(pc, _FUNCTIONS[self.op])
        parts = [compare(values, pa.scalar(constant, values.type)) for constant in wanted]
        if self._has_times and pa.types.is_int64(values.type):
            parts.append(pc.less(values, instants.FIRST_US))
            parts.append(pc.greater(values, instants.LAST_US))
        return pc.fill_null(reduce(pc.or_, parts), fill_value=False)

    @property
    def _has_times(self) -> bool:
        return any(value.us is not None for value in self.values)


class PassingRows:
    """The rows of a file that pass tests.

    * ``tested``: Tests with the ways to their fields in the file.
    * ``are_wide``: Whether rows are whole, so that fields of tests are read first.
    """

    def __init__(
        self, file: BoundedParquet, tested: Sequence[tuple[Way, RowTest]], *, are_wide: bool
    ) -> None:
        self._file = file
        self._tested = [
            (way, test, wanted)
            for way, test in tested
            if (wanted := test.wanted(way[-1][1])) is not None
        ]
        self._are_wide = are_wide
        metadata = file.metadata
        numbers = range(metadata.num_columns if self._tested else 0)
        self._leaves = {metadata.schema.column(number).path: number for number in numbers}

    def of_group(self, group: int, first: int | None) -> np.ndarray | None:
        """Return which rows of a row group pass.

        * ``first``: The place of a row that passes whatever it has, and so does one with a value of
          each field of a test, where these are read; None: no such row is wanted.

        Returns: An array of booleans; None: all rows pass.
        """
        if not self._tested:
            return None
        import numpy as np

        metadata = self._file.metadata.row_group(group)
        if all(self._may_hold(metadata, *test) for test in self._tested):
            if not self._are_wide or metadata.num_rows > _MOST_ROWS:
                return None
            keep = self._passing(group, with_values=first is not None)
        else:
            keep = np.zeros(metadata.num_rows, bool)
        if first is not None:
            keep[first] = True
        return keep

    def _may_hold(self, metadata: Any, way: Way, test: RowTest, wanted: list[Any]) -> bool:  # noqa: ANN401 - of pyarrow
        number = self._leaves.get(dotted(way))
        statistics = None if number is None else metadata.column(number).statistics
        bounds = None if statistics is None else _bounds(statistics, way[-1][1])
        return bounds is None or test.may_hold(bounds, wanted)

    def _passing(self, group: int, *, with_values: bool) -> np.ndarray:
        """Return which rows pass, and perhaps for each test one with a value that it is about."""
        import numpy as np

        names = [dotted(way) for way, _, _ in self._tested]
        parts = [
            [_passing_in(batch, *test) for test in self._tested]
            for batch in self._file.batches(names, group)
        ]
        together = np.concatenate(parts, axis=2)  # by test; TRUE and there; by row
        passing: np.ndarray = np.logical_and.reduce(together[:, 0])
        for there in together[:, 1] if with_values else ():
            passing[there.argmax()] |= there.any()
        return passing


def dotted(way: Way) -> str:
    """Return the path of a way into a column, as Parquet writes it."""
    return ".".join(name for name, _ in way)


def _passing_in(
    batch: pa.RecordBatch, way: Way, test: RowTest, wanted: list[Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Return of which rows of a batch a test may be TRUE, and which have a value for it."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    number = batch.schema.get_field_index(way[0][0])
    every = np.ones(batch.num_rows, bool)
    if number < 0:  # several columns have the name
        return every, every
    values = batch.column(number)
    if len(way) > 1:
        values = pc.struct_field(values, [name for name, _ in way[1:]])
    there = values.is_valid().to_numpy(zero_copy_only=False)
    try:
        plain = _plain(values)
    except pa.ArrowInvalid:  # no 64 bits hold them
        plain = None
    if plain is None:
        return every, there
    return test.holds(plain, wanted).to_numpy(zero_copy_only=False), there


def _plain(values: pa.Array) -> pa.Array | None:
    """Return values as they are compared, see `RowTest.wanted`; None: that would cut them.

    Raises `ArrowInvalid` if no 64 bits hold them.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(values, pa.DictionaryArray):
        values = values.dictionary_decode()
    if pa.types.is_string(values.type):
        return values.cast(pa.binary())
    if pa.types.is_large_string(values.type):
        return values.cast(pa.large_binary())
    if pa.types.is_date32(values.type):
        return pc.multiply_checked(values.cast(pa.int32()).cast(pa.int64()), _DAY_US)
    if pa.types.is_timestamp(values.type):
        unit = _UNITS_US.get(values.type.unit)
        return None if unit is None else pc.multiply_checked(values.cast(pa.int64()), unit)
    return values.cast(pa.int64())


def _bounds(statistics: Any, kind: pa.DataType) -> Bounds | None:  # noqa: ANN401 - of pyarrow
    """Return bounds of values by the statistics of a column, as values are compared."""
    import pyarrow as pa

    if not statistics.has_min_max:
        return None
    low, high = statistics.min_raw, statistics.max_raw
    if isinstance(low, bytes):
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        return (low, high) if is_text else None
    if not isinstance(low, int) or not isinstance(high, int):
        return None  # INT96
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return low // 1000, -(-high // 1000)
    unit = _UNITS_US[kind.unit] if pa.types.is_timestamp(kind) else 1
    unit = _DAY_US if pa.types.is_date32(kind) else unit
    return low * unit, high * unit
