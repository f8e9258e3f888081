"""Delta and Iceberg tables on S3, read from the store that `sdb` knows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog

import sdb
from sdb.table.catalog.root import table_root
from sdb.table.sync.sync import sync_table
from tests.lake.made import packed, stored
from tests.store.server import environment

if TYPE_CHECKING:
    from pathlib import Path

    from tests.store.conftest import S3Backend

pytestmark = [
    pytest.mark.s3,
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning"),
]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLER_INDEX_KEY", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")


def create(bucket: S3Backend, pattern: str) -> None:
    definition = json.dumps({"input": [{"pattern": pattern}]}).encode()
    bucket.put("db/d/t/definition.json", definition)


def numbers(start: int) -> pa.Table:
    return pa.table({"n": range(start, start + 10), "p": ["a", "b c"] * 5})


def test_delta(bucket: S3Backend, endpoint: str) -> None:
    settings = environment(endpoint)
    options = {name: value for name, value in settings.items() if name.startswith("AWS_")}
    options |= {"AWS_ENDPOINT_URL": endpoint, "AWS_ALLOW_HTTP": "true"}
    options |= {"AWS_S3_ALLOW_UNSAFE_RENAME": "true"}
    path = bucket.at("in/t")
    root = table_root(bucket.root)
    create(bucket, f"delta+{path}")
    write_deltalake(path, numbers(0), storage_options=options, partition_by=["p"])
    assert sync_table(root, "d", "t").rows == 10
    write_deltalake(path, numbers(10), mode="append", storage_options=options)
    table = DeltaTable(path, storage_options=options)
    table.delete("n < 3")
    DeltaTable(path, storage_options=options).create_checkpoint()
    synced = sync_table(root, "d", "t")
    assert [taken.source_version for taken in synced.sources] == [1, 2]
    assert sync_table(root, "d", "t").is_nothing
    expected = packed(DeltaTable(path, storage_options=options).to_pyarrow_table())
    with sdb.sql("SELECT * FROM d.t", root=bucket.root) as result:
        assert len(list(result)) == 17
    assert stored(f"'delta:{path}'") == expected
    assert sum(stored(f"'delta+{path}@0'").values()) == 10


def test_iceberg(bucket: S3Backend, endpoint: str, tmp_path: Path) -> None:
    settings = environment(endpoint)
    catalog = SqlCatalog(
        "c",
        uri=f"sqlite:///{tmp_path}/c.db",
        warehouse=bucket.at("ice"),
        **{
            "s3.endpoint": endpoint,
            "s3.access-key-id": settings["AWS_ACCESS_KEY_ID"],
            "s3.secret-access-key": settings["AWS_SECRET_ACCESS_KEY"],
            "s3.region": "us-east-1",
        },
    )
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", numbers(0).schema)
    table.append(numbers(0))
    create(bucket, f"iceberg+{table.location()}")
    root = table_root(bucket.root)
    assert sync_table(root, "d", "t").rows == 10
    table.append(numbers(10))
    table.delete("n < 3")
    assert len(sync_table(root, "d", "t").sources) == 2
    assert stored(f"'iceberg:{table.location()}'") == packed(table.scan().to_arrow())
