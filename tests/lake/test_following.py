"""`sdb sync --follow` takes versions of Delta tables as they come."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import TYPE_CHECKING

from deltalake import DeltaTable

from tests.cli.conftest import COMMAND, environment
from tests.lake.made import oracle, stored, write

if TYPE_CHECKING:
    from pathlib import Path


def test_versions_as_they_come(tmp_path: Path) -> None:
    root, path = tmp_path / "lake", tmp_path / "lake/in/t"
    folder = root / "db/d/t"
    folder.mkdir(parents=True)
    rules = [{"pattern": "delta+file://in/t"}, {"pattern": "file://in/*.json"}]
    (folder / "definition.json").write_text(json.dumps({"input": rules}))
    words = [
        "sync",
        "--follow",
        "--interval",
        "200ms",
        "--settle",
        "0s",
        "--json",
        "--root",
        root,
        "d",
    ]
    with subprocess.Popen(
        [*COMMAND, *map(str, words)], stdout=subprocess.PIPE, env=environment(), text=True
    ) as process:
        assert process.stdout is not None
        # A table that is missing is no reason to end.
        assert "there is no Delta table" in json.loads(process.stdout.readline())["error"]
        write(path, [{"n": n} for n in range(10)])
        seen = [json.loads(process.stdout.readline())]
        while seen[-1]["event"] != "synced":
            seen.append(json.loads(process.stdout.readline()))
        assert [taken["source_version"] for taken in seen[-1]["sources"]] == [0]
        DeltaTable(str(path)).delete("n < 2")
        synced = json.loads(process.stdout.readline())
        while synced["event"] != "synced":
            synced = json.loads(process.stdout.readline())
        assert (synced["sources"][0]["rows_removed"], synced["version"]) == (10, 2)
        (root / "in/a.json").write_text('{"n": 100}\n')
        other = json.loads(process.stdout.readline())
        assert (other["taken"], other["version"]) == (["file://in/a.json"], 3)
        (root / "in/a.json").unlink()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    rows = stored("d.t", root)
    assert sum(rows.values()) == 9
    assert not oracle(path) - rows
