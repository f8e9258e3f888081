"""Running aggregates and DISTINCT ON give what Python makes of the same rows."""

from __future__ import annotations

import json
from functools import cmp_to_key
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import sdb

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

Row = dict[str, Any]
_KEYS = ["a", "b", "c", None, 1, True, "1"]
_TIMES = [1, 2, 2, 3, 2.5, None, "x", "2021-03-04T05:06:07Z", "2021-03-04T05:06:08Z", True, False]
_ROWS = 400


def _rows(rng: Random, count: int) -> list[Row]:
    rows = []
    for number in range(count):
        row: Row = {"i": number, "pad": rng.randbytes(20).hex()}
        if rng.random() < 0.85:
            row["k"] = rng.choice(_KEYS)
        if rng.random() < 0.85:
            row["t"] = rng.choice(_TIMES)
        if rng.random() < 0.9:
            row["n"] = rng.choice([1, 2, 4, 8, "text", None])
        if rng.random() < 0.5:
            row["u"] = rng.randrange(5)
        rows.append(row)
    return rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("order")
    text = "".join(json.dumps(row) + "\n" for row in _rows(Random(29), _ROWS))
    (folder / "t.json").write_text(text)
    sdb.pack([folder / "t.json"], folder / "t.zion", block_bytes=2048, align_bytes=512)
    (folder / "few.json").write_text("".join(text.splitlines(keepends=True)[:30]))
    sdb.pack([folder / "few.json"], folder / "few.zion")
    return folder


def _key(value: object) -> tuple[Any, ...]:
    """Sort as the dialect does, what is NULL or MISSING aside."""
    if isinstance(value, bool):
        return 0, value
    if isinstance(value, int | float):
        return 1, value
    return (2 if str(value).endswith("Z") else 3), value


def _order(terms: Sequence[tuple[str, bool, bool]]) -> Callable[[Row, Row], int]:
    """Compare rows: by names, each with whether it goes down, and whether NULL comes last."""

    def compare(left: Row, right: Row) -> int:
        for name, down, last in terms:
            absent = [row.get(name) is None for row in (left, right)]
            if any(absent):
                if all(absent):
                    continue
                return (-1 if absent[0] else 1) * (-1 if last else 1)
            first, two = _key(left[name]), _key(right[name])
            if first != two:
                return (-1 if first < two else 1) * (-1 if down else 1)
        return 0

    return compare


_WAYS = ["", " DESC", " NULLS FIRST", " DESC NULLS FIRST", " DESC NULLS LAST"]


def _terms(rng: Random, names: Sequence[str]) -> tuple[str, list[tuple[str, bool, bool]]]:
    chosen = [(name, rng.choice(_WAYS)) for name in names]
    text = ", ".join(name + way for name, way in chosen)
    return text, [(name, "DESC" in way, "FIRST" not in way) for name, way in chosen]


def _sum(rows: Sequence[Row]) -> int | None:
    ns = [row["n"] for row in rows if isinstance(row.get("n"), int)]
    return sum(ns) if ns else None


def _greatest(rows: Sequence[Row]) -> int | str | None:
    """Return MAX: that of the numbers, else that of the texts."""
    numbers = [row["n"] for row in rows if isinstance(row.get("n"), int)]
    texts = [row["n"] for row in rows if isinstance(row.get("n"), str)]
    return max(numbers, default=None) or max(texts, default=None)


def _read(folder: Path, table: str) -> list[Row]:
    return [json.loads(line) for line in (folder / f"{table}.json").read_text().splitlines()]


def _ask(folder: Path, query: str, threads: int) -> list[Row]:
    with sdb.sql(query, root=str(folder), threads=threads, typed=False) as result:
        return [json.loads(line) for line in b"".join(result.lines()).splitlines()]


@pytest.mark.parametrize("seed", range(8))
def test_running_aggregates(folder: Path, seed: int) -> None:
    rng = Random(seed)
    table = rng.choice(["t", "few"])
    names = rng.choice([["t"], ["t"], ["u"], ["u", "t"], ["t", "i"]])
    text, terms = _terms(rng, names)
    by = rng.choice(["", "PARTITION BY k "])
    over = f"OVER ({by}ORDER BY {text})"
    where = rng.choice(["", " WHERE i > 7", " WHERE n IS NOT NULL"])
    query = (
        f"SELECT i, SUM(n) {over} AS s, COUNT(*) {over} AS c, COUNT(n) {over} AS p, "
        f"COUNT(DISTINCT u) {over} AS d, MAX(n) FILTER (WHERE u > 1) {over} AS m, "
        f"RANK() {over} AS r FROM read_file('{table}.zion'){where}"
    )
    remaining: dict[str, Callable[[Row], bool]] = {
        "": lambda _: True,
        " WHERE i > 7": lambda row: row["i"] > 7,
        " WHERE n IS NOT NULL": lambda row: row.get("n") is not None,
    }
    rows = [row for row in _read(folder, table) if remaining[where](row)]
    compare = _order(terms)
    expected = {}
    for row in rows:
        own = [r for r in rows if not by or _same(r, row)]
        frame = [other for other in own if compare(other, row) <= 0]
        expected[row["i"]] = {
            "i": row["i"],
            "s": _sum(frame),
            "c": len(frame),
            "p": sum(r.get("n") is not None for r in frame),
            "d": len({r["u"] for r in frame if "u" in r}),
            "m": _greatest([r for r in frame if r.get("u", 0) > 1]),
            "r": 1 + sum(compare(other, row) < 0 for other in own),
        }
    actual = {row["i"]: row for row in _ask(folder, query, rng.choice([1, 4]))}
    assert actual == expected, query


def _same(left: Row, right: Row) -> bool:
    """Return whether rows are of one partition, as those are whose key is NULL or MISSING."""
    return [type(left.get("k")), left.get("k")] == [type(right.get("k")), right.get("k")]


@pytest.mark.parametrize("seed", range(8))
def test_the_first_row_of_each_key(folder: Path, seed: int) -> None:
    rng = Random(seed)
    keys = rng.choice([["k"], ["k"], ["u"], ["k", "u"]])
    names = [*rng.choice([[], keys]), *rng.choice([[], ["t"], ["u", "t"]]), "i"]
    text, terms = _terms(rng, names)
    items = rng.choice(["*", "i, t, n"])
    select = f"SELECT DISTINCT ON ({', '.join(keys)}) {items} FROM read_file('t.zion') "
    limit = rng.choice([None, None, 1, 4])
    query = f"{select}ORDER BY {text}" + (f" LIMIT {limit}" if limit else "")
    first: dict[object, Row] = {}
    for row in sorted(_read(folder, "t"), key=cmp_to_key(_order(terms))):
        first.setdefault(tuple((type(row.get(name)), row.get(name)) for name in keys), row)
    expected = list(first.values())[:limit]
    if items != "*":
        expected = [{n: row[n] for n in ("i", "t", "n") if n in row} for row in expected]
    assert _ask(folder, query, rng.choice([1, 4])) == expected, query
    inside = f"SELECT * FROM ({query})" + (" WHERE i >= 0" if rng.random() < 0.5 else "")
    actual = _ask(folder, inside, 2)
    assert sorted(row["i"] for row in actual) == sorted(row["i"] for row in expected), inside


def test_a_condition_outside_of_a_window_changes_nothing_in_it(folder: Path) -> None:
    inner = "SELECT i, k, SUM(n) OVER (ORDER BY i) AS s FROM read_file('t.zion')"
    every = {row["i"]: row for row in _ask(folder, inner, 2)}
    outer = f"SELECT * FROM ({inner}) WHERE i >= 100 AND k = 'a' ORDER BY i LIMIT 5"
    actual = _ask(folder, outer, 2)
    assert len(actual) == 5
    assert all(row == every[row["i"]] for row in actual)
    joined = (
        f"SELECT a.i, a.s FROM ({inner}) AS a JOIN read_file('few.zion') AS b ON a.i = b.i "
        "WHERE b.i > 20"
    )
    rows = _ask(folder, joined, 2)
    assert len(rows) == 9
    assert all(row["s"] == every[row["i"]]["s"] for row in rows)


def test_the_order_of_a_window_is_the_same_whatever_is_known_of_types(tmp_path: Path) -> None:
    """What is MISSING is a peer of NULL, also where a field has one type, or none but NULL."""
    for number, values in enumerate([[1, None, ...], ["a", None, ...], [None, ...], [..., 1]]):
        rows = [{"i": at} | ({} if v is ... else {"t": v}) for at, v in enumerate(values)]
        (tmp_path / f"{number}.json").write_text("".join(json.dumps(r) + "\n" for r in rows))
        sdb.pack([tmp_path / f"{number}.json"], tmp_path / f"{number}.zion")
        present = sum(v is not None and v is not ... for v in values)
        query = f"SELECT i, RANK() OVER (ORDER BY t) AS r FROM read_file('{number}.zion')"
        actual = {row["i"]: row["r"] for row in _ask(tmp_path, query, 1)}
        wanted = [present + 1 if v is None or v is ... else 1 for v in values]
        assert actual == dict(enumerate(wanted)), values
