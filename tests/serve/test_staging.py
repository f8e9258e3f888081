"""Transactions that last for several requests, through a real server."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb.errors import ConflictError, NotFoundError
from sdb.records import replace
from sdb.table.catalog.root import table_root
from sdb.table.commit.environment import REAL
from sdb.table.format.keys import TableKeys
from sdb.table.insert import staging

from .test_catalog import LINES, send

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Server

COUNT = "SELECT COUNT(*) AS n FROM {}"


@pytest.fixture
def server(serve: Callable[..., Server]) -> Server:
    return serve("--write")


def begun(server: Server, **members: Any) -> str:
    answer = server.post("/v1/transactions", json=members)
    assert answer.status_code == 201, answer.text
    assert answer.headers["location"] == f"/v1/transactions/{answer.json()['id']}"
    return str(answer.headers["location"])


def stage(server: Server, path: str, table: str, *numbers: int, **headers: str) -> Any:
    body = "".join(f'{{"n": {number}}}\n' for number in numbers)
    url = f"{path}/rows?table={table}"
    return server.post(url, data=body, headers=LINES | headers)


def count(server: Server, table: str) -> int:
    return int(server.query(COUNT.format(table)).json()["n"])


def test_rows_of_several_requests_come_in_together(server: Server, lake: Path) -> None:
    sdb.connect(lake).create("logs.other", "in/*.json")
    path = begun(server, message="nightly")
    assert stage(server, path, "logs.app", 1, 2).json()["staged"] == 2
    assert stage(server, path, "logs.app", 3).json()["staged"] == 3
    assert stage(server, path, "logs.other", 4).json()["rows"] == 1
    assert count(server, "logs.app") == 10
    shown = server.get(path).json()
    assert shown["step"] == "open"
    assert shown["tables"] == [
        {"table": "logs.app", "rows": 3},
        {"table": "logs.other", "rows": 1},
    ]
    done = server.post(f"{path}/commit", json={"reads": {"logs.app": 1}})
    assert (done.status_code, done.json()["new"]) == (200, True)
    assert done.json()["versions"] == {"logs.app": 2, "logs.other": 1}
    assert (count(server, "logs.app"), count(server, "logs.other")) == (13, 1)
    again = server.post(f"{path}/commit", json={"reads": {"logs.app": 1}})
    assert (again.json()["versions"], again.json()["new"]) == (done.json()["versions"], False)
    assert stage(server, path, "logs.app", 5).status_code == 409
    assert send(server, "DELETE", path).status_code == 409
    assert next(iter(sdb.connect(lake).table("logs.app").log())).message == "nightly"


def test_files_of_the_root_are_staged(server: Server, lake: Path) -> None:
    (lake / "in").mkdir()
    (lake / "in/a.json").write_text('{"n": 1}\n{"n": 2}\n')
    path = begun(server)
    staged = server.post(f"{path}/files", json={"table": "logs.app", "files": ["in/a.json"]})
    assert (staged.status_code, staged.json()["rows"]) == (201, 2)
    for file in ("../x.json", "/etc/passwd", "http://127.0.0.1:1/x"):
        outside = server.post(f"{path}/files", json={"table": "logs.app", "files": [file]})
        assert outside.status_code == 403, outside.text
    assert server.post(f"{path}/commit", json={}).json()["versions"] == {"logs.app": 2}
    assert count(server, "logs.app") == 12


def test_a_version_that_was_read_must_be_there_still(server: Server, lake: Path) -> None:
    path = begun(server)
    stage(server, path, "logs.app", 1)
    sdb.connect(lake).append("logs.app", [{"n": 99}])
    stale = server.post(f"{path}/commit", json={"reads": {"logs.app": 1}})
    assert (stale.status_code, stale.json()["code"]) == (412, "version_changed")
    assert count(server, "logs.app") == 11
    other = server.post(f"{path}/commit", json={"reads": {"web.gha": 1}})
    assert (other.status_code, other.json()["expected"]) == (400, "logs.app")
    assert server.post(f"{path}/commit", json={"reads": {"logs.app": 2}}).status_code == 200
    assert count(server, "logs.app") == 12


def test_what_is_aborted_stays_outside(server: Server) -> None:
    path = begun(server)
    assert server.post(f"{path}/commit", json={}).status_code == 400
    stage(server, path, "logs.app", 1)
    assert send(server, "DELETE", path).json()["step"] == "aborted"
    assert send(server, "DELETE", path).status_code == 200
    assert server.post(f"{path}/commit", json={}).status_code == 409
    assert stage(server, path, "logs.app", 1).status_code == 409
    assert count(server, "logs.app") == 10
    assert server.get("/v1/transactions/nope").status_code == 404
    assert server.post("/v1/transactions", json={"expires": "13h"}).status_code == 400


def test_rows_with_a_key_are_staged_once(server: Server) -> None:
    path = begun(server)
    key = {"idempotency-key": "batch-1"}
    assert stage(server, path, "logs.app", 1, **key).json()["staged"] == 1
    assert stage(server, path, "logs.app", 1, **key).json()["staged"] == 1
    assert stage(server, path, "logs.app", 1).json()["staged"] == 2


def test_any_server_of_the_root_goes_on(serve: Callable[..., Server]) -> None:
    first, other = serve("--write"), serve("--write")
    path = begun(first)
    stage(first, path, "logs.app", 1)
    first.close()
    stage(other, path, "logs.app", 2)
    assert other.post(f"{path}/commit", json={}).json()["versions"] == {"logs.app": 2}
    assert count(other, "logs.app") == 12


def test_many_requests_stage_and_commit_at_the_same_time(server: Server, lake: Path) -> None:
    sdb.connect(lake).create("logs.other", "in/*.json")
    path = begun(server)
    taken = [
        threading.Thread(target=stage, args=(server, path, table, number))
        for number in range(4)
        for table in ("logs.app", "logs.other")
    ]
    for thread in taken:
        thread.start()
    for thread in taken:
        thread.join()
    versions = []

    def commit() -> None:
        answer = server.post(f"{path}/commit", json={})
        versions.append(answer.json().get("versions", answer.text))

    committed = [threading.Thread(target=commit) for _ in range(4)]
    for thread in committed:
        thread.start()
    for thread in committed:
        thread.join()
    assert versions == [{"logs.app": 2, "logs.other": 1}] * 4
    assert (count(server, "logs.app"), count(server, "logs.other")) == (14, 4)


def test_a_transaction_expires_by_itself(lake: Path) -> None:
    root = table_root(lake)
    begun = staging.begin(root, seconds=3600)
    target = TableKeys("logs", "app"), "main"
    staging.stage(root, begun.uid, target, [{"n": 1}])
    later = replace(REAL, now_us=lambda: REAL.now_us() + 3601 * 1_000_000)
    with pytest.raises(staging.ExpiredTransactionError, match="has expired"):
        staging.finish(root, begun.uid, reads={}, env=later)
    with pytest.raises(NotFoundError, match="has expired"):
        staging.stage(root, begun.uid, target, [{"n": 1}], env=later)
    much_later = replace(REAL, now_us=lambda: REAL.now_us() + 30 * 3600 * 1_000_000)
    staging.begin(root, seconds=1, env=much_later)
    with pytest.raises(NotFoundError, match="there is no transaction"):
        staging.find(root, begun.uid)
    assert list(sdb.connect(lake).sql(COUNT.format("logs.app"))) == [{"n": 10}]


def test_packfiles_that_were_collected_are_missed_at_the_commit(lake: Path) -> None:
    root = table_root(lake)
    begun = staging.begin(root, seconds=3600)
    staged, _ = staging.stage(root, begun.uid, (TableKeys("logs", "app"), "main"), [{"n": 1}])
    sdb.connect(lake).table("logs.app").gc(grace="0s")
    assert not root.has(staged.rows[0].descriptor.key)
    with pytest.raises(ConflictError, match="was collected"):
        staging.finish(root, begun.uid, reads={})
    assert list(sdb.connect(lake).sql(COUNT.format("logs.app"))) == [{"n": 10}]
