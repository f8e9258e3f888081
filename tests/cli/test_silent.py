"""Queries that would answer nothing without a word, on real events."""

from __future__ import annotations

import io
import json
import re
import warnings
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import sdb
from sdb.errors import SdbWarning
from tests.cli.conftest import SAMPLE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sdb.query.result.result import Result
    from tests.cli.conftest import Run

ZEEK = [
    {"ts": 1521911720.6, "id.orig_h": "10.0.0.1", "id.resp_p": 80, "t": "2018-03-24T17:15:20Z"},
    {"ts": 1521911730.6, "id.orig_h": "10.0.0.2", "id.resp_p": 443, "t": "2018-03-24T17:15:30Z"},
    {"ts": 1521911740.6, "id.orig_h": "10.0.0.1", "id.resp_p": 53, "local": True},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Pack events of GitHub, and connections with the names of Zeek."""
    sdb.pack([SAMPLE], tmp_path / "gh.zion")
    (tmp_path / "zeek.json").write_text("".join(json.dumps(row) + "\n" for row in ZEEK))
    sdb.pack([tmp_path / "zeek.json"], tmp_path / "zeek.zion")
    return tmp_path


@pytest.mark.parametrize(
    ("where", "warning", "better"),
    [
        (
            "ts > '2018-01-01'",
            "ts has numbers and no text in any row",
            "ts > TO_UNIX_EPOCH(TIMESTAMP '2018-01-01T00:00:00Z')",
        ),
        (
            "ts >= TIMESTAMP '2018-01-01'",
            "ts has numbers and no timestamp in any row",
            "ts >= TO_UNIX_EPOCH(TIMESTAMP '2018-01-01T00:00:00Z')",
        ),
        (
            "t > 1521911720",
            "t has timestamps and no number in any row",
            "TO_UNIX_EPOCH(t) > 1521911720",
        ),
        ("local = 'true'", "local has booleans and no text in any row", "local = TRUE"),
        ("local = 1", "local has booleans and no number in any row", "local = TRUE"),
        (
            '"id.orig_h" > 9',
            '"id.orig_h" has strings and no number in any row',
            "\"id.orig_h\" > '9'",
        ),
    ],
)
def test_a_constant_of_a_type_that_no_row_has(
    run: Run, folder: Path, where: str, warning: str, better: str
) -> None:
    query = f"SELECT * FROM '{folder}/zeek.zion' WHERE "
    done = run("query", query + where)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.decode() == f"warning: {warning}: compare {better}\n"
    again = run("query", query + better)
    assert again.stderr == b""
    assert bool(again.stdout) is (better != "\"id.orig_h\" > '9'")


@pytest.mark.parametrize(
    "where",
    [
        "created_at > '2015-01-01'",
        "id > '2'",
        "actor.id <> 5 AND NOT id = 6",
        "payload.ref = 'refs/heads/master'",
        "payload.size > 1.5",
        "public",
        "type IN ('PushEvent', 'x')",
    ],
)
def test_what_may_be_true_is_not_warned_of(run: Run, folder: Path, where: str) -> None:
    done = run("query", f"SELECT id FROM '{folder}/gh.zion' WHERE {where}")
    assert done.stdout
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("expression", "warning"),
    [
        ("UPPER(created_at)", "NULL in every row: created_at has timestamps and no text"),
        ("created_at LIKE '2015%'", "NULL in every row: created_at has timestamps and no text"),
        ("DATE_TRUNC(DAY, id)", "NULL in every row: id has strings and no timestamp"),
        ("id + 1", "NULL in every row: id has strings and no number"),
        ("EARLIEST(type)", "NULL: type has strings and no timestamp"),
        ("AVG(id)", "NULL: id has strings and no number"),
        ("LATEST(actor.id)", "NULL: actor.id has numbers and no timestamp"),
    ],
)
def test_an_operand_of_a_type_that_no_row_has(
    run: Run, folder: Path, expression: str, warning: str
) -> None:
    done = run("query", f"SELECT {expression} AS value FROM '{folder}/gh.zion'")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {row.get("value") for row in rows} == {None}
    assert done.stderr.decode().startswith("warning: ")
    assert done.stderr.decode().endswith(f" is {warning}\n")


@pytest.mark.parametrize(
    "loss", ["id + 1 is {} in every row", "CAST(id AS INTEGER) is {} where id is a string"]
)
def test_what_has_no_value_is_called_as_in_the_dialect(folder: Path, loss: str) -> None:
    text = f"SELECT {loss.partition(' is ')[0]} AS v FROM '{folder}/gh.zion'"
    for dialect, word in (("standard", "NULL"), ("sneller", "MISSING")):
        with sdb.sql(text, dialect=dialect) as result:
            (line,) = result.notes
        assert loss.format(word) in line


@pytest.mark.parametrize(
    "expression",
    [
        "UPPER(payload.ref)",
        "payload.size + 1",
        "created_at + INTERVAL '1 day'",
        "MIN(created_at)",
        "MAX(payload.size)",
        "SIZE(payload.commits)",
        "ROUND(actor.id)",
        "COALESCE(type, 1)",
        "CONCAT(type, id)",
        "ARRAY_AGG(type)",
        "COUNT(DISTINCT type)",
        "TYPE_BIT(type)",
    ],
)
def test_an_operand_of_use_is_not_warned_of(run: Run, folder: Path, expression: str) -> None:
    done = run("query", f"SELECT {expression} AS value FROM '{folder}/gh.zion'")
    assert done.stderr == b""
    assert any(json.loads(line).get("value") is not None for line in done.stdout.splitlines())


@pytest.mark.parametrize(
    "query",
    [
        "SELECT type, (SELECT COUNT(*) FROM read_file('zeek.zion') WHERE uid = type) AS n FROM gh",
        "SELECT type, (SELECT COUNT(*) FROM zeek WHERE ts = actor.id) AS n FROM gh",
        "SELECT g.type, (SELECT COUNT(*) FROM zeek WHERE ts = g.actor.id) AS n FROM gh AS g",
        "SELECT g.type, (SELECT COUNT(*) FROM zeek WHERE ts = g.type) AS n FROM gh AS g",
        "SELECT UPPER(type) AS u, (SELECT COUNT(*) FROM zeek WHERE ts = u) AS n FROM gh",
        "WITH g AS (SELECT * FROM gh) SELECT (SELECT COUNT(*) FROM zeek WHERE ts = id) AS n FROM g",
    ],
)
def test_fields_of_the_row_outside_are_no_fields_that_no_row_has(
    run: Run, folder: Path, query: str
) -> None:
    assert folder.exists()
    done = run("query", "--strict", query.replace("uid", "ts") + " LIMIT 1")
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["n"] == 0


@pytest.mark.parametrize(
    ("query", "warning"),
    [
        (
            "SELECT (SELECT COUNT(*) FROM gh AS g WHERE g.tpye = 'x') AS n",
            'no row of gh.zion has "tpye"; did you mean type?',
        ),
        (
            "SELECT (SELECT tpye FROM gh LIMIT 1) AS n",
            'no row of gh.zion has "tpye"; did you mean type?',
        ),
        (
            "SELECT id FROM gh WHERE type IN (SELECT tpye FROM gh)",
            'no row of gh.zion has "tpye"; did you mean type?',
        ),
        (
            "SELECT COUNT(*) FROM gh WHERE public IN (SELECT local FROM zeek WHERE ts = tpye)",
            'no row of zeek.zion and 1 more has "tpye"; did you mean type?',
        ),
    ],
)
def test_fields_of_sub_queries_that_no_row_has(
    run: Run, folder: Path, query: str, warning: str
) -> None:
    assert folder.exists()
    done = run("query", query)
    assert done.returncode == 0
    assert done.stderr.decode() == f"warning: {warning}\n"
    assert run("query", "--strict", query).returncode == 2


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a table whose packfiles have more fields than an index tells of, and a narrow one."""
    tmp_path = tmp_path_factory.mktemp("wide")
    for part in range(2):
        with (tmp_path / f"w{part}.json").open("w") as file:
            for i in range(140):
                row = {"EventID": 4624 + i % 3, "i": i, "t": f"2021-01-01T00:00:{i % 60:02}Z"}
                row |= {f"field_{part}_{i % 7}_{j}": j for j in range(100)}
                file.write(json.dumps(row) + "\n")
        sdb.pack([tmp_path / f"w{part}.json"], tmp_path / f"w{part}.zion")
    sdb.execute("CREATE TABLE d.t; CREATE TABLE d.n", root=tmp_path)
    for part in range(2):
        packed = f"{tmp_path}/w{part}.zion"
        sdb.execute(f"INSERT INTO d.t SELECT * FROM '{packed}'", root=tmp_path)
        sdb.execute(f"INSERT INTO d.n SELECT EventID, i, t FROM '{packed}'", root=tmp_path)
    return tmp_path


@pytest.mark.parametrize("table", ["d.t", "d.n", "'w0.zion'"])
@pytest.mark.parametrize(
    ("query", "warning"),
    [
        (
            "SELECT COUNT(*) AS n FROM {} WHERE EventID = 'none'",
            "EventID has numbers and no text in any row",
        ),
        (
            "SELECT * FROM {} WHERE EventID = 'none'",
            "EventID has numbers and no text in any row",
        ),
        (
            "SELECT i FROM {} WHERE EventID IN ('none') ORDER BY i LIMIT 3",
            "EventID has numbers and no text in any row",
        ),
        (
            "SELECT EventID, COUNT(*) AS n FROM {} WHERE t > 1609459200 GROUP BY EventID",
            "t has timestamps and no number in any row: compare TO_UNIX_EPOCH(t) > 1609459200",
        ),
        (
            "SELECT COUNT(*) AS n FROM (SELECT * FROM {} WHERE EventID = 'none')",
            "EventID has numbers and no text in any row",
        ),
        (
            "SELECT SUM(t) AS n FROM {}",
            "SUM(t) is NULL: t has timestamps and no number",
        ),
    ],
)
def test_types_are_told_however_many_fields_there_are(
    run: Run, wide: Path, table: str, query: str, warning: str
) -> None:
    done = run("query", "--root", wide, query.format(table))
    assert done.returncode == 0
    assert done.stderr.decode() == f"warning: {warning}\n"


@pytest.mark.parametrize("table", ["d.t", "d.n", "'w0.zion'"])
@pytest.mark.parametrize("where", ["EventID = 4624", "EventID = 5", "t > '2020-01-01'"])
def test_what_may_be_true_is_not_warned_of_in_tables(
    run: Run, wide: Path, table: str, where: str
) -> None:
    done = run("query", "--root", wide, f"SELECT COUNT(*) AS n FROM {table} WHERE {where}")
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("table", ["d.t", "d.n"])
def test_types_are_told_to_writers_too(run: Run, wide: Path, table: str) -> None:
    done = run("exec", "--root", wide, f"DELETE FROM {table} WHERE EventID = 'none'")
    assert done.returncode == 0
    warning = "warning: EventID has numbers and no text in any row\n"
    assert done.stderr.decode() == warning


@pytest.mark.parametrize("table", ["d.t", "d.n", "'w0.zion'"])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT MAX(t) - MIN(t) AS d FROM {}",
        "SELECT LATEST(t) - EARLIEST(t) AS d FROM {}",
        "SELECT EXTRACT(EPOCH FROM AGE(MAX(t), MIN(t))) AS d FROM {}",
        "SELECT a - b AS d FROM (SELECT MAX(t) AS a, MIN(t) AS b FROM {})",
        "SELECT (SELECT MAX(t) - MIN(t) FROM {}) AS d",
        "SELECT DATE_DIFF(SECOND, MIN(t), MAX(t)) AS d FROM {}",
    ],
)
def test_the_time_between_two_times_is_its_seconds(
    run: Run, wide: Path, table: str, query: str
) -> None:
    done = run("query", "--root", wide, query.format(table))
    assert done.returncode == 0
    assert (json.loads(done.stdout), done.stderr) == ({"d": 59}, b"")


LEFT_OUT = [
    {"k": "a", "t": 1, "n": 1, "at": "2021-01-01T00:00:00Z"},
    {"k": "b", "t": None, "n": 2, "at": "2021-01-02T00:00:00Z"},
    {"k": "b", "n": 3},
    {"t": 5, "n": 4},
    {"k": "a", "t": "x", "n": 5},
]


@pytest.fixture(scope="module")
def gaps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pack rows that lack fields, and some that lack none."""
    folder = tmp_path_factory.mktemp("gaps")
    (folder / "g.json").write_text("".join(json.dumps(row) + "\n" for row in LEFT_OUT))
    (folder / "f.json").write_text(json.dumps(LEFT_OUT[0]) + "\n")
    for name in "gf":
        sdb.pack([folder / f"{name}.json"], folder / f"{name}.zion")
    sdb.execute("CREATE TABLE d.g", root=folder)
    sdb.execute(f"INSERT INTO d.g SELECT * FROM '{folder}/g.zion'", root=folder)
    return folder


@pytest.mark.parametrize("table", ["g", "d.g"])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT CASE WHEN t > 3 THEN 'x' END AS c, COUNT(*) AS n FROM {} GROUP BY c",
        "SELECT DISTINCT UPPER(k) AS u FROM {}",
        "SELECT DISTINCT ON (n % 2) n FROM {} ORDER BY t",
        "SELECT COUNT(*) AS n FROM (SELECT n FROM {} ORDER BY t LIMIT 9)",
        "WITH w AS (SELECT n FROM {} ORDER BY t DESC) SELECT COUNT(*) AS n FROM w",
        "SELECT (SELECT SUM(c) FROM (SELECT COUNT(*) AS c FROM {} GROUP BY k)) AS n",
        "SELECT n FROM {0} WHERE n IN (SELECT n FROM {0} ORDER BY k)",
        "SELECT k, t FROM {0} UNION SELECT k, t FROM {0} ORDER BY t",
        "SELECT a.k, COUNT(*) AS n FROM {0} AS a JOIN {0} AS b ON a.n = b.n GROUP BY a.k",
        "SELECT n, SUM(n) OVER (ORDER BY n) AS s FROM {} ORDER BY UPPER(k)",
        'SELECT DATE_TRUNC(DAY, "at") AS d, COUNT(*) AS n FROM {} GROUP BY d',
    ],
)
def test_rows_without_a_key_are_told_of_wherever_they_vanish(
    run: Run, gaps: Path, table: str, query: str
) -> None:
    done = run("query", "--dialect", "sneller", "--root", gaps, query.format(table))
    assert done.returncode == 0
    assert re.fullmatch(
        rb"note: (\d )?rows? without a key (is|are) left out: the dialect is sneller\n", done.stderr
    )


@pytest.mark.parametrize(
    "query",
    [
        "SELECT UPPER(k) AS u, COUNT(*) AS n FROM f GROUP BY u",
        "SELECT COUNT(*) AS n FROM (SELECT n FROM f ORDER BY t)",
        "SELECT UPPER(k) AS u, COUNT(*) AS n FROM g WHERE k || 'x' <> 'q' GROUP BY u",
        "SELECT CASE WHEN n > 3 THEN 'x' ELSE 'y' END AS c, COUNT(*) AS n FROM g GROUP BY c",
        "SELECT COUNT(*) AS n FROM (SELECT n FROM g WHERE CHAR_LENGTH(k) > 0 ORDER BY UPPER(k))",
        "SELECT SUM(n) OVER (ORDER BY t) AS s FROM g",
        "SELECT k FROM g UNION SELECT k FROM g",
        "SELECT COUNT(*) AS n FROM (SELECT n FROM g ORDER BY COALESCE(t, NULL))",
        "SELECT n FROM g HAVING ROW_NUMBER() OVER (ORDER BY n) < 2 ORDER BY UPPER(k)",
    ],
)
def test_nothing_is_told_where_no_row_vanishes(run: Run, gaps: Path, query: str) -> None:
    done = run("query", "--root", gaps, query)
    assert (done.returncode, done.stderr) == (0, b"")


_READERS: dict[str, Callable[[Result], object]] = {
    "rows": list,
    "head": lambda result: result.head(1),
    "lines": lambda result: list(result.lines()),
    "table": lambda result: result.to_arrow(),
    "batches": lambda result: list(result.arrow_batches()[1]),
    "stream": lambda result: pa.RecordBatchReader.from_stream(result).read_all(),
    "file": lambda result: result.write(io.BytesIO(), "csv"),
    "some, and closes": lambda result: (next(iter(result)), result.close()),
}


@pytest.mark.parametrize("reader", _READERS)
@pytest.mark.parametrize("text", ["SELECT k + 1 AS v, n FROM g", "SELECT COUNT(k + 1) AS v FROM g"])
def test_who_reads_rows_is_warned_of_what_the_notes_say(gaps: Path, reader: str, text: str) -> None:
    with sdb.sql(text, root=str(gaps)) as result:
        (note,) = result.notes
        with pytest.warns(SdbWarning) as heard:
            _READERS[reader](result)
        assert [f"warning: {each.message}" for each in heard] == [note]
        assert {each.filename for each in heard} == {__file__}


def test_nobody_is_warned_of_rows_that_were_not_read(gaps: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sdb.sql("SELECT k + 1 AS v FROM g", root=str(gaps)).close()


def test_python_and_writers_hear_of_rows_that_vanish(run: Run, gaps: Path) -> None:
    expected = "rows without a key are left out: the dialect is sneller"
    with sdb.sql(
        "SELECT COUNT(*) AS n FROM (SELECT n FROM g ORDER BY k)", root=str(gaps), dialect="sneller"
    ) as rows:
        assert rows.to_arrow().to_pylist() == [{"n": 4}]
        assert rows.notes == [f"note: {expected}"]
    insert = f"INSERT INTO d.h SELECT n FROM (SELECT n FROM '{gaps}/g.zion' ORDER BY k)"
    assert run("exec", "--root", gaps, "CREATE TABLE IF NOT EXISTS d.h").returncode == 0
    done = run("exec", "--dialect", "sneller", "--root", gaps, insert)
    assert done.returncode == 0
    assert expected in done.stderr.decode()
