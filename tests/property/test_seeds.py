"""Bytes of a packfile do not depend on the seeds of hash maps, which each process draws anew."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)
ROWS = st.lists(st.dictionaries(NAMES, VALUES, max_size=40), min_size=1, max_size=60)

PACK = "import sdb, sys; sdb.pack(sys.argv[1:2], sys.argv[2], overwrite=True, threads=1)"


@settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=ROWS)
def test_two_processes_write_the_same_bytes(tmp_path: Path, rows: list[dict[str, object]]) -> None:
    source = tmp_path / "rows.json"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    packed = []
    for name in ["one.zion", "two.zion"]:
        output = tmp_path / name
        subprocess.run([sys.executable, "-c", PACK, source, output], check=True, timeout=60)
        packed.append(output.read_bytes())
    assert packed[0] == packed[1]
