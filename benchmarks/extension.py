"""Print by how much presence and provenance make packfiles larger.

    .venv/bin/python benchmarks/extension.py FILE...

Packs each input, and compares the packfile with what it would be without the two members.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import sdb
from sdb.records import replace


def main() -> None:
    print(f"{'input':28} {'packfile':>12} {'presence':>9} {'provenance':>11} {'larger by':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:]:
            path = Path(folder) / "packed.zion"
            size = sdb.pack([name], path, overwrite=True).output_bytes
            with sdb.open(path) as pack:
                trailer = pack.trailer
            sparse = trailer.sparse
            without = replace(sparse, stored_presence=b"", stored_provenance=b"")
            before = trailer.offset + len(replace(trailer, sparse=without).encode())
            members = len(sparse.stored_presence), len(sparse.stored_provenance)
            share = size / before - 1
            print(f"{Path(name).name:28} {size:12,} {members[0]:9,} {members[1]:11,} {share:10.2%}")


if __name__ == "__main__":
    main()
