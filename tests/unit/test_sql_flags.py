"""Sums of booleans: TRUE counts as 1, FALSE as 0."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import sdb

if TYPE_CHECKING:
    from pathlib import Path

ROWS: list[dict[str, Any]] = [
    {"flag": True, "mixed": 2, "k": 1},
    {"flag": False, "mixed": True, "k": 1},
    {"flag": True, "k": 2},
    {"flag": None, "mixed": "x", "k": 2},
    {"k": 2},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("flags")
    (folder / "t.json").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    sdb.pack([str(folder / "t.json")], str(folder / "t.zion"))
    return folder


@pytest.mark.parametrize(
    ("expr", "total", "share"),
    [
        ("flag", 2, 2 / 3),
        ("mixed", 3, 1.5),
        ("k = 1", 2, 0.4),
        ("flag = TRUE AND k = 2", 1, 1 / 3),
        ("flag IS NULL", 2, 0.4),
        ("k > 5", 0, 0),
        ("flag AND NULL", 0, 0),
    ],
)
def test_sums_count_what_is_true(folder: Path, expr: str, total: int, share: float) -> None:
    for text in (
        f"SELECT SUM({expr}) AS s, AVG({expr}) AS a FROM t",
        f"SELECT SUM(x) AS s, AVG(x) AS a FROM (SELECT {expr} AS x FROM t) AS q",
        f"SELECT SUM({expr}) OVER () AS s, AVG({expr}) OVER () AS a FROM t LIMIT 1",
    ):
        with sdb.sql(text, root=str(folder)) as result:
            (row,) = result
        assert (row["s"], row["a"]) == (total, pytest.approx(share)), text


def test_the_original_has_no_sums_of_booleans(folder: Path) -> None:
    text = "SELECT SUM(flag) AS s, SUM(k = 1) AS e, SUM(mixed) AS m FROM t"
    with sdb.sql(text, root=str(folder), dialect="sneller") as result:
        assert list(result) == [{"s": None, "e": None, "m": 2}]
