"""A table that is made of a query has the rows of the query.

By default for every fourth of the recorded queries, and for all of them with the slow tests.
"""

from __future__ import annotations

import base64
import io
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from tests.conftest import VECTORS, json_lines

if TYPE_CHECKING:
    from pathlib import Path

PARTS = 4
FILES = sorted(file.stem for file in (VECTORS / "sql").glob("*.jsonl") if file.stem != "errors")


@pytest.fixture(scope="module")
def lake(vectors: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pack the recorded data where tables will be, too."""
    folder = tmp_path_factory.mktemp("lake")
    for file in (vectors / "sql" / "datasets").glob("*.json"):
        sdb.pack([str(file)], str(folder / f"{file.stem}.zion"), times="rfc3339")
    return folder


def rows(text: str, root: Path) -> Counter[str]:
    """Return the rows of a query with their types, whatever their order."""
    stream = io.BytesIO()
    with sdb.sql(text, root=str(root), threads=1, dialect="sneller") as result:
        result.write(stream, "ion-text")
    return Counter(stream.getvalue().decode().splitlines())


@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore::sdb.errors.SdbWarning")
@pytest.mark.parametrize(
    "part", [0, *[pytest.param(part, marks=pytest.mark.slow) for part in range(1, PARTS)]]
)
@pytest.mark.parametrize("stem", FILES)
def test_ctas_and_its_source_are_equal(
    stem: str, part: int, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SNELLER_INDEX_KEY", base64.b64encode(b"k" * 32).decode())
    different: list[Any] = []
    for number, vector in enumerate(json_lines(f"sql/{stem}.jsonl")):
        if number % PARTS != part:
            continue
        table = f"v.{stem.replace('-', '_')}_{number}"
        statement = f"CREATE TABLE {table} AS {vector['sql']}"
        sdb.execute(statement, root=str(lake), threads=1, dialect="sneller")
        actual, wanted = rows(f"SELECT * FROM {table}", lake), rows(vector["sql"], lake)
        if actual != wanted:
            different.append((vector["id"], vector["sql"], actual - wanted, wanted - actual))
    assert not different, different[:3]
