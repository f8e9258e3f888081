"""A packfile with one wrong bit is refused, or its rows are those that were packed.

No reader that gives all rows, or writes them again, may give others.
``SDB_FLIPS=5000 pytest tests/property/test_flips.py`` tries this many places of each file.
"""

from __future__ import annotations

import io
import os
import random
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.errors import SdbError
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FLIPS = int(os.environ.get("SDB_FLIPS", "200"))
MORE = b'{"one": "more", "row": [1, 2]}\n'
REFUSED = {6, 8}
"""Corrupt, or of a version that does not exist: that is a single bit, too."""


def unpacked(path: Path) -> bytes:
    out = io.BytesIO()
    sdb.unpack([path], out, fmt="json", threads=1)
    return out.getvalue()


def packed(path: Path) -> bytes:
    again = path.with_suffix(".again.zion")
    sdb.pack([path], again, overwrite=True, threads=1)
    return unpacked(again)


def appended(path: Path) -> bytes:
    more, longer = path.with_suffix(".json"), path.with_suffix(".longer.zion")
    more.write_bytes(MORE)
    sdb.append(path, [more], output=longer, overwrite=True, threads=1)
    return unpacked(longer).removesuffix(MORE)


def joined(path: Path) -> bytes:
    both = path.with_suffix(".both.zion")
    sdb.concat([path, path], both, overwrite=True)
    rows = unpacked(both)
    first, second = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    assert first == second
    return first


ROADS: tuple[Callable[[Path], bytes], ...] = (unpacked, packed, appended, joined)


@pytest.mark.parametrize(
    ("sample", "algorithm"),
    [
        ("parking2", "zion+zstd"),
        ("cloudtrail_sneller", "zion+zstd"),
        ("gh2015_1k", "zion+zstd"),
        ("parking2", "zion+iguana_v0"),
        ("cloudtrail_sneller", "zion+iguana_v0/specialized"),
        ("parking2", "zstd"),
    ],
)
@pytest.mark.timeout(60 + FLIPS)
def test_a_flipped_bit_never_gives_other_rows(tmp_path: Path, sample: str, algorithm: str) -> None:
    path = tmp_path / "flipped.zion"
    sdb.pack([ROOT / f"testdata/{sample}.json.gz"], path, algorithm=algorithm)
    # Packing again may put the fields of a row in another order.
    sound, expected = path.read_bytes(), {road: road(path) for road in ROADS}
    assert len(set(map(len, expected.values()))) == 1
    dice = random.Random(f"{sample} {algorithm}")
    refused, other = 0, []
    for _ in range(FLIPS):
        bit = dice.randrange(8 * len(sound))
        data = bytearray(sound)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        road = dice.choice(ROADS)
        try:
            rows = road(path)
        except SdbError as error:
            if error.exit_code not in REFUSED:
                raise
            refused += 1
        else:
            if rows != expected[road]:
                other.append((bit, road.__name__))
    assert not other
    assert refused > FLIPS // 2
