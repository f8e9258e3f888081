"""What `sdb query` and `sdb exec` say of names that do not exist, and of signs out of place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import sdb

if TYPE_CHECKING:
    from pathlib import Path

TOP = "WITH top AS (SELECT user AS login, COUNT(*) AS n FROM web.visits GROUP BY user)"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("lake")
    sdb.execute(
        "CREATE TABLE web.visits; INSERT INTO web.visits VALUES ({'user': 'ann', 'n': 1})",
        root=str(root),
    )
    return root


@pytest.mark.parametrize(
    ("query", "message", "hint"),
    [
        ("SELECT 1 ! 2", "or ~ is expected behind !", "a <> b and a != b compare"),
        ("SELECT 1 NOT 2", "or ~ is expected behind NOT", ""),
        ("SELECT * FROM visits", "no such file", "did you mean web.visits?"),
        ("SELECT * FROM web.visit", "there is no table", "did you mean web.visits?"),
        (f"{TOP} SELECT n FROM topp", "no such file", "did you mean top?"),
        (f"{TOP} SELECT logn FROM top", 'undefined variable "logn"', "did you mean login?"),
        (f"{TOP} SELECT x FROM top", '"x"', "the columns are login, n"),
        ("SELECT m FROM (SELECT n FROM web.visits)", '"m"', "the only column is n"),
        (
            "SELECT b.lgin FROM web.visits AS a, (SELECT user AS login FROM web.visits) AS b",
            "b.lgin references an unbound variable",
            "did you mean login?",
        ),
        ("SELECT REGEXP_MATCH(user, 'a') FROM web.visits", "", "did you mean REGEXP_LIKE?"),
        ("SELECT LENGHT(user) FROM web.visits", "", "did you mean LENGTH?"),
        ("SELECT CUONT(*) FROM web.visits", "CUONT does not take *", "did you mean COUNT?"),
    ],
)
def test_queries_name_what_may_be_meant(
    run: Any, lake: Path, query: str, message: str, hint: str
) -> None:
    result = run("query", "--root", str(lake), query)
    assert result.returncode in {2, 3}
    error = result.stderr.decode()
    assert message in error
    assert error.partition("hint: ")[2] == (f"{hint}\n" if hint else "")


@pytest.mark.parametrize("statement", ["VACUUM", "DROP TABLE", "TRUNCATE TABLE", "DELETE FROM"])
def test_statements_without_a_table(run: Any, lake: Path, statement: str) -> None:
    result = run("exec", "--root", str(lake), statement)
    assert result.returncode == 2
    error = result.stderr.decode()
    assert "the statement ends too early: a table is expected" in error
    assert error.endswith("hint: DB.TABLE is one\n")
