"""Names by the hundred thousand: each of them is counted once, not again with each row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.attack import craft

if TYPE_CHECKING:
    from pathlib import Path

    from tests.attack.conftest import Limited

ROWS = 160_000
PROCESSOR_SECONDS = 4


@pytest.mark.parametrize("form", ["json", "ion"])
def test_a_new_name_in_each_row(tmp_path: Path, limited: Limited, form: str) -> None:
    """In Ion each row has a symbol table of its own before it."""
    source = tmp_path / f"names.{form}"
    row = craft.members((10, craft.integer(1)))
    if form == "json":
        content = b"".join(b'{"n%d":1}\n' % number for number in range(2 * ROWS))
    else:
        content = b"".join(craft.table(b"n%d" % number) + row for number in range(ROWS))
    source.write_bytes(content)
    ended = limited("pack", "-o", "out.zion", source, seconds=PROCESSOR_SECONDS)
    assert ended.code == 0, ended.errors
    unpacked = limited("unpack", "--fmt", "json", "out.zion")
    rows = 2 * ROWS if form == "json" else ROWS
    assert unpacked.output == b"".join(b'{"n%d": 1}\n' % number for number in range(rows))
