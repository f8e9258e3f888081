"""A limit that is reached early."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import sdb
from sdb.packfile.export.unpack import unpack

if TYPE_CHECKING:
    from pathlib import Path


def test_rows_that_are_ready_at_once_come_out(tmp_path: Path) -> None:
    """Small blocks are decoded before the next one is asked for, now and then: this many tries."""
    text = "".join(json.dumps({"id": number}) + "\n" for number in range(2000))
    (tmp_path / "rows.json").write_text(text)
    packfile = tmp_path / "rows.zion"
    sdb.pack(
        [tmp_path / "rows.json"], packfile, algorithm="zstd", block_bytes=1024, align_bytes=512
    )
    for _ in range(400):
        output = io.BytesIO()
        unpack([packfile], output, fmt="json", limit=1, threads=1)
        assert output.getvalue() == b'{"id": 0}\n'
