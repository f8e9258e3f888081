"""Twenty versions of real rows, mirrored as they are made and all at once, read by others."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import zstandard

import sdb
from sdb.table.catalog.root import table_root
from sdb.table.maintenance.compact import compact_table
from tests.exchange.mirrors import check, mirrored, versions

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTDATA = Path(__file__).parents[2] / "testdata"
PIECE = 60


def lines(name: str) -> list[bytes]:
    if name == "access.log":
        return [
            b'192.0.2.%d - eve [%02d/Nov/2026:10:%02d:07 +0000] "GET /%d HTTP/1" %d %d "-" "x"\n'
            % (n % 250, n % 28 + 1, n % 60, n, 200 + n % 3 * 100, n * 37)
            for n in range(600)
        ]
    data = (TESTDATA / name).read_bytes()
    text = gzip.decompress(data) if name.endswith(".gz") else zstandard.decompress(data)
    try:
        rows = json.loads(text)
    except ValueError:
        return text.splitlines(keepends=True)
    rows = rows["Records"] if isinstance(rows, dict) else rows
    return [json.dumps(row).encode() + b"\n" for row in rows]


def made(root: Path, folder: Path, name: str, field: str) -> Iterator[int]:
    """Make versions of all kinds, each from more rows of a file."""
    db = sdb.connect(root)
    rows = lines(name)
    left = iter(rows[at : at + PIECE] for at in range(0, len(rows) * 50, PIECE))

    def insert(where: str = "web.t") -> None:
        piece = next(left, None) or rows[:PIECE]
        (folder / "piece").write_bytes(b"".join(piece))
        db.append(where, folder / "piece", format="combined" if name == "access.log" else "json")

    for _ in range(3):
        insert()
        yield 1
    third = f"CHAR_LENGTH(CAST({field} AS STRING)) % 3 = 0"
    db.execute(f"UPDATE web.t SET seen = 1 WHERE {third}")
    yield 1
    insert()
    yield 1
    db.execute(f"DELETE FROM web.t WHERE CHAR_LENGTH(CAST({field} AS STRING)) % 5 = 0")
    yield 1
    table = db.table("web.t")
    table.branch("side")
    insert("web.t@side")
    insert("web.t@side")
    insert()
    yield 1
    db.table("web.t").merge("side")
    yield 1
    for _ in range(10):
        insert()
        yield 1
    assert compact_table(table_root(root), "web", "t").version
    yield 1
    db.execute("UPDATE web.t SET seen = 2.5 WHERE seen = 1")
    yield 1
    insert()
    yield 1
    db.table("web.t").restore(-2)
    yield 1
    db.append("web.t", [{"seen": "by eve", "more": {"new": [{"x": 1}]}}])
    yield 1
    db.execute("DELETE FROM web.t WHERE seen IS NOT MISSING")
    yield 1


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore::sdb.errors.SdbWarning")
@pytest.mark.parametrize("is_followed", [False, True])
@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("gh2021_800.json.zst", "id"),
        ("cloudtrail_stratus.json.zst", "eventID"),
        ("winevents_sample.json.zst", "EventID"),
        ("nginxplus.json.zst", "timestamp"),
        ("access.log", "path"),
    ],
)
def test_versions_are_what_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, field: str, is_followed: Any
) -> None:
    monkeypatch.setenv("SNELLER_INDEX_KEY", "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHg=")
    lake = tmp_path / "lake"
    lake.mkdir()
    sdb.connect(lake).create("web.t", "file://in/*.json")
    mirror = None
    for _ in made(lake, tmp_path, name, field):
        if is_followed and mirror is None:
            mirror = mirrored(lake, tmp_path / "m")
        elif mirror is not None:
            mirror.update()
    mirrored(lake, tmp_path / "m")
    assert len(versions(tmp_path / "m")) >= 20
    check(lake, tmp_path / "m")
