"""Engines that wait for the next query: what one query leaves behind, no other one sees."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import sdb
from sdb.query.exec import engines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sdb.query.exec.engines import _Engine

FIRST = "SELECT s, ROW_NUMBER() OVER (ORDER BY n) AS k FROM 't.zion' ORDER BY k LIMIT 1"
JOIN = "SELECT a.n AS n FROM 't.zion' a JOIN 't.zion' b ON a.n = b.n JOIN 't.zion' c ON c.n = a.n"


@pytest.fixture(autouse=True)
def _no_engine_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Begin and end without an engine; there is a packfile `t.zion` with ten thousand rows."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.json").write_text("".join(f'{{"n": {n}, "s": "x{n}"}}\n' for n in range(10_000)))
    sdb.pack("t.json", "t.zion")
    engines._close_waiting()
    yield
    engines._close_waiting()


def ask(text: str, **options: int) -> list[tuple[object, ...]]:
    with sdb.sql(text, **options) as result:
        return result.fetchall()


def waiting() -> list[_Engine]:
    return list(engines._waiting)


@pytest.mark.parametrize("closes", [True, False])
def test_the_engine_of_a_query_that_ended_runs_the_next_one(closes: bool) -> None:
    seen = set()
    for _ in range(3):
        rows = ask(FIRST) if closes else sdb.sql(FIRST).fetchall()
        assert rows == [("x0", 1)]
        seen |= set(waiting())
    assert len(seen) == 1


def test_an_engine_whose_query_was_stopped_runs_no_other_one() -> None:
    with sdb.sql(FIRST) as result:
        result.interrupt()
    assert not waiting()
    assert ask(FIRST) == [("x0", 1)]


def test_a_statement_that_fails_breaks_no_other_one() -> None:
    for _ in range(2):
        with pytest.raises(sdb.errors.SdbError):
            ask("SELECT REPEAT(s, 100000) AS r FROM 't.zion' ORDER BY r", memory_bytes=64 << 20)
        assert ask(FIRST) == [("x0", 1)]


@pytest.mark.parametrize("query", [JOIN, "SELECT LOWER(s) AS s, n FROM 't.zion' ORDER BY UPPER(s)"])
def test_relations_and_functions_go_with_their_query(query: str) -> None:
    first = sorted(ask(query), key=str)
    [engine] = waiting()
    for views in ("duckdb_tables()", "duckdb_views() WHERE NOT internal"):
        assert engine.database.sql(f"FROM {views}").fetchall() == []
    own = "SELECT function_name FROM duckdb_functions() WHERE starts_with(function_name, 'sdb_')"
    assert engine.database.sql(own).fetchall() == []
    assert sorted(ask(query), key=str) == first
    assert waiting() == [engine]


def test_each_query_has_its_own_bound_of_memory() -> None:
    for most in (64 << 20, None, 128 << 20):
        with sdb.sql(FIRST, memory_bytes=most) as result:
            result.fetchall()
        [engine] = waiting()
        [(limit,)] = engine.database.sql("SELECT current_setting('memory_limit')").fetchall()
        assert most is None or limit == f"{most >> 20}.0 MiB"


def test_queries_with_other_numbers_of_threads_have_other_engines() -> None:
    for threads in (1, 2, 1):
        ask(FIRST, threads=threads)
        assert [engine.threads for engine in waiting()] == [threads]


def test_a_query_outlives_the_folder_of_the_engine_that_waits() -> None:
    ask(FIRST)
    [engine] = waiting()
    shutil.rmtree(engine.spill.path)
    assert ask(FIRST) == [("x0", 1)]
    assert waiting() != [engine]


def test_rows_of_a_dropped_result_can_be_read_to_the_end() -> None:
    reader = pa.RecordBatchReader.from_stream(sdb.sql("SELECT s, n FROM 't.zion' ORDER BY n"))
    for _ in range(3):
        ask("SELECT LOWER(s) AS s FROM 't.zion' ORDER BY n LIMIT 1")
    assert reader.read_all().num_rows == 10_000


def test_a_copy_of_the_process_has_engines_of_its_own() -> None:
    ask(FIRST)
    child = os.fork()
    if not child:
        try:
            os._exit(0 if ask(FIRST) == [("x0", 1)] else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert ask(FIRST) == [("x0", 1)]


def test_folders_go_with_the_program(tmp_path: Path) -> None:
    import subprocess
    import sys

    (tmp_path / "scratch").mkdir()
    program = f"import sdb, os; list(sdb.sql({FIRST!r})); assert os.listdir('scratch')"
    environment = {**os.environ, "TMPDIR": str(tmp_path / "scratch")}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    assert not list((tmp_path / "scratch").iterdir())
