"""Compressions and archives that lie in each store: packed, asked, looked at and synced."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import zstandard

import sdb
from sdb.errors import CorruptError, SdbWarning
from sdb.store.url import store_of
from tests.ingest.test_archives import LINES, lz4, member, tar, zipped

if TYPE_CHECKING:
    from pathlib import Path

    from tests.store.conftest import Backend

IN_STORES = pytest.mark.parametrize(
    "backend", ["local", pytest.param("s3", marks=pytest.mark.s3)], indirect=True
)

FILES = {"a.json": LINES, "folder/b.csv": b"id\n1000\n"}
KINDS = {
    "x.zip": zipped(FILES),
    "x.tar": tar(FILES),
    "x.tar.gz": gzip.compress(tar(FILES)),
    "x.tar.xz": lzma.compress(tar(FILES)),
    "x.tar.bz2": bz2.compress(tar(FILES)),
    "x.tar.zst": zstandard.compress(tar(FILES)),
    "x.json.xz": lzma.compress(LINES),
    "x.json.bz2": bz2.compress(LINES),
}
if shutil.which("lz4"):
    KINDS["x.json.lz4"] = lz4(LINES)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SNELLER_INDEX_KEY", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")


def ids(listed: list[dict[str, int]]) -> list[int]:
    return sorted(row["id"] for row in listed)


@IN_STORES
def test_archives_are_packed_asked_looked_at_and_synced(backend: Backend, tmp_path: Path) -> None:
    store_of(backend.root).make_folder(backend.at("in"))
    above = backend.root if "://" in backend.root else "file:/"
    lake = sdb.connect(backend.root)
    for name, data in KINDS.items():
        url = backend.put(f"in/{name}", data)
        expected = list(range(1001 if "tar" in name or "zip" in name else 1000))
        sdb.pack([url], tmp_path / "out.zion", overwrite=True)
        with sdb.open(tmp_path / "out.zion") as packfile:
            assert ids(list(packfile.rows())) == expected
        with sdb.sql(f"SELECT id FROM '{url}'") as result:
            assert ids(result.to_arrow().to_pylist()) == expected
        head = [sys.executable, "-m", "sdb.cli.main", "head", "-n", "1", url]
        done = subprocess.run(head, capture_output=True, check=True, env=os.environ)
        assert done.stdout == b'{"id": 0}\n'
        table = "d." + name.replace(".", "_")
        lake.create(table, f"{above}/in/{name}")
        assert len(lake.sync(table).taken) == 1
        assert ids(list(lake.table(table).rows())) == expected
        assert lake.sync(table).is_nothing


@IN_STORES
def test_an_archive_that_is_cut_off_is_a_line(backend: Backend, tmp_path: Path) -> None:
    store_of(backend.root).make_folder(backend.at("in"))
    data = gzip.compress(member("a.json", LINES) + member("b.json", LINES)[:3000])
    url = backend.put("in/x.tar.gz", data)
    for name in (url, backend.put("in/y.tar.gz", data[: len(data) // 2])):
        with pytest.raises(CorruptError, match="cut off") as caught:
            sdb.pack([name], tmp_path / "out.zion")
        assert "\n" not in str(caught.value)
        assert not (tmp_path / "out.zion").exists()
    with pytest.warns(SdbWarning, match="the rows before that are packed"):
        sdb.pack([url], tmp_path / "out.zion", on_error=lambda _: None)
    with sdb.open(tmp_path / "out.zion") as packfile:
        assert ids(list(packfile.rows()))[::2][:100] == list(range(100))
