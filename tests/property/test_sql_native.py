"""Scans that answer on their own say what the engine says."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import sdb
from tests.amounts import usual
from tests.engines import Answers

SCALARS = st.one_of(
    st.sampled_from([1, 0, -7, 2.5, 1.0, -0.5, 9007199254740993, -(2**63), 2**64, 1e300, 0.1]),
    st.sampled_from(["a", "", "42", "Ab", "é", True, False, None]),
    st.sampled_from(["2021-03-04T05:06:07Z", "1969-12-31T23:59:59.5Z", "0001-01-01T00:00:00Z"]),
    st.integers(-100, 100),
    st.floats(-1e6, 1e6),
)
VALUES = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=3),
    st.dictionaries(st.sampled_from(["k", "l"]), SCALARS, max_size=2),
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {"s": SCALARS, "v": VALUES, "w": st.integers(0, 3)}
NESTED = {"n": st.fixed_dictionaries({}, optional={"m": VALUES})}
TIMES = st.sampled_from([None, "2021-03-04T05:06:07Z", "1969-12-31T23:59:59.5Z"])
ROWS = st.fixed_dictionaries({}, optional=FIELDS | NESTED | {"t": TIMES})
"""Rows that lack fields."""
PATHS = st.sampled_from(["s", "v", "w", "n.m", "v.k", "v[0]", "n", "nope"])
KEYS = st.one_of(
    PATHS,
    st.sampled_from(
        [f"DATE_TRUNC({part}, s)" for part in ("DAY", "WEEK", "WEEK(TUESDAY)", "QUARTER", "SECOND")]
    ),
    st.sampled_from(["DATE_TRUNC(YEAR, n.m)", "DATE_BIN('36 hours', s, `2000-01-01T00:00:00Z`)"]),
)
KEPT = st.sampled_from(["s", "v", "w", "n.m", "n", "t", "DATE_TRUNC(DAY, t)"])
"""Keys by which scans group in the dialect `standard`, too."""
FILTERS = st.sampled_from(
    ["", " FILTER (WHERE w > 1)", " FILTER (WHERE s = 'a' OR NOT n.m IS NULL)"]
)
CALLS = st.builds("{}{}".format, st.deferred(lambda: AGGREGATES), FILTERS)
AGGREGATES = st.one_of(
    st.just("COUNT(*)"),
    st.builds(
        "{}({})".format,
        st.sampled_from(["COUNT", "SUM", "AVG", "MIN", "MAX", "EARLIEST", "LATEST"]),
        PATHS,
    ),
    st.builds("COUNT(DISTINCT {})".format, PATHS),
)
WHERE = st.sampled_from(
    ["", "WHERE w > 1", "WHERE s IS NOT NULL AND NOT v = 1", "WHERE w > 9", "WHERE v IN (1, 'a')"]
)
DIRECTIONS = st.sampled_from(["", " DESC", " NULLS LAST", " DESC NULLS LAST"])


@st.composite
def queries(
    draw: st.DrawFn, by: st.SearchStrategy[str], *, distinct: bool = False
) -> tuple[str, bool]:
    """A query, and whether it says in which order its rows come."""
    keys = draw(st.lists(by, max_size=2, unique=True))
    calls = draw(st.lists(CALLS, min_size=not keys, max_size=4))
    items = ", ".join(f"{expr} AS c{number}" for number, expr in enumerate([*keys, *calls]))
    text = f"SELECT {items} FROM read_file('t.zion') {draw(WHERE)}"
    if distinct and keys and not calls and draw(st.booleans()):
        text = text.replace("SELECT", "SELECT DISTINCT", 1)
    elif keys:
        text += f" GROUP BY {', '.join(keys)}"
    if not draw(st.booleans()):
        return text, False
    terms = [f"c{number}{draw(DIRECTIONS)}" for number in range(len(keys) + len(calls))]
    text += f" ORDER BY {', '.join(terms)}"
    # Lists and structures have no order, so that any of them may come first.
    sortable = not {"v", "n.m", "v[0]", "n"} & set(keys)
    if sortable:
        text += f" LIMIT {draw(st.integers(0, 5))} OFFSET {draw(st.integers(0, 2))}"
    return text, sortable


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) or isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-6)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return type(a) is type(b) and bool(a == b)


def packed(rows: list[dict[str, Any]], folder: str, **how: Any) -> Path:
    text = Path(folder, "t.json")
    text.write_text("".join(json.dumps(row) + "\n" for row in rows))
    sdb.pack([str(text)], str(text.with_suffix(".zion")), **how)
    return text.parent


def agree(query: str, root: Path, *, ordered: bool, typed: bool, blind: bool) -> None:
    answers = Answers(root, query, typed=typed, blind=blind)
    # Where the least of a path may be a time, a sum may have truth values, or a text is compared
    # with times, the engine answers.
    asked = ("MIN(", "MAX(", "SUM(", "AVG(", "'a'")
    assert answers.by_scans() or any(part in query for part in asked), query
    alone, engine = answers.lines(native=True), answers.lines(native=False)
    if not ordered:
        alone, engine = sorted(alone), sorted(engine)
    actual, expected = ([json.loads(line) for line in lines] for lines in (alone, engine))
    assert len(actual) == len(expected), query
    assert all(map(same, actual, expected)), f"{query}\n{actual}\n{expected}"


@settings(max_examples=usual(60), deadline=None)
@given(
    rows=st.lists(ROWS, max_size=12),
    asked=st.lists(queries(KEYS), min_size=2, max_size=2),
    typed=st.booleans(),
    blind=st.booleans(),
)
def test_groups(
    rows: list[dict[str, Any]], asked: list[tuple[str, bool]], typed: bool, blind: bool
) -> None:
    """In the dialect of the original, where rows without a key are in no group."""
    with tempfile.TemporaryDirectory() as folder:
        root = packed(rows, folder)
        for query, ordered in asked:
            original = f"SET dialect = sneller; {query}"
            agree(original, root, ordered=ordered, typed=typed, blind=blind)


@settings(max_examples=usual(60), deadline=None)
@given(
    rows=st.lists(ROWS, min_size=1, max_size=12),
    asked=st.lists(queries(KEPT, distinct=True), min_size=2, max_size=2),
    typed=st.booleans(),
    blind=st.booleans(),
)
def test_rows_without_a_key_are_in_the_group_of_null(
    rows: list[dict[str, Any]], asked: list[tuple[str, bool]], typed: bool, blind: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        # One row has all fields: those that no row has are left to the engine.
        whole = {"s": 1, "v": [], "w": 1, "n": {"m": "a"}, "t": "2021-03-04T05:06:07Z"}
        root = packed([*rows, whole], folder)
        for query, ordered in asked:
            agree(query, root, ordered=ordered, typed=typed, blind=blind and "(DAY" not in query)


@settings(max_examples=usual(30), deadline=None)
@given(
    rows=st.lists(ROWS, max_size=8),
    items=st.one_of(st.just("*"), st.lists(PATHS, min_size=1, max_size=3).map(", ".join)),
    where=WHERE,
    limit=st.sampled_from(["", " LIMIT 0", " LIMIT 3"]),
    typed=st.booleans(),
)
def test_rows(rows: list[dict[str, Any]], items: str, where: str, limit: str, typed: bool) -> None:
    query = f"SELECT {items} FROM read_file('t.zion') {where}{limit}"
    with tempfile.TemporaryDirectory() as folder:
        agree(query, packed(rows, folder), ordered=True, typed=typed, blind=False)


MOMENTS = st.integers(0, 24).map(lambda step: f"2021-03-04T{step // 12:02}:{step % 12 * 5:02}:00Z")
"""Many of them are where a bucket begins."""
ABSENT = "absent"
ODD = st.sampled_from([ABSENT, None, "soon"])
PERIODS = st.sampled_from(
    [
        "",
        "WHERE t IS NOT NULL",
        "WHERE DATE_BIN('600 second', t) IS NOT NULL",
        "WHERE t >= TIMESTAMP '2021-03-04T00:10:00Z' AND t < TIMESTAMP '2021-03-04T00:50:00Z'",
        "WHERE t <= TIMESTAMP '2021-03-04T01:00:00Z' OR w = 1",
        "WHERE NOT t > TIMESTAMP '2021-03-04T00:30:00Z'",
        "WHERE u > TIMESTAMP '2021-03-04T00:30:00Z'",
    ]
)  # fmt: skip


@settings(max_examples=usual(200), deadline=None)
@given(
    moments=st.lists(MOMENTS, min_size=20, max_size=60).map(sorted),
    odd=st.lists(st.tuples(st.integers(0, 60), ODD), max_size=1),
    seconds=st.sampled_from([600, 3600, 5000]),
    where=PERIODS,
    more=st.sampled_from(["", ", COUNT(*) AS m", ", MIN(w) AS m"]),
)
def test_rows_by_time_are_counted_by_metadata_as_by_the_engine(
    moments: list[str | None],
    odd: list[tuple[int, str | None]],
    seconds: int,
    where: str,
    more: str,
) -> None:
    """Blocks have some rows, and are left out where they are within a bucket."""
    for at, value in odd:
        moments.insert(at, value)
    rows = [
        {"w": number, "u": "2021-03-04T00:45:00Z", "pad": f"{number * 7919 % 9973:04}" * 40}
        | ({} if each == ABSENT else {"t": each})
        for number, each in enumerate(moments)
    ]
    bucket = f"DATE_BIN('{seconds} second', t)"
    query = f"SELECT {bucket} AS t, COUNT(*) AS n{more} FROM read_file('t.zion') {where}"
    query += f" GROUP BY {bucket} ORDER BY {bucket}"
    with tempfile.TemporaryDirectory() as folder:
        root = packed(rows, folder, align_bytes=512, block_bytes=512)
        answers = Answers(root, query)
        assert answers.lines(native=True) == answers.lines(native=False), query


def test_blocks_within_a_bucket_are_not_read(tmp_path: Path) -> None:
    rows = [
        {"t": f"2021-03-04T{minute // 60:02}:{minute % 60:02}:30Z", "pad": str(minute) * 40}
        for minute in range(600)
    ]
    packed(rows, str(tmp_path), align_bytes=1024, block_bytes=1024)
    bucket = "DATE_TRUNC('hour', t)"
    query = f"SELECT {bucket} AS t, COUNT(*) AS n FROM '{tmp_path}/t.zion'"
    query += " WHERE t >= TIMESTAMP '2021-03-04T02:30:00Z' AND {} GROUP BY 1 ORDER BY 1"
    with sdb.sql(query.format(f"{bucket} IS NOT NULL")) as counted:
        assert [row["n"] for row in counted] == [30, *[60] * 7]
        assert 0 < counted.blocks_read == counted.reading.blocks < counted.reading.all_blocks / 4
    with sdb.sql(query.format("pad <> 'x'")) as others:
        assert [row["n"] for row in others] == [30, *[60] * 7]
        assert others.blocks_read > counted.reading.all_blocks / 2
