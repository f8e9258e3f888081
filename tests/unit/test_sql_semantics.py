"""What queries return where the vectors do not look: more than the original accepts, and limits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.errors import SdbError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

TABLES: dict[str, list[dict[str, Any]]] = {
    "a": [
        {"id": 1, "g": "x", "v": 1, "Id": 10, "n": {"k": [1, {"z": "deep"}]}, "l": [1, 2]},
        {"id": 2, "g": "x", "v": 1e100, "n": {"k": None}, "l": []},
        {"id": 3, "g": "y", "v": 1, "n": "no", "l": ["s", None]},
        {"id": 4, "g": None, "v": -1e100},
        {"id": 9007199254740993, "v": "text"},
    ],
    "b": [{"id": 1, "name": "one"}, {"id": 3, "name": "three"}, {"id": 7, "name": "seven"}],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("semantics")
    for name, rows in TABLES.items():
        (folder / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
        sdb.pack([str(folder / f"{name}.json")], str(folder / f"{name}.zion"))
    return folder


def _rows(folder: Path, query: str) -> list[dict[str, Any]]:
    for name in TABLES:
        query = query.replace(f"@{name}", f"read_file('{name}.zion')")
    with sdb.sql(query, root=str(folder), threads=1, typed=False, dialect="sneller") as result:
        return [json.loads(line) for line in b"".join(result.lines()).splitlines()]


BIG = 9007199254740993
CASES = {
    "SELECT SUM(v) AS s, AVG(v) AS m FROM @a": [{"s": 2, "m": 0.5}],
    "SELECT id FROM @a WHERE id > 9007199254740992": [{"id": BIG}],
    "SELECT a.id FROM @a AS a WHERE a.id = 9007199254740992": [],
    "SELECT MAX(CAST(id AS INTEGER)) AS m FROM @a": [{"m": BIG}],
    "SELECT Id, id FROM @a WHERE id = 1": [{"Id": 10, "id": 1}],
    "SELECT id, n.k[1].z AS z FROM @a WHERE n.k[1].z IS NOT MISSING": [{"id": 1, "z": "deep"}],
    "SELECT q.m.k[1].z AS z FROM (SELECT n AS m FROM @a) AS q WHERE q.m.k IS NULL": [{}],
    "SELECT n.k[1].z AS z, COUNT(*) AS c FROM @a WHERE id = 1 GROUP BY n": [{"z": "deep", "c": 1}],
    "SELECT q.id, e FROM (SELECT id, l FROM @a) AS q, q.l AS e WHERE q.id > 2": [
        {"id": 3, "e": "s"},
        {"id": 3, "e": None},
    ],
    "SELECT a.id, (SELECT COUNT(*) FROM a.l AS e WHERE e > 1) AS c FROM @a AS a WHERE a.id < 3": [
        {"id": 1, "c": 1},
        {"id": 2, "c": 0},
    ],
    "SELECT a.id, e FROM @a AS a JOIN a.l AS e ON e > 1 AND a.id < 9": [{"id": 1, "e": 2}],
    "SELECT COUNT(*) AS n FROM @a AS a JOIN a.l AS e ON e IS NOT NULL": [{"n": 3}],
    "SELECT b.id, a.g FROM @b AS b LEFT JOIN @a AS a ON a.id = b.id ORDER BY b.id": [
        {"id": 1, "g": "x"},
        {"id": 3, "g": "y"},
        {"id": 7},
    ],
    "SELECT b.name FROM @a AS a RIGHT JOIN @b AS b ON a.id = b.id WHERE a.id IS MISSING": [
        {"name": "seven"}
    ],
    "SELECT COUNT(a.g) AS n, COUNT(*) AS m FROM @b AS b LEFT JOIN @a AS a ON a.id = b.id": [
        {"n": 2, "m": 3}
    ],
    "SELECT id FROM @b UNION ALL SELECT id FROM @b ORDER BY id DESC LIMIT 3": [
        {"id": 7},
        {"id": 7},
        {"id": 3},
    ],
    "SELECT id FROM @b UNION SELECT id FROM @b WHERE id < 7": [{"id": 1}, {"id": 3}, {"id": 7}],
    "SELECT COUNT(*) AS n FROM (SELECT id FROM @a) ++ @b": [{"n": 8}],
    "WITH t AS (SELECT * FROM @b) SELECT t.name FROM t ++ @b AS t WHERE t.id = 7": [
        {"name": "seven"},
        {"name": "seven"},
    ],
    "WITH t AS (SELECT id AS i, name FROM @b), u AS (SELECT i FROM t WHERE name <> 'one')"
    " SELECT u.i, t.name FROM u JOIN t ON u.i = t.i WHERE t.i < 5": [{"i": 3, "name": "three"}],
    "SELECT k, v FROM UNPIVOT (SELECT * FROM @b WHERE id = 7) AS v AT k WHERE k = 'name'": [
        {"k": "name", "v": "seven"}
    ],
    "SELECT k, COUNT(*) AS n FROM UNPIVOT @b AS v AT k WHERE k = 'id' GROUP BY k": [
        {"k": "id", "n": 3}
    ],
    "SELECT r[1].name AS x FROM (SELECT (SELECT id, name FROM @b ORDER BY id LIMIT 2) AS r)": [
        {"x": "three"}
    ],
    "SELECT id FROM @b WHERE EXISTS (SELECT * FROM @a WHERE g = name OR v = 'text')": [
        {"id": 1},
        {"id": 3},
        {"id": 7},
    ],
    "SELECT name FROM @b WHERE (SELECT COUNT(*) FROM @a WHERE name = 'one' AND g = 'x') = 2": [
        {"name": "one"}
    ],
    "SELECT g, COUNT(*) AS n FROM @a GROUP BY g HAVING COUNT(*) > 1 OR g IS NULL ORDER BY g": [
        {"g": None, "n": 1},
        {"g": "x", "n": 2},
    ],
    "SELECT g, COUNT(*) AS n, SUM(COUNT(*)) OVER (PARTITION BY g IS NULL) AS s FROM @a"
    " GROUP BY g HAVING COUNT(*) < 2 ORDER BY g": [
        {"g": None, "n": 1, "s": 1},
        {"g": "y", "n": 1, "s": 1},
    ],
    "SELECT id, COUNT(*) OVER (PARTITION BY g) AS n FROM @a WHERE id < 3": [
        {"id": 1, "n": 2},
        {"id": 2, "n": 2},
    ],
    "SELECT DISTINCT g FROM @a WHERE g IS NOT NULL ORDER BY g DESC": [{"g": "y"}, {"g": "x"}],
    "SELECT 'it\\'s \\\\ \\u0000' AS s, CHAR_LENGTH('\\u0000') AS n": [{"s": "it's \\ \0", "n": 1}],
    "SELECT COALESCE(v, COALESCE(g, COALESCE(id, 0))) AS r FROM @a WHERE id = 4": [{"r": -1e100}],
    "SELECT COALESCE(nope, g) AS r, TYPE_BIT(COALESCE(nope, nope)) AS t FROM @a WHERE id = 4": [
        {"r": None, "t": 1}
    ],
    "SELECT [id, nope, g] AS l, {'b': g, 'a': nope} AS s FROM @a WHERE id = 4": [
        {"l": [4, None], "s": {"b": None}}
    ],
    "SELECT ARRAY_SUM(CASE WHEN id = 1 THEN l ELSE [id, 0.5] END) AS s FROM @a WHERE id < 3": [
        {"s": 3},
        {"s": 2.5},
    ],
    "SELECT COUNT(*) AS a, COUNT(*) AS b FROM @a WHERE id >= 3 AND NOT (g = 'x')": [
        {"a": 2, "b": 2}
    ],
    "SELECT PMOD(CAST(-7 AS INTEGER), CHAR_LENGTH('xyz') + 1) AS p, -7 % 4 AS r": [
        {"p": 1, "r": -3}
    ],
    "SELECT 9223372036854775807 + CHAR_LENGTH('x') AS w, CHAR_LENGTH('abc') / 2 AS h, 3 / 2 AS f": [
        {"w": -(2**63), "h": 1, "f": 1.5}
    ],
    "SELECT g || 'y' AS g, COUNT(*) AS n FROM @a GROUP BY g || 'y' HAVING g || 'y' = 'xy'": [
        {"g": "xy", "n": 2}
    ],
    "SELECT TYPE_BIT(v) AS v, COUNT(*) AS n FROM @a GROUP BY TYPE_BIT(v) ORDER BY TYPE_BIT(v)": [
        {"v": 4, "n": 4},
        {"v": 16, "n": 1},
    ],
    "SELECT DISTINCT ON ('x', g IS NULL) g IS NULL AS g FROM @a WHERE id < 5 ORDER BY g": [
        {"g": False},
        {"g": True},
    ],
    "SELECT DISTINCT 'c' AS c, nope IS MISSING AS m FROM @a": [{"c": "c", "m": True}],
    "SELECT id FROM @b ORDER BY 'c', nope IS MISSING, id LIMIT 1": [{"id": 1}],
    "SELECT name, COUNT(*) AS n FROM (SELECT name FROM @b) AS q GROUP BY q.name ORDER BY name": [
        {"name": "one", "n": 1},
        {"name": "seven", "n": 1},
        {"name": "three", "n": 1},
    ],
    "SELECT UPPER(q.name) AS n FROM (SELECT * FROM @b) AS q GROUP BY UPPER(name) HAVING n > 'P'": [
        {"n": "SEVEN"},
        {"n": "THREE"},
    ],
    "SELECT SUM(v) OVER (PARTITION BY nope IS MISSING) AS s FROM @a WHERE id < 5": [{"s": 2}] * 4,
    "SELECT SUM(v * 1e-90) AS s, AVG(v * 1.6e18) AS m FROM @a WHERE id IN (1, 3)": [
        {"s": 2e-90, "m": 16 * 10**17}
    ],
    "SELECT APPROX_COUNT_DISTINCT(v) AS n, APPROX_PERCENTILE(v, 0.25) AS q FROM @a": [
        {"n": 4, "q": -2.5e99}
    ],
    "SELECT CHAR_LENGTH('abc') / (CHAR_LENGTH('x') - 1) AS d, CHAR_LENGTH('') % 2 AS m": [{"m": 0}],
}


@pytest.mark.parametrize("query", CASES)
def test_rows(folder: Path, query: str) -> None:
    expected = CASES[query]
    rows = _rows(folder, query)
    if "ORDER BY" in query:
        assert rows == expected
    else:
        assert sorted(map(str, rows)) == sorted(map(str, expected))


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT q.id FROM @a AS t", 'reference to undefined variable "q"'),
        ("SELECT t FROM @a AS t", "cannot reference raw table"),
        ("SELECT id, COUNT(*) FROM @a", "path id references an unbound variable"),
        ("SELECT id FROM @a WHERE COUNT(*) > 1", "not allowed in WHERE"),
        ("SELECT SUM(COUNT(*)) FROM @a", "aggregate"),
        ("SELECT nosuchfunc(id) FROM @a", 'unrecognized builtin "NOSUCHFUNC"'),
        ("SELECT * FROM read_csv('/etc/passwd')", "READ_CSV"),
        ("SELECT " + "PMOD(" * 12 + "id" + ", 7)" * 12 + " FROM @a", "too complex"),
        ("SELECT g ~ '(' AS r FROM @a", "("),
        ("SELECT id / 0, 'a' + 1, UPPER(5) FROM @a", "division by zero and 2 other errors"),
        ("SELECT CASE 5 WHEN 'a' THEN 1 END FROM @a", "never comparable"),
        ("SELECT UPPER((SELECT id, g FROM @a LIMIT 1)) FROM @a", "should have 1 column; have 2"),
    ],
)
def test_what_makes_no_sense_is_rejected(folder: Path, query: str, message: str) -> None:
    with pytest.raises(SdbError) as raised:
        _rows(folder, query)
    assert isinstance(raised.value, UsageError)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("SELECT UPER(name) FROM @b", "did you mean UPPER?"),
        ("SELECT SUBSTRNG(name, 1) FROM @b", "did you mean SUBSTRING?"),
        ("SELECT name FORM @b", "did you mean FROM instead of FORM?"),
        ("SELECT id:INTEGER FROM @b", "CAST(value AS type) converts"),
        ("SELECT CAST(id AS BLOB) FROM @b", "the types are BOOLEAN, "),
        ("SELECT name FROM @b LIMIT 1 ORDER BY id", "clauses come in this order"),
        ("SELECT DATE_TRUNC(EON, id) FROM @b", "the parts are DAY, "),
        ("SELECT name, COUNT(*) FROM @b", "put it into GROUP BY"),
        ("SELECT $x", "--param x="),
    ],
)
def test_errors_say_what_was_meant(folder: Path, query: str, hint: str) -> None:
    with pytest.raises(SdbError) as raised:
        _rows(folder, query)
    assert raised.value.hint is not None
    assert hint in raised.value.hint


def test_a_long_chain_of_conditions(folder: Path) -> None:
    for operand in ("id", "-id"):
        chain = " OR ".join(f"{operand} = {number}" for number in range(-8, 2000))
        assert len(_rows(folder, f"SELECT id FROM @b WHERE {chain}")) == 3


def test_text_of_users_stays_text(folder: Path) -> None:
    for text in ["x' OR '1'='1", "'; ATTACH '/tmp/x.db'; --", '"', "\\", "$$", "\0'"]:
        escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\0", "\\u0000")
        query = f"SELECT '{escaped}' AS \"a'\"\"b\" FROM @b WHERE name <> '{escaped}' LIMIT 1"
        query = query.replace('""', '\\"')
        assert _rows(folder, query) == [{"a'\"b": text}]
        assert _rows(folder, f"SELECT id FROM @b WHERE UPPER(name) = '{escaped}'") == []


def test_names_that_differ_by_case_only(folder: Path) -> None:
    query = "SELECT q.x, q.X, COUNT(*) AS n FROM (SELECT id AS x, Id AS X FROM @a) AS q"
    rows = _rows(folder, query + " WHERE q.X = 10 GROUP BY q.x, q.X")
    assert rows == [{"x": 1, "X": 10, "n": 1}]


def test_a_plan_tells_what_the_scan_does(folder: Path) -> None:
    ((row),) = _rows(folder, "EXPLAIN SELECT name FROM @b WHERE id > 1 AND name LIKE 't%' LIMIT 1")
    assert "READ name" in row["plan"]
    assert "WHERE (id > 1) AND (name LIKE 't%')" in row["plan"]
    assert "LIMIT 1" in row["plan"]
