"""Windows that make no sense are refused in words, on one line and with a hint where it helps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import sdb

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("windows")
    (folder / "t.json").write_text("".join(f'{{"a": {n}, "k": "x"}}\n' for n in range(5)))
    sdb.pack([folder / "t.json"], folder / "t.zion")
    return folder


@pytest.mark.parametrize(
    ("query", "message", "hint"),
    [
        ("SELECT SUM(a) OVER w FROM t WINDOW wa AS (ORDER BY a)",
         "there is no window w in this SELECT", "as in WINDOW w AS (ORDER BY x)"),
        ("SELECT SUM(a) OVER days FROM t WINDOW day AS (ORDER BY a)",
         "there is no window days in this SELECT", "did you mean day?"),
        ("SELECT a FROM t WINDOW w AS (ORDER BY a), w AS (ORDER BY k)",
         "the window w is named twice", None),
        ("SELECT SUM(a) OVER (w PARTITION BY k) FROM t WINDOW w AS (ORDER BY a)",
         "PARTITION BY cannot be added to the window w", None),
        ("SELECT SUM(a) OVER (w ORDER BY k) FROM t WINDOW w AS (ORDER BY a)",
         "the window w has an ORDER BY already", None),
        ("SELECT SUM(a) OVER (w ORDER BY k) FROM t WINDOW w AS (ROWS UNBOUNDED PRECEDING)",
         "the window w has a frame: nothing can be added", None),
        ("SELECT SUM(a) OVER (ORDER BY a ROW 1 PRECEDING) FROM t",
         "',', ROWS, RANGE, GROUPS or ')' is expected, not 'ROW'", None),
        ("SELECT SUM(a) OVER (ORDER BY a ROWS BETWEEN 1 AND 2) FROM t",
         "PRECEDING or FOLLOWING is expected, not AND", None),
        ("SELECT SUM(a) OVER (ORDER BY a ROWS BETWEEN UNBOUNDED FOLLOWING AND CURRENT ROW) FROM t",
         "a frame cannot begin with UNBOUNDED FOLLOWING", None),
        ("SELECT SUM(a) OVER (ORDER BY a ROWS BETWEEN 1 PRECEDING AND UNBOUNDED PRECEDING) FROM t",
         "a frame cannot end with UNBOUNDED PRECEDING", None),
        ("SELECT SUM(a) OVER (ORDER BY a ROWS 1 FOLLOWING) FROM t",
         "a frame that begins with FOLLOWING cannot end with CURRENT ROW", None),
        ("SELECT SUM(a) OVER (ROWS 1 PRECEDING) FROM t",
         "a frame of ROWS needs ORDER BY in its window",
         "without an order rows have no neighbours"),
        ("SELECT SUM(a) OVER (ORDER BY a ROWS a PRECEDING) FROM t",
         "ROWS takes a whole number, not negative, a constant", None),
        ("SELECT SUM(a) OVER (ORDER BY a GROUPS 1.5 PRECEDING) FROM t",
         "GROUPS takes a whole number, not negative, a constant", None),
        ("SELECT SUM(a) OVER (ORDER BY a RANGE 'x' PRECEDING) FROM t",
         "RANGE takes a number or an INTERVAL, not negative, a constant",
         "as in RANGE BETWEEN INTERVAL '1 hour' PRECEDING AND CURRENT ROW"),
        ("SELECT SUM(a) OVER (ORDER BY a RANGE INTERVAL '-1 day' PRECEDING) FROM t",
         "RANGE takes an interval that is not negative", None),
        ("SELECT SUM(a) OVER (ORDER BY a, k RANGE 1 PRECEDING) FROM t",
         "RANGE with a distance needs one key in ORDER BY", "ROWS and GROUPS take any order"),
        ("SELECT LAG(a) FROM t", '"LAG(a)" aggregate needs an OVER clause', None),
        ("SELECT FIRST_VALUE(a) OVER () FROM t",
         '"FIRST_VALUE(a) OVER ()" window function is meaningless without ORDER BY',
         "without ORDER BY rows have no order: OVER (ORDER BY x)"),
        ("SELECT LAG(a) FILTER (WHERE a > 1) OVER (ORDER BY a) FROM t",
         "window function does not accept FILTER", None),
        ("SELECT LAG(a, 1.5) OVER (ORDER BY a) FROM t", "takes a whole number, a constant", None),
        ("SELECT NTILE(0) OVER (ORDER BY a) FROM t",
         "takes a whole number of at least 1, a constant", None),
        ("SELECT NTILE() OVER (ORDER BY a) FROM t",
         "NTILE: takes a number of parts, as in NTILE(4)", None),
        ("SELECT NTH_VALUE(a) OVER (ORDER BY a) FROM t",
         "NTH_VALUE: takes a value and a number, as in NTH_VALUE(x, 2)", None),
        ("SELECT LAG(DISTINCT a) OVER (ORDER BY a) FROM t", "LAG: does not accept DISTINCT", None),
        ("SELECT SUM(a IGNORE NULLS) OVER (ORDER BY a) FROM t",
         "SUM: does not accept IGNORE NULLS", None),
        ("SELECT a FROM t QUALIFY a > 3", "QUALIFY needs a window function",
         "WHERE keeps rows, HAVING groups; QUALIFY keeps rows by what OVER (...) gives"),
        ("SELECT SUM(a) OVER (ORDER BY RANK() OVER (ORDER BY a)) FROM t",
         "a window cannot be made of another window function", "compute it in a sub-query"),
        ("SELECT a FROM t WHERE ROW_NUMBER() OVER (ORDER BY a) = 1",
         "aggregate functions are not allowed in WHERE", None),
    ],
)  # fmt: skip
def test_windows_are_refused_in_words(
    run: Run, folder: Path, query: str, message: str, hint: str | None
) -> None:
    done = run("query", "--root", folder, query)
    text = done.stderr.decode()
    assert (done.returncode, done.stdout) == (2, b"")
    assert any(message in line for line in text.splitlines() if not line.startswith("SELECT"))
    assert hint is None or hint in text
    assert "Traceback" not in text


def test_rows_that_qualify_leaves_are_not_counted(run: Run, folder: Path) -> None:
    query = "SELECT a FROM t QUALIFY RANK() OVER (ORDER BY a) < {} ORDER BY b"
    (folder / "t2.json").write_text('{"a": 1, "b": 2}\n{"a": 2, "b": 1}\n{"a": 3}\n')
    sdb.pack([folder / "t2.json"], folder / "t2.zion", overwrite=True)
    query = query.replace("FROM t ", "FROM t2 ")
    few = run("query", "--root", folder, query.format(3))
    assert (few.stdout, few.stderr) == (b'{"a": 2}\n{"a": 1}\n', b"")
    every = run("query", "--root", folder, query.format(4))
    assert (every.stdout, every.stderr) == (b'{"a": 2}\n{"a": 1}\n{"a": 3}\n', b"")
    every = run("query", "--root", folder, "--dialect", "sneller", query.format(4))
    assert every.stdout == b'{"a": 2}\n{"a": 1}\n'
    assert every.stderr.decode() == (
        "note: rows without a key are left out: the dialect is sneller\n"
    )
