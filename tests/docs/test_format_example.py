"""The worked example of docs/format.md is what the packer writes, byte for byte."""

from __future__ import annotations

import re
from pathlib import Path

import sdb

PAGE = (Path(__file__).parents[2] / "docs/format.md").read_text()


def test_worked_example(tmp_path: Path) -> None:
    section = PAGE[PAGE.index("## 14. ") :]
    rows = re.findall(r"^    (\{.*\})$", section, re.MULTILINE)
    source, packed = tmp_path / "rows.json", tmp_path / "rows.zion"
    source.write_text("\n".join(rows))
    sdb.pack([source], packed, algorithm="zion+iguana_v0")
    shown = bytearray()
    lines = re.findall(r"^    ([0-9A-F]{4})  ((?:[0-9A-F]{2}\b ?)+)", section, re.MULTILINE)
    for offset, content in lines:
        assert int(offset, 16) == len(shown)
        shown += bytes.fromhex(content)
    assert packed.read_bytes() == shown
