from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

pytest.importorskip("pyspark")
from pyspark.sql import datasource as api
from pyspark.sql.types import (
    BooleanType,
    DateType,
    DoubleType,
    FloatType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)

from sdb.packfile.prune.predicate import Anywhere, Both, Compare, Either, TextPrefix, TypeTest
from sdb.query.syntax import ast
from sdb.spark.read.filters import test_of as reduced

KINDS: dict[str, Any] = {
    "b": BooleanType(),
    "d": DateType(),
    "f": FloatType(),
    "i": LongType(),
    "n": DoubleType(),
    "s": StringType(),
    "t": TimestampType(),
    "l": TimestampNTZType(),
    "v": VariantType(),
}
SCHEMA = StructType(
    [
        *(StructField(name, kind) for name, kind in KINDS.items()),
        StructField("o", StructType([StructField("t", TimestampType())])),
    ]
)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
US = ast.Instant(1_767_268_800_000_000)


@pytest.mark.parametrize(
    ("pushed", "test"),
    [
        (api.EqualTo(("s",), "x"), Compare(("s",), "=", "x")),
        (api.EqualNullSafe(("i",), 2**62), Compare(("i",), "=", 2**62)),
        (api.GreaterThan(("t",), NOON), Compare(("t",), ">", US)),
        (api.LessThanOrEqual(("o", "t"), NOON), Compare(("o", "t"), "<=", US)),
        (api.LessThan(("l",), NOON.replace(tzinfo=None)), Compare(("l",), "<", US)),
        (api.GreaterThanOrEqual(("n",), 0.5), Compare(("n",), ">=", 0.5)),
        (api.EqualTo(("b",), True), Compare(("b",), "=", True)),
        (
            api.In(("i",), (1, None)),
            Either((Compare(("i",), "=", 1), Anywhere())),
        ),
        (api.StringStartsWith(("s",), "x"), TextPrefix(("s",), ("x",), "begins with 'x'")),
        (api.IsNotNull(("s",)), TypeTest(("s",), 0xFFFE, or_missing=False, words="IS NOT NULL")),
    ],
)
def test_filters_that_an_index_can_answer(pushed: api.Filter, test: object) -> None:
    assert reduced([pushed], SCHEMA) == Both((test,))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "pushed",
    [
        # Rounded, cut or cast: the column compares otherwise than the value in the file.
        api.EqualTo(("f",), 0.5),
        api.EqualTo(("n",), float(2**53)),
        api.EqualTo(("n",), float("nan")),
        api.EqualTo(("d",), NOON.date()),
        api.GreaterThan(("t",), NOON.replace(tzinfo=None)),
        api.EqualTo(("v",), 1),
        api.EqualTo(("i",), True),
        api.EqualTo(("S",), "x"),
        api.EqualTo(("o", "x"), "x"),
        api.EqualTo(("s", "x"), "x"),
        api.EqualNullSafe(("s",), None),
        api.IsNull(("s",)),
        api.Not(api.EqualTo(("s",), "x")),
        api.StringStartsWith(("v",), "x"),
        api.StringStartsWith(("s",), ""),
        api.IsNotNull(("o",)),
        api.IsNotNull(("v",)),
    ],
)
def test_filters_of_which_nothing_is_known(pushed: api.Filter) -> None:
    assert reduced([pushed], SCHEMA) == Both((Anywhere(),))
