"""A mirror on S3, with checkpoints of `deltalake`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import deltalake
import pytest

import sdb
from sdb.delta import log
from sdb.delta.checkpoints import store_options
from tests.exchange.mirrors import mirrored
from tests.store.conftest import bucket, endpoint  # noqa: F401 - fixtures

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.s3


def test_a_mirror_on_s3(
    tmp_path: Path,
    bucket: Any,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SNELLER_INDEX_KEY", "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHg=")
    monkeypatch.setattr(log, "CHECKPOINT_COMMITS", 3)
    db = sdb.connect(tmp_path)
    db.create("web.t", "file://in/*.json")
    location = bucket.at("m")
    for number in range(7):
        db.append("web.t", [{"id": number}])
        mirrored(tmp_path, location)  # which reads the log from its checkpoint on
    table = deltalake.DeltaTable(location, storage_options=store_options(location))
    assert table.version() == 6
    assert sorted(table.to_pyarrow_table().column("id").to_pylist()) == list(range(7))
    names = bucket.names()
    assert sum(name.endswith(".checkpoint.parquet") for name in names) == 2
