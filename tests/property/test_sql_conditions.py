"""A condition means the same wherever it is decided: while rows are read, in SQL, inside or out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sdb
from tests.amounts import usual

if TYPE_CHECKING:
    from pathlib import Path

VALUES = [
    *(1, 0, -7, 2.5, 9007199254740993, 1e300, "a", "", "42", "Ab", True, False, None),
    *([1, 2], [], {"k": 1}, {"k": None}, "2021-03-04T05:06:07Z", "1969-12-31T23:59:59.5Z"),
]
PATHS = ["v", "w", "v.k", "v[0]", "n.m", "nope"]
CONSTANTS = [
    *("1", "0", "-7", "2.5", "9007199254740992", "9007199254740993", "1e300", "'a'", "''", "'42'"),
    *("TRUE", "FALSE", "`2021-03-04T05:06:07Z`", "`2020-01-01T00:00:00Z`"),
]


def _leaves() -> st.SearchStrategy[str]:
    path, constant = st.sampled_from(PATHS), st.sampled_from(CONSTANTS)
    numbers = st.lists(st.sampled_from(CONSTANTS), min_size=1, max_size=4).map(", ".join)
    return st.one_of(
        st.builds("{} {} {}".format, path, st.sampled_from(["=", "<>"]), constant),
        st.builds("{} {} {}".format, path, st.sampled_from(["<", "<=", ">", ">="]), constant),
        st.builds("{1} {2} {0}".format, path, constant, st.sampled_from(["=", "<", ">="])),
        st.builds("{} IN ({}, NULL)".format, path, numbers),
        st.builds("{} BETWEEN {} AND {}".format, path, st.just("0"), st.just("3")),
        st.builds("{} IS {}{}".format, path, st.sampled_from(["", "NOT "]), st.sampled_from(TESTS)),
        st.builds(
            "{} {}LIKE {}".format, path, st.sampled_from(["", "NOT "]), st.sampled_from(LIKE)
        ),
        path,
    )


TESTS = ["NULL", "MISSING", "TRUE", "FALSE"]
LIKE = ["'a%'", "'%'", "'_'", "'4!_' ESCAPE '!'"]
CONDITIONS = st.recursive(
    _leaves(),
    lambda inner: st.one_of(
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("NOT ({})".format, inner),
    ),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = []
    for number, v in enumerate([*VALUES, ...]):
        for other, w in enumerate([1, "a", None, True, ...]):
            row = {"id": number * 10 + other, "v": v, "w": w, "n": {"m": v}}
            rows.append({name: value for name, value in row.items() if value is not ...})
            if v is ...:
                rows[-1]["n"] = {}
    path = tmp_path_factory.mktemp("conditions") / "t.json"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    sdb.pack([str(path)], str(path.with_suffix(".zion")))
    return path.parent


def _ids(packed: Path, query: str, *, prune: bool = True) -> list[int]:
    with sdb.sql(query, root=str(packed), threads=1, prune=prune, typed=False) as result:
        return [json.loads(line)["id"] for line in b"".join(result.lines()).splitlines()]


@settings(max_examples=usual(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(condition=CONDITIONS)
def test_wherever_a_condition_is_decided(condition: str, packed: Path) -> None:
    table = "read_file('t.zion')"
    expected = _ids(packed, f"SELECT id FROM {table} WHERE {condition}")
    in_sql = f"SELECT id FROM {table} WHERE CASE WHEN {condition} THEN TRUE ELSE FALSE END"
    assert _ids(packed, in_sql, prune=False) == expected
    outside = (
        f"SELECT q.id FROM (SELECT id, v, w, n, nope FROM {table}) AS q WHERE {_on('q', condition)}"
    )
    assert _ids(packed, outside) == expected
    as_value = f"SELECT q.id FROM (SELECT id, {condition} AS c FROM {table}) AS q WHERE q.c"
    assert _ids(packed, as_value) == expected
    negated = f"SELECT id FROM {table} WHERE ({condition}) IS NOT TRUE"
    assert len(_ids(packed, negated)) + len(expected) == 5 * (len(VALUES) + 1)


def _on(alias: str, condition: str) -> str:
    """Put an alias before every path."""
    words = condition.replace("(", "( ").replace(")", " )").replace(",", " ,").split(" ")
    return " ".join(f"{alias}.{word}" if word in PATHS else word for word in words)
