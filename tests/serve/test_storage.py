"""Roots and disks that fail: what is gone or full for a while is 503, and never an empty answer."""

from __future__ import annotations

import os
import resource
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import boto3
import pytest

import sdb
from tests.serve.conftest import COUNT, Server, rows
from tests.store.conftest import PATHS as ADDRESSING
from tests.store.conftest import endpoint  # noqa: F401 - a fixture

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.wide

PATHS = (
    "/readyz",
    "/v1/tables",
    "/v1/views",
    "/v1/queries",
    "/v1/tables/web.gha",
    "/v1/tables/web.gha/hits",
    "/v1/changes?after=0&table=web.gha",
    "/v1/query?sql=SELECT+COUNT(*)+AS+n+FROM+web.gha",
    "/v1/query?sql=SELECT+*+FROM+sdb.tables",
    "/q/SELECT%20id%20FROM%20web.gha%20LIMIT%201",
)


def statuses(server: Server) -> dict[str, int]:
    return {path: server.get(path).status_code for path in PATHS}


def test_a_root_that_is_gone_is_no_empty_one(serve: Callable[..., Server], lake: Path) -> None:
    server = serve("--write")
    here, away = dict.fromkeys(PATHS, 200), dict.fromkeys(PATHS, 503)
    assert statuses(server) == here
    moved = lake.rename(lake.parent / "moved")
    assert statuses(server) == away
    lake.mkdir()  # the place where a volume was mounted
    assert statuses(server) == away
    answer = server.post("/v1/exec", json={"sql": "CREATE TABLE web.other"})
    assert (answer.status_code, answer.json()["code"]) == (503, "root_gone")
    assert answer.headers["retry-after"]
    assert (server.get("/healthz").status_code, list(lake.iterdir())) == (200, [])
    lake.rmdir()
    moved.rename(lake)
    assert statuses(server) == here


@pytest.mark.s3
def test_a_bucket_that_is_gone_is_no_empty_one(endpoint: str) -> None:  # noqa: F811
    client = boto3.client("s3", endpoint_url=endpoint, config=ADDRESSING)
    bucket = f"volume-{os.urandom(4).hex()}"
    client.create_bucket(Bucket=bucket)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SNELLER_INDEX_KEY", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
        db = sdb.connect(f"s3://{bucket}")
        db.execute("CREATE TABLE web.gha")
        db.append("web.gha", [{"id": "1", "created_at": datetime.now(UTC)}])
        server = Server(f"s3://{bucket}", "--write")
    try:
        assert statuses(server) == dict.fromkeys(PATHS, 200)
        listed = client.list_objects_v2(Bucket=bucket)["Contents"]
        for entry in listed:
            client.delete_object(Bucket=bucket, Key=entry["Key"])
        client.delete_bucket(Bucket=bucket)
        assert statuses(server) == dict.fromkeys(PATHS, 503)
        assert server.get("/v1/tables").json()["code"] == "root_gone"
        answer = server.post("/v1/exec", json={"sql": "CREATE TABLE web.other"})
        assert (answer.status_code, answer.json()["code"]) == (503, "root_gone")
    finally:
        server.close()
        client.close()


def test_a_server_that_starts_on_a_mount_point_waits_for_tables(lake: Path) -> None:
    """Where nobody may write, an empty folder is the place of a volume that is not mounted yet."""
    moved = lake.rename(lake.parent / "moved")
    lake.mkdir()
    server = Server(lake)
    try:
        assert "has no tables yet: requests are refused until it has" in server.text()
        assert statuses(server) == dict.fromkeys(PATHS, 503)
        assert server.get("/v1/tables").json()["code"] == "root_empty"
        assert server.get("/healthz").status_code == 200
        lake.rmdir()
        moved.rename(lake)
        assert statuses(server) == dict.fromkeys(PATHS, 200)
    finally:
        server.close()


def test_an_empty_root_is_ready(tmp_path: Path) -> None:
    root = tmp_path / "empty"
    root.mkdir()
    server = Server(root, "--write")
    try:
        assert server.get("/readyz").status_code == 200
        assert server.get("/v1/tables").json() == {"tables": []}
        assert server.query(COUNT).status_code == 404
        made = server.post("/v1/exec", json={"sql": "CREATE TABLE web.gha"})
        assert made.status_code == 200, made.text
    finally:
        server.close()


def test_a_disk_that_is_full_is_503(serve: Callable[..., Server]) -> None:
    server = serve("--write")
    lines = {"content-type": "application/x-ndjson"}

    def insert(count: int) -> Any:
        body = "".join(f'{{"n": {n}, "s": "{n * 7919:0200x}"}}\n' for n in range(count))
        return server.post("/v1/tables/logs.app/rows", data=body, headers=lines)

    assert insert(3).status_code == 201
    # As on a full disk, a file cannot grow.
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    refused = insert(40_000)
    assert (refused.status_code, "file too large" in refused.text) == (503, True), refused.text
    whole = server.query("SELECT * FROM web.gha", format="parquet")
    assert (whole.status_code, whole.json()["code"]) == (503, "storage")
    form = {"data": ("x.csv", "a,b\n" + "1,2\n" * 10_000)}
    assert server.post("/upload/web/new", files=form).status_code == 503
    assert rows(server.query(COUNT)) == [{"n": 1000}]
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    assert insert(40_000).status_code == 201
    (counted,) = rows(server.query("SELECT COUNT(*) AS n FROM logs.app"))
    assert counted == {"n": 10 + 3 + 40_000}
