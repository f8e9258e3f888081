"""Tables that were exported as Delta tables, and that come back in: version by version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.table.catalog.root import table_root
from sdb.table.sync.sync import sync_table
from tests.lake.made import oracle, stored

if TYPE_CHECKING:
    from tests.cli.conftest import Run

TESTDATA = Path(__file__).parents[2] / "testdata"
SAMPLES = {
    "gh2015_1k.json.gz": ("id, type, actor, repo, created_at", "type = 'PushEvent'"),
    "cloudtrail_sneller.json.gz": ("eventID, eventTime, eventName, readOnly", "readOnly"),
    "winevents_sample.json.zst": ("EventID, Channel, host, EventTime", "EventID > 5000"),
    "wikiticker_20k.json.zst": ("channel, page, added, deleted", "added > 100"),
}


FIRST, *OTHERS = SAMPLES


@pytest.mark.filterwarnings("ignore:.*digits beyond microseconds:sdb.errors.SdbWarning")
@pytest.mark.parametrize(
    "name", [FIRST, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)]
)
def test_each_version(run: Run, tmp_path: Path, name: str) -> None:
    columns, condition = SAMPLES[name]
    root, path = tmp_path / "lake", tmp_path / "lake/mirror"
    connection = sdb.connect(root)
    with sdb.sql(f"SELECT {columns} FROM '{TESTDATA / name}' LIMIT 400") as result:
        rows = [dict(row) for row in result]
    (root / "db/back/t").mkdir(parents=True)
    definition = {"input": [{"pattern": "delta+file://mirror"}]}
    (root / "db/back/t/definition.json").write_text(json.dumps(definition))
    (root / "db/web/t").mkdir(parents=True)
    (root / "db/web/t/definition.json").write_text('{"input": [{"pattern": "file://in/*.json"}]}')

    def out_and_in() -> None:
        done = run("export", "delta", "--root", root, "web.t", path)
        assert done.returncode == 0, done.stderr
        sync_table(table_root(str(root)), "back", "t")
        assert stored("back.t", root) == stored("web.t", root) == oracle(path)

    connection.append("web.t", rows[:200])
    out_and_in()
    connection.append("web.t", rows[200:])
    connection.execute(f"DELETE FROM web.t WHERE {condition}")
    out_and_in()
    table = connection.table("web.t")
    table.compact()
    connection.append("web.t", rows[:10])
    out_and_in()
    first = columns.partition(",")[0]
    connection.execute(f"UPDATE web.t SET {first} = NULL WHERE NOT ({condition})")
    out_and_in()
