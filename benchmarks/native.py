"""Compares what scans answer on their own with the SQL engine, query by query in one warm process.

Decision 012: what is not at least 1.5 times faster than the engine is not worth its code. Of
several rounds the least time counts, and that of the processors, for others may use the machine.

    .venv/bin/python benchmarks/native.py [FILE.zion | FILE.json.gz] [ROUNDS]
"""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import sdb
from sdb.query.analyze.check import check
from sdb.query.catalog.catalog import Catalog
from sdb.query.exec import engine
from sdb.query.plan.choice import choose
from sdb.query.result.result import Result
from sdb.query.syntax.parser import parse

if TYPE_CHECKING:
    from sdb.query.syntax import ast

SAMPLE = Path(__file__).parent.parent / "testdata" / "gh2015_1k.json.gz"
LEAST = 1.5
MIN_ROWS = 200_000
ROWS = {  # Decided row by row, with or without the engine: the rule is not about them.
    "projection": "SELECT type, actor.login FROM {}",
    "predicate": "SELECT id FROM {} WHERE actor.login LIKE 'a%' AND repo.id > 1000",
    "limit": "SELECT * FROM {} WHERE type = 'PushEvent' LIMIT 100",
    "count": "SELECT COUNT(*) AS n FROM {} WHERE type = 'PushEvent'",
    "top-k": "SELECT type, created_at FROM {} ORDER BY actor.id DESC LIMIT 10",
}
ACCUMULATORS = {
    "groups: COUNT(*)": "SELECT type, COUNT(*) AS n FROM {} GROUP BY type",
    "groups: many keys": "SELECT actor.login, COUNT(*) AS n FROM {} GROUP BY actor.login",
    "groups: two keys": "SELECT type, public, COUNT(*) AS n FROM {} GROUP BY type, public",
    "groups: DATE_TRUNC": "SELECT DATE_TRUNC(MINUTE, created_at) AS t, COUNT(*) AS n FROM {} "
    "GROUP BY DATE_TRUNC(MINUTE, created_at)",
    "COUNT(x)": "SELECT COUNT(actor.id) AS n FROM {}",
    "COUNT(DISTINCT x)": "SELECT COUNT(DISTINCT actor.login) AS n FROM {}",
    "SUM": "SELECT SUM(actor.id) AS n FROM {}",
    "AVG": "SELECT AVG(actor.id) AS n FROM {}",
    "MIN": "SELECT MIN(actor.id) AS n FROM {}",
    "MAX": "SELECT MAX(actor.id) AS n FROM {}",
    "EARLIEST": "SELECT EARLIEST(created_at) AS n FROM {}",
    "LATEST": "SELECT LATEST(created_at) AS n FROM {}",
    "FILTER": "SELECT COUNT(*) FILTER (WHERE type = 'PushEvent') AS n, COUNT(*) AS m FROM {}",
}
WIDE = {  # Most of the time goes to decompressing a wide struct, which both have to do.
    "wide: predicate": "SELECT id FROM {} WHERE payload.size > 1",
    "wide: COUNT(x)": "SELECT COUNT(payload.size) AS n FROM {}",
}


def main() -> int:
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else SAMPLE
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    slow = []
    with tempfile.TemporaryDirectory() as folder:
        packed = source if source.suffix == ".zion" else _packed(source, Path(folder))
        print(f"{'':22} {'elapsed':^25}   {'of the processors':^25}")
        print(f"{'query':22}" + "     scan   engine  ratio  " * 2)
        for name, query in (ROWS | ACCUMULATORS | WIDE).items():
            statement = check(parse(query.format(f"'{packed.name}'")))
            alone, other = _race(statement, packed.parent, rounds)
            ratios = [b / a for a, b in zip(alone, other, strict=True)]
            shown = [
                f" {a * 1e3:6.1f}ms {b * 1e3:6.1f}ms {ratio:5.1f}x  "
                for a, b, ratio in zip(alone, other, ratios, strict=True)
            ]
            print(f"{name:22}{''.join(shown)}".rstrip(), flush=True)
            slow += [name] if max(ratios) < LEAST and name in ACCUMULATORS else []
    if slow:
        print(f"less than {LEAST} times faster: {', '.join(slow)}")
    return 1 if slow else 0


def _packed(source: Path, folder: Path) -> Path:
    """Pack a small sample as often as makes a table."""
    once = folder / "once.zion"
    sdb.pack([str(source)], str(once))
    with sdb.open(str(once)) as packfile:
        rows = packfile.trailer.blocks and sum(1 for _ in packfile.rows())
    table = folder / "t.zion"
    sdb.pack([str(source)] * -(-MIN_ROWS // max(rows, 1)), str(table))
    return table


def _race(
    statement: ast.Statement, root: Path, rounds: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the least times, elapsed and of the processors, of scan and engine, in turns."""
    with closing(Catalog(str(root))) as catalog:
        assert choose(statement, catalog) is not None, "no scan answers this"
    times: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    answers = {}
    for number in range(rounds + 1):
        for native in (True, False):
            elapsed, worked = time.perf_counter(), time.process_time()
            answers[native] = _answer(statement, root, native=native)
            if number:  # the first time warms up
                taken = time.perf_counter() - elapsed, time.process_time() - worked
                times[native].append(taken)
    assert answers[True] == answers[False], "different answers"
    return _least(times[True]), _least(times[False])


def _least(times: list[tuple[float, float]]) -> tuple[float, float]:
    return min(elapsed for elapsed, _ in times), min(worked for _, worked in times)


def _answer(statement: ast.Statement, root: Path, *, native: bool) -> int:
    """Write all rows; give their number."""
    with closing(Catalog(str(root))) as catalog:
        actual = engine.run(statement, datasets=catalog, native=native, typed=False)
        with Result("", actual, catalog.tables) as result:
            return sum(piece.count(b"\n") for piece in result.lines())


if __name__ == "__main__":
    sys.exit(main())
