from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from sdb import errors
from sdb.store import url

if TYPE_CHECKING:
    from pathlib import Path


def test_ranges_are_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(bytes(range(100)))
    reader = url.open_read(f"file://{path}")
    assert (reader.size_bytes, reader.etag) == (100, "")
    assert reader.read(10, 13) == b"\x0a\x0b\x0c"
    assert reader.read(5, 5) == b""
    with pytest.raises(errors.CorruptError):
        reader.read(90, 101)
    reader.close()
    reader.close()


def test_what_is_no_packfile_store(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for item in (tmp_path, tmp_path / "pipe", "-", "", "/dev/null"):
        with pytest.raises(errors.UsageError):
            url.open_read(item)
    with pytest.raises(errors.NotFoundError):
        url.open_read(tmp_path / "none")
    for item in ("s3://bucket", "s3://bucket/folder/", "s3://b!/key"):
        with pytest.raises(errors.UsageError):
            url.open_read(item)
