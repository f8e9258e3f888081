"""Damaged packfiles are refused wherever their rows are written again, unless the user insists."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import sdb
from tests.cli.conftest import SAMPLE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

WARNING = b"sdb: --no-verify: damage goes unnoticed, values may be wrong\n"


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """Give a packfile with one wrong bit, which without checksums gives other rows."""
    path = tmp_path / "damaged.zion"
    sdb.pack([SAMPLE], path)
    data = bytearray(path.read_bytes())
    with sdb.open(path) as pack:
        rows = list(pack.rows())
        end = pack.trailer.offset
    # Near the end, in the chunk that an append decodes.
    for at in range(end - 20_000, end - 10_000, 97):
        data[at] ^= 4
        path.write_bytes(data)
        try:
            with sdb.open(path, verify=False) as pack:
                if list(pack.rows()) != rows:
                    return path
        except sdb.errors.CorruptError:
            pass
        data[at] ^= 4
    raise AssertionError("no bit goes unnoticed")


@pytest.mark.parametrize(
    "command",
    [
        ["unpack", "--fmt", "json", "damaged.zion"],
        ["unpack", "--fmt", "ion", "damaged.zion", "-o", "out"],
        ["unpack", "damaged.zion", "-o", "out.parquet"],
        ["pack", "damaged.zion", "-o", "out"],
        ["append", "damaged.zion", SAMPLE],
        ["append", "-o", "out", "damaged.zion", SAMPLE],
    ],
    ids=lambda command: " ".join(map(str, command[:3])),
)
def test_damage_is_refused_unless_the_user_insists(
    run: Run, damaged: Path, command: list[str]
) -> None:
    before = damaged.read_bytes()
    refused = run(*command)
    assert refused.returncode == 6
    assert b"damaged.zion" in refused.stderr
    assert b"checksum" in refused.stderr
    assert b"Traceback" not in refused.stderr
    assert damaged.read_bytes() == before
    assert not list(damaged.parent.glob("out*"))
    insisted = run(*command, "--no-verify")
    assert insisted.returncode == 0
    assert insisted.stderr.startswith(WARNING)


@pytest.mark.parametrize(
    "command",
    [
        ["head", "-n", "1000", "damaged.zion"],
        ["query", 'SELECT * FROM "damaged.zion"'],
        ["query", 'SELECT id, COUNT(*) AS n FROM "damaged.zion" GROUP BY id, payload'],
        ["validate-file", "damaged.zion"],
    ],
    ids=lambda command: command[0],
)
@pytest.mark.usefixtures("damaged")
def test_who_only_reads_notices_damage_too(run: Run, command: list[str]) -> None:
    done = run(*command)
    assert done.returncode == (1 if command[0] == "validate-file" else 6)
    assert b"checksum" in done.stderr + done.stdout


def test_rows_and_arrow_notice_damage(damaged: Path) -> None:
    with sdb.open(damaged) as pack:
        with pytest.raises(sdb.errors.CorruptError, match="block 0 at byte"):
            list(pack.rows())
        with pytest.raises(sdb.errors.CorruptError, match="block 0 at byte"):
            pack.to_arrow()
    with sdb.open(damaged, verify=False) as pack:
        assert pack.to_arrow().num_rows == len(list(pack.rows())) == 1000
