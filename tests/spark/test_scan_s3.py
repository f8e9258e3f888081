"""Blocks of S3 on their way to a task, without Spark itself."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

import sdb
from sdb.errors import ConflictError

pytest.importorskip("pyspark")
from pyspark.sql.types import LongType, StructField, StructType

from sdb.spark.options.settings import ReadOptions
from sdb.spark.read import scan
from sdb.spark.read.listing import listed, looked_at
from sdb.spark.read.partitions import chosen, grouped
from tests.spark import events

if TYPE_CHECKING:
    from pathlib import Path

    from sdb.spark.read.partitions import FilePart
    from tests.store.conftest import S3Backend

pytestmark = pytest.mark.s3
SCHEMA = StructType([StructField("id", LongType())])


def planned(options: ReadOptions) -> tuple[FilePart, ...]:
    packs = looked_at(listed(options.paths, options.files))
    (partition,) = grouped(chosen(packs, options), options.partition_bytes)
    return partition


def ids(parts: tuple[FilePart, ...], options: ReadOptions) -> list[int]:
    batches = scan.batches(parts, SCHEMA, options)
    return [number for batch in batches for number in batch.column(0).to_pylist()]


def test_a_second_scan_reads_blocks_from_the_cache(
    bucket: S3Backend, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = events.make(tmp_path / "a.zion", 0, 500).with_suffix(".json")
    sdb.pack([text], bucket.at("a.zion"), block_bytes=1 << 15, align_bytes=1 << 13)
    options = ReadOptions((bucket.at("*.zion"),), cache=str(tmp_path / "cache"))
    parts = planned(options)
    count = len(parts[0].blocks)
    assert count >= 2
    caplog.set_level(logging.INFO, "sdb.spark")
    for hits in (0, count, count):
        caplog.clear()
        assert ids(parts, options) == list(range(500))
        assert f" {hits} blocks of this task from the cache" in caplog.text
    blocks = list((tmp_path / "cache").rglob("*.block"))
    assert len(blocks) == count
    blocks[0].write_bytes(b"damaged")
    caplog.clear()
    assert ids(parts, options) == list(range(500))
    assert f" {count - 1} blocks of this task from the cache" in caplog.text


def test_an_object_that_was_replaced_is_noticed_in_spite_of_the_cache(
    bucket: S3Backend, tmp_path: Path
) -> None:
    text = events.make(tmp_path / "a.zion", 0, 50).with_suffix(".json")
    sdb.pack([text], bucket.at("b.zion"))
    options = ReadOptions((bucket.at("b.zion"),), cache=str(tmp_path / "cache"))
    parts = planned(options)
    assert ids(parts, options) == list(range(50))
    sdb.pack([text, text], bucket.at("b.zion"), overwrite=True)
    with pytest.raises(ConflictError, match="changed since this was loaded"):
        ids(parts, options)
