"""Errors of shapes of a SELECT as the command shows them: in words, with a mark under the place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT type FROM $T GROUP BY type FILL(0)", "FILL does not know the width of type"),
        ("SELECT type FROM $T GROUP BY ROLLUP(type) FILL(0)", "FILL does not go with GROUPING"),
        ("SELECT type FROM $T FETCH FIRST 1 ROWS WITH TIES", "WITH TIES needs ORDER BY"),
        ("SELECT * RENAME (type AS id) FROM $T", 'there is a column "id" already'),
        ("SELECT type FROM $T WHERE (type, id) IN ((1))", "a row of 2 values is compared with 1"),
        ("SELECT * FROM GENERATE_SERIES(1, 2, 0)", "the step of a series has to go somewhere"),
        ("VALUES (1), (2, 3)", "a row has 2 values, the first one 1"),
        (
            "SELECT DATE_BIN('1 microsecond', created_at) AS b FROM $T GROUP BY b FILL(0)",
            "FILL would make more than 10,000,000 buckets",
        ),
    ],
)
def test_errors_are_lines_of_words(run: Run, packed: Path, query: str, message: str) -> None:
    done = run("query", query.replace("$T", f"'{packed}'"))
    text = done.stderr.decode()
    assert done.returncode != 0, done.stdout
    assert message in text
    assert "Traceback" not in text
    assert "hint:" in text or "^" in text
