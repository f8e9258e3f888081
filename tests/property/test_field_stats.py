"""Statistics of fields are those that Python finds in the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import sdb
from sdb.packfile.inspect.fieldreport import as_facts
from tests.amounts import usual
from tests.statistics import facts_of, naive

if TYPE_CHECKING:
    from pathlib import Path

names = st.sampled_from(["a", "b", "id.orig_h", "", "é", "long name"])
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.integers(0, 9),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text("abé…\0", max_size=8),
    st.text("xy", min_size=90, max_size=110),
    st.builds(lambda us: f"2021-01-02T03:04:05.{us:06}Z", st.integers(0, 999_999)),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(names, inner, max_size=4)),
    max_leaves=12,
)
# A row fits a chunk.
rows = st.dictionaries(names, values, max_size=5).filter(lambda row: len(repr(row)) < 800)


@pytest.mark.parametrize("algorithm", ["zion+zstd", "zstd"])
@settings(
    max_examples=usual(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@example([{"a": 2.0**63}, {"a": 1.5}], 1)
@example([{"a": 1e20}, {"a": 1}, {"a": -1e300}], 1)
@given(st.lists(rows, min_size=1, max_size=30), st.integers(1, 30))
def test_statistics_are_those_of_the_rows(
    tmp_path: Path, algorithm: str, events: list[dict[str, Any]], times: int
) -> None:
    target = tmp_path / "x.zion"
    target.unlink(missing_ok=True)
    sdb.pack(events * times, target, algorithm=algorithm, align_bytes=1 << 10, block_bytes=4 << 10)
    with sdb.open(target) as pack:
        reported = as_facts(pack.field_stats())
        expected = naive(pack.rows())
    fields: Any = reported["fields"]
    assert reported["rows"] == len(events) * times
    assert {tuple(field["path"]): facts_of(field) for field in fields} == {
        path: item.facts() for path, item in expected.items()
    }
