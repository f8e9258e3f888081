"""Every query of the vectors asked in other ways, which must not change its answer."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from tests.vectors.test_sql import (
    DIFFERENT,
    is_answer,
    packed,  # noqa: F401 - a fixture
    rows_of,
    vectors_of_queries,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
FILE = re.compile(r"read_file\('(\w+)\.zion'\)", re.IGNORECASE)


def _wrong(folder: Path, variant: Callable[[str], str], *, ordered: bool) -> list[str]:
    results = []
    for vector in vectors_of_queries():
        if vector["id"] in DIFFERENT:
            continue
        query = variant(vector["sql"])
        with sdb.sql(query, root=str(folder), threads=1, typed=False, dialect="sneller") as result:
            rows = rows_of(b"".join(result.lines()).decode().splitlines())
        if not is_answer(rows, vector | {"ordered": ordered and vector["ordered"]}):
            results.append(f"{vector['id']}: {query}\n{rows}")
    return results


def _nested(query: str) -> str:
    return query if query.startswith("WITH") else f"SELECT * FROM ({query}\n)"


def _named(query: str) -> str:
    if query.startswith("WITH"):
        return query
    return f"WITH q_q AS ({query}\n) SELECT * FROM q_q UNION ALL SELECT * FROM q_q WHERE 1 = 2"


@pytest.mark.parametrize("variant", [_nested, _named])
def test_rows_pass_through_other_queries(
    packed: Path,  # noqa: F811 - the fixture
    variant: Callable[[str], str],
) -> None:
    assert not _wrong(packed, variant, ordered=False)


@pytest.fixture(scope="module")
def parts(vectors: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make two packfiles of each data set, their rows shuffled, in different algorithms."""
    folder = tmp_path_factory.mktemp("parts")
    shuffled = random.Random(1)
    for file in (vectors / "sql" / "datasets").glob("*.json"):
        rows = file.read_text(encoding="utf-8").splitlines(keepends=True)
        shuffled.shuffle(rows)
        third = len(rows) // 3
        made: tuple[tuple[str, list[str], dict[str, Any]], ...] = (
            ("1", rows[:third], {"algorithm": "zion+iguana_v0"}),
            ("2", rows[third:], {}),
        )
        for number, some, options in made:
            text = folder / f"{file.stem}_{number}.json"
            text.write_text("".join(some), encoding="utf-8")
            sdb.pack([text], text.with_suffix(".zion"), times="rfc3339", **options)
    return folder


@pytest.mark.parametrize(
    "table", [r"read_file('\1_?.zion')", r"read_file('\1_1.zion') ++ read_file('\1_2.zion')"]
)
def test_tables_may_come_in_parts(parts: Path, table: str) -> None:
    assert not _wrong(parts, lambda query: FILE.sub(table, query), ordered=True)
