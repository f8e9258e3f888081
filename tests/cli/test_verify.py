"""Damaged packfiles are refused wherever their rows are rewritten, except with --no-verify."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.records import replace
from tests.cli.conftest import SAMPLE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

WARNING = b"sdb: --no-verify: damage goes unnoticed, values may be wrong\n"


@pytest.fixture(params=["digest differs", "checksum"])
def damaged(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Return a packfile with one wrong bit, which without any check gives other rows.

    One of them has no digests, as older ones; but there are the checksums of zstd.
    """
    path = tmp_path / "damaged.zion"
    sdb.pack([SAMPLE], path)
    if request.param == "checksum":
        with sdb.open(path) as pack:
            trailer = replace(pack.trailer, sparse=replace(pack.trailer.sparse, digests=()))
        path.write_bytes(path.read_bytes()[: trailer.offset] + trailer.encode())
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
    assert b"digest differs" in refused.stderr or b"checksum" in refused.stderr
    assert b"Traceback" not in refused.stderr
    assert damaged.read_bytes() == before
    assert not list(damaged.parent.glob("out*"))
    unverified = run(*command, "--no-verify")
    assert unverified.returncode == 0
    assert unverified.stderr.startswith(WARNING)


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
    assert b"checksum" in done.stderr + done.stdout or b"digest differs" in done.stderr


def test_rows_and_arrow_notice_damage(damaged: Path) -> None:
    with sdb.open(damaged) as pack:
        with pytest.raises(sdb.errors.CorruptError, match="block 0 at byte"):
            list(pack.rows())
        with pytest.raises(sdb.errors.CorruptError, match="block 0 at byte"):
            pack.to_arrow()
    with sdb.open(damaged, verify=False) as pack:
        assert pack.to_arrow().num_rows == len(list(pack.rows())) == 1000


def test_concat_refuses_what_digests_tell(run: Run, tmp_path: Path) -> None:
    good, damaged = tmp_path / "good.zion", tmp_path / "damaged.zion"
    sdb.pack([SAMPLE], good, algorithm="zion+iguana_v0")
    data = bytearray(good.read_bytes())
    data[100_000] ^= 1
    damaged.write_bytes(data)
    for inputs in (("good.zion", "damaged.zion"), ("damaged.zion", "good.zion")):
        refused = run("concat", "-o", "both.zion", *inputs)
        assert refused.returncode == 6
        assert b"damaged.zion: block 0 at byte 0" in refused.stderr
        assert b"digest differs" in refused.stderr
        assert not (tmp_path / "both.zion").exists()
        unverified = run("concat", "--force", "-o", "forced.zion", *inputs, "--no-verify")
        assert unverified.returncode == 0
        assert unverified.stderr.startswith(WARNING)
        # The digests stay what they were, so the damage can still be told.
        report = sdb.validate(tmp_path / "forced.zion")
        assert [finding.text for finding in report.findings if "digest" in finding.text]


def test_rows_before_the_damage_come_out(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "damaged.zion"
    sdb.pack([SAMPLE], path, algorithm="zion+iguana_v0", block_bytes=1 << 20)
    with sdb.open(path) as pack:
        assert len(pack.blocks) > 1
        first = len(list(pack.rows(blocks=[0])))
        at = pack.blocks[1].offset + 1000
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    done = run("unpack", "--fmt", "json", "damaged.zion")
    assert (done.returncode, done.stdout.count(b"\n")) == (6, first)
    assert b"block 1 at byte" in done.stderr
