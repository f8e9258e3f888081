"""The worked example of docs/format.md is what the packer writes, byte for byte."""

from __future__ import annotations

import re
from pathlib import Path

import sdb
from sdb.records import replace

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
    with sdb.open(packed) as pack:
        trailer = pack.trailer
    # What is compressed in the extension may come out otherwise with another version of zstd.
    sparse = replace(trailer.sparse, stored_presence=b"", stored_provenance=b"")
    tail = replace(trailer, sparse=sparse).encode()
    assert packed.read_bytes()[: trailer.offset] + tail == shown
