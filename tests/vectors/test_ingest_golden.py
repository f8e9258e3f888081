"""Inputs other than plain JSON: the rows of our packfile are those of the original's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import sdb

if TYPE_CHECKING:
    from pathlib import Path

NAMES = [
    "s20-csv",
    "s21-tsv",
    "s22-cloudtrail",
    "s28-ion-input",
    "d16-repeated-strings",
]


def rows(path: Path) -> list[Any]:
    with sdb.open(path) as pack:
        return list(pack.rows())


@pytest.mark.parametrize("name", NAMES)
def test_rows_and_time_indexes(vectors: Path, tmp_path: Path, name: str) -> None:
    folder = vectors / "packfile" / "golden" / name
    meta = json.loads((folder / "meta.json").read_text())
    source = meta["inputs"][0]
    hints = json.dumps(source["hints"]).encode() if source.get("hints") else None
    ours = tmp_path / "ours.zion"
    sdb.pack(
        [folder / source["stored"]],
        ours,
        hints=hints,
        times="rfc3339",
        algorithm=meta["comp"],
        align_bytes=meta["align"],
        block_bytes=meta["flushmeta"],
    )
    golden = folder / meta["pack"]
    assert rows(ours) == rows(golden)
    with sdb.open(ours) as first, sdb.open(golden) as two:
        assert first.time_indexes.keys() == two.time_indexes.keys()
        for path, index in two.time_indexes.items():
            assert (first.time_indexes[path].first_us, first.time_indexes[path].last_us) == (
                index.first_us,
                index.last_us,
            )
