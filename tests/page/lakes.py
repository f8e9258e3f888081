"""Tables for the page: events of GitHub and CloudTrail, and names and values that mean harm."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import sdb
from tests.serve.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from sdb.client.connection import Connection

SAMPLES = ROOT / "testdata"
HARM = "<script>document.title='harm'</script><img src=x onerror=\"document.title='harm'\">"
BIDI = "abc\u202edcba\u2066\u200b\u0007"
LONG = "x" * 1_000_000
COMMITS = 8


def _branched(db: Connection) -> None:
    """Make a table with a tag, and a branch that was merged and went on."""
    db.create("web.branched", "in/*.json")
    for day in range(1, 4):
        db.append("web.branched", [{"time": f"2026-01-0{day}T00:00:00Z", "n": day}])
    table = db.table("web.branched")
    table.tag("v1", 2)
    table.branch("dev")
    db.append("web.branched@dev", [{"time": "2026-01-04T00:00:00Z", "n": 4}])
    db.append("web.branched", [{"time": "2026-01-05T00:00:00Z", "n": 5}])
    db.table("web.branched").merge("dev")
    db.append("web.branched@dev", [{"time": "2026-01-06T00:00:00Z", "n": 6}])


def made(root: Path) -> Path:
    """Make the tables below a root."""
    db = sdb.connect(root)
    with gzip.open(SAMPLES / "gh2015_1k.json.gz") as lines:
        events = [json.loads(line) for line in lines]
    db.create("web.gha", "in/*.json")
    for at in range(0, len(events), len(events) // COMMITS):
        db.append("web.gha", events[at : at + len(events) // COMMITS])
    db.create("aws.trail", "in/*.json")
    db.append("aws.trail", SAMPLES / "cloudtrail_sneller.json.gz")
    _branched(db)
    db.create("odd.untimed", "in/*.json")
    db.append("odd.untimed", [{"n": number} for number in range(10)])
    db.create("odd.hostile", "in/*.json")
    db.append(
        "odd.hostile",
        [
            {
                "time": f"2026-01-0{day}T00:00:00Z",
                HARM: HARM,
                "bidi": BIDI,
                "big": LONG if day < 3 else "small",
                "list": [1, {"a": HARM}],
                "__proto__": "p",
                "constructor": HARM,
            }
            for day in range(1, 6)
        ],
    )
    return root
