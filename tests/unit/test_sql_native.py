"""Statements that scans answer without an engine."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import _core
from sdb.errors import CorruptError, UsageError
from sdb.query.analyze.check import check
from sdb.query.analyze.params import bind
from sdb.query.catalog.catalog import Catalog
from sdb.query.catalog.dataset import QueryRequest
from sdb.query.exec import engine, native
from sdb.query.plan.choice import choose
from sdb.query.plan.scans import HashAggregate, TopK
from sdb.query.result.lines import lines
from sdb.query.syntax.parser import parse
from tests.engines import Answers
from tests.unit.test_lanes import sources
from tests.unit.test_reader import make

if TYPE_CHECKING:
    from pathlib import Path

    from sdb.query.exec.execution import Execution


KINDS = [None, True, 7, 7.5, "seven", "", "2021-01-02T03:04:05Z", ["x"], {"y": 1}]
ROWS: list[dict[str, Any]] = [
    {"id": number, "kind": KINDS[number % len(KINDS)], "n": {"v": number % 7 / 2, "w": "é" * 40}}
    for number in range(4000)
]
GROUPED = "SELECT kind, COUNT(*) AS c, SUM(n.v) AS s, MAX(id) AS m FROM 't.zion' GROUP BY kind"
ALONE = [
    GROUPED,
    "SELECT DATE_TRUNC(DAY, kind) AS d, AVG(id) FROM 't.zion' GROUP BY DATE_TRUNC(DAY, kind)",
    "SELECT kind, id FROM 't.zion' WHERE id < 20",
    "SELECT * FROM 't.zion' LIMIT 3",
    "SELECT * FROM 't.zion' WHERE id > 50 ORDER BY kind DESC, id LIMIT 3",
    "SELECT COUNT(*) FROM 't.zion' WHERE n.v > 1",
    "SELECT x, COUNT(DISTINCT t.id) AS c FROM 't.zion' AS t, t.kind AS x GROUP BY x ORDER BY c",
]


@pytest.mark.parametrize("algorithm", ["zion+zstd", "zstd", "zion+iguana_v0"])
@pytest.mark.parametrize("threads", [1, 3])
def test_groups_of_many_blocks(tmp_path: Path, algorithm: str, threads: int) -> None:
    make(tmp_path / "t.zion", ROWS, algorithm=algorithm)
    expected: dict[str, list[float]] = defaultdict(lambda: [0, 0, 0])
    for row in ROWS:
        group = expected[json.dumps(row["kind"])]
        group[0] += 1
        group[1] += row["n"]["v"]
        group[2] = row["id"]
    rows = [
        json.loads(line)
        for line in Answers(tmp_path, f"SET dialect = sneller; {GROUPED}").lines(
            native=True, threads=threads
        )
    ]
    # In the order in which they are met.
    assert [row["kind"] for row in rows] == KINDS
    assert {json.dumps(row["kind"]): [row[name] for name in "csm"] for row in rows} == expected


@pytest.mark.parametrize("algorithm", ["zion+zstd", "zstd"])
@pytest.mark.parametrize("path", ["a", "a.b", "a.b.c", "a.d", "z", "z.b"])
def test_totals_of_one_path_and_of_two(tmp_path: Path, algorithm: str, path: str) -> None:
    """Values of a single path are added where they lie, others once their row is known."""
    values = [*KINDS, 2**63, -5, 1e300]
    wholes = [{"b": {"c": value}, "d": value} for value in values] + [{}, {"b": 3}, {"d": None}]
    rows: list[dict[str, Any]] = [{"a": whole, "id": 1} for whole in wholes + values] * 50
    make(tmp_path / "t.zion", [*rows, {"id": 2}], algorithm=algorithm)
    calls = "COUNT(*) AS n, COUNT(v) AS c, SUM(v) AS s, AVG(v) AS m, MIN(v) AS l, MAX(v) AS h, "
    calls += "COUNT(DISTINCT v) AS d, EARLIEST(v) AS e"
    calls = calls.replace("(v)", f"({path})").replace("DISTINCT v", f"DISTINCT {path}")
    answers = [
        json.loads(line)
        for more in ("", ", COUNT(id) AS other")
        for line in Answers(tmp_path, f"SELECT {calls}{more} FROM 't.zion'").lines(native=True)
    ]
    assert answers[0]["n"] == len(rows) + 1 == answers[1].pop("other")
    assert answers[0] == answers[1]


@pytest.mark.parametrize("query", ALONE)
@pytest.mark.parametrize("fmt", ["json", "csv", "table", "ion"])
def test_neither_engine_nor_arrow_is_imported(tmp_path: Path, query: str, fmt: str) -> None:
    make(tmp_path / "t.zion", ROWS[:200])
    code = (
        "import atexit, sys; from sdb.cli.main import main\n"
        "heavy = {'duckdb', 'pyarrow', 'numpy'}\n"
        "atexit.register(lambda: print('loaded:', *(heavy & set(sys.modules)), file=sys.stderr))\n"
        "main()"
    )
    args = [sys.executable, "-c", code, "query", "--dialect", "sneller"]
    args += ["--root", str(tmp_path), "--fmt", fmt, query]
    done = subprocess.run(args, capture_output=True, check=True)
    assert done.stdout
    # Rows without a key may be told of in front.
    assert done.stderr.splitlines()[-1].split() == [b"loaded:"]


@pytest.mark.parametrize(
    ("query", "is_told"),
    [
        ("SELECT 5 AS n, 'a' AS s, TRUE AS b, 1.5 AS f, -3 AS m FROM 't.zion' LIMIT 2", True),
        ("SELECT 5 AS n FROM 't.zion' LIMIT 9000", True),
        ("SELECT COUNT(*) AS c, 7 AS n, 'x' AS s FROM 't.zion'", True),
        ("SELECT 5 AS n FROM 't.zion' WHERE id > 4 LIMIT 2", False),
        ("SELECT COUNT(*) AS c, 7 AS n FROM 't.zion' WHERE id > 4", False),
        ("SELECT id, 7 AS n FROM 't.zion' GROUP BY id ORDER BY n, id LIMIT 2", False),
    ],
)
def test_constants_need_no_row(tmp_path: Path, query: str, *, is_told: bool) -> None:
    make(tmp_path / "t.zion", ROWS[:200])
    answers = Answers(tmp_path, query)
    assert answers.lines(native=True) == answers.lines(native=False)
    if is_told:
        assert answers.columns(native=True) == answers.columns(native=False)
    with sdb.sql(query, root=str(tmp_path)) as result:
        assert len(result)
        assert (result.blocks_read == 0) is is_told


def few(query: str, root: Path, most_bytes: int) -> tuple[list[bytes], list[str]]:
    """Lines of groups that may take so much memory, and who made them."""
    statement = check(bind(parse(f"SET dialect = sneller; {query}"), {}))
    catalog = Catalog(QueryRequest(root=str(root)))
    chosen = choose(statement, catalog, typed=False)
    assert isinstance(chosen, HashAggregate | TopK)
    asked = []

    def instead() -> Execution:
        asked.append("engine")
        return engine.run(statement, datasets=catalog, typed=False, native=False)

    result = native.run(chosen, instead, memory_bytes=most_bytes)
    names = sorted(b"".join(lines(result.reader, result.columns)).splitlines())
    result.close()
    catalog.close()
    return names, asked


@pytest.mark.parametrize("call", ["COUNT(*)", "COUNT(DISTINCT id)"])
def test_the_engine_makes_groups_that_take_much_memory(tmp_path: Path, call: str) -> None:
    make(tmp_path / "t.zion", ROWS)
    query = f"SELECT id, {call} AS c, LATEST(kind) AS l FROM 't.zion' GROUP BY id"
    enough, nobody = few(query, tmp_path, 1 << 24)
    little, engines = few(query, tmp_path, 1 << 16)
    assert (nobody, engines) == ([], ["engine"])
    assert len(enough) == len(ROWS)
    assert enough == little


def test_damage_is_named(tmp_path: Path) -> None:
    path = make(tmp_path / "t.zion", ROWS)
    with sdb.open(path) as pack:
        start, end = pack.trailer.blocks[2].offset, pack.trailer.blocks[3].offset
    data = bytearray(path.read_bytes())
    data[start + 40 : end] = bytes(end - start - 40)
    path.write_bytes(data)
    with (
        pytest.raises(CorruptError, match="block 2"),
        sdb.sql(GROUPED, root=str(tmp_path)) as result,
    ):
        list(result.lines())
    with pytest.raises(CorruptError, match="block 2"):
        list(sdb.sql("SELECT kind FROM 't.zion'", root=str(tmp_path)).lines())


def test_the_answer_can_be_read_again(tmp_path: Path) -> None:
    make(tmp_path / "t.zion", ROWS)
    with sdb.sql(GROUPED, root=str(tmp_path)) as result:
        rows = list(result)
        assert list(result) == rows
        assert result.to_arrow().num_rows == len(rows) == len(KINDS)
        assert result.to_arrow()["s"].type == "double"


@pytest.mark.parametrize(
    "change",
    [
        {"keys": [(1, None)]},
        {"keys": [(0, ("months", -1, 0))]},
        {"keys": [(0, ("weeks", 1, 0))]},
        {"calls": [("median", 0, None)]},
        {"calls": [("sum", None, None)]},
        {"calls": [("sum", 0, ("is", ["other"], 1))]},
        {"calls": [("sum", 0, ("xor", []))]},
        {"lanes": [(0, "k")]},
        {"lanes": [(0, "q")]},
    ],
)
def test_nonsense_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    with sdb.open(make(tmp_path / "t.zion", ROWS[:3])) as pack:
        scan = _core.LaneScan(sources(pack), [(0, ["id"], "t")])
        asked = {"keys": [(0, None)], "calls": [("rows", None, None)], "lanes": [(1, "x")]}
        assert scan.aggregate(**asked) is not None
        with pytest.raises(UsageError):
            scan.aggregate(**asked | change)


@pytest.mark.parametrize("query", [GROUPED, "SELECT * FROM 't.zion'"])
def test_another_thread_stops_it(tmp_path: Path, query: str) -> None:
    make(tmp_path / "t.zion", ROWS)
    with sdb.sql(query, root=str(tmp_path), threads=1) as result:
        stopper = threading.Thread(target=result.interrupt)
        stopper.start()
        stopper.join()
        with pytest.raises(KeyboardInterrupt):
            list(result.lines())
