"""Requests that schemathesis makes of the OpenAPI document: each answer is one that it describes.

`SDB_FUZZ_SECONDS=600` makes them for so long; without it only a few are made.
"""

from __future__ import annotations

import copy
import os
import time
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("uvicorn", reason="the extra serve is not installed")
schemathesis = pytest.importorskip("schemathesis")

import sdb  # noqa: E402
from sdb.serve.openapi import document  # noqa: E402
from tests.amounts import usual  # noqa: E402

from .conftest import ROWS, Server  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = float(os.environ.get("SDB_FUZZ_SECONDS", usual(20, 5)))
# These are answers to a server that is busy, to a query that takes too long, and to what is not
# supported; they are described, and no faults.
EXPECTED = {501, 503, 504}
# Names and texts that mean something, besides all others.
SAMPLES = {
    "name": ["web.gha", "logs.app", "logs.app@1", "logs.app@-1", "logs.app@dev", "web.nope"],
    "version": ["1", "-1", "99", "v1"],
    "database": ["web", "logs", "nope"],
    "schema": ["web", "logs", "public"],
    "table": ["app", "gha", "new"],
    "ref": ["v1", "dev", "main", "-1", "x y"],
    "at": ["1", "-1", "v1", "dev", "-1d", "2026-01-01"],
    "from": ["1", "-1", "v1"],
    "source": ["dev", "v1", "1"],
    "sql": ["SELECT * FROM logs.app", "SELECT n, COUNT(*) AS c FROM logs.app GROUP BY n",
            "DELETE FROM logs.app WHERE n = 1", "UPDATE logs.app SET n = 1", "SELECT 1 AS x"],
    "where": ["n = 1", "type = 'PushEvent'", "n >"],
    "since": ["2015-01-01", "-1h", "now"],
    "until": ["2015-01-02", "2030-01-01"],
    "step": ["1m", "1h", "0s"],
    "by": ["type", "actor.login", "1"],
    "fields": [["type", "actor.login"], ["n"], ["a b"]],
    "time_field": ["created_at", "x.y"],
    "format": ["json", "csv", "ndjson", "arrow", "parquet", "html", "rows", "xml"],
    "wait": ["0s", "10ms"],
    "timeout": ["1s", "0", "x"],
    "If-Match": ['"1"', '"2"', "*", 'W/"1"', "x"],
    "Idempotency-Key": ["k1", "k2", "a b"],
}  # fmt: skip


def described() -> dict[str, Any]:
    """Return the document with samples, and without the stream that has no end."""
    schema = copy.deepcopy(document())
    schema["paths"].pop("/v1/tables/{name}/tail")
    for methods in schema["paths"].values():
        methods.pop("x-additional-operations", None)
        for operation in methods.values():
            for parameter in operation["parameters"]:
                parameter["schema"] = _sampled(parameter["name"], parameter["schema"])
            content = operation.get("requestBody", {}).get("content", {})
            for body in content.values():
                body["schema"] = _body(body["schema"])
    return schema


def _sampled(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    if name not in SAMPLES:
        return schema
    return {"anyOf": [{"enum": SAMPLES[name]}, schema]}


def _body(schema: dict[str, Any]) -> dict[str, Any]:
    if "properties" not in schema:
        return {"anyOf": [{"enum": ['{"n": 1}\n', "n\n1\n", '[{"n": 1}]']}, {"type": "string"}]}
    properties = {name: _sampled(name, each) for name, each in schema["properties"].items()}
    return schema | {"properties": properties}


SCHEMA = schemathesis.openapi.from_dict(described())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    lake = tmp_path_factory.mktemp("fuzzed") / "lake"
    db = sdb.connect(lake)
    db.create("web.gha", "in/*.json")
    db.append("web.gha", ROWS)
    db.create("logs.app", "in/*.json")
    db.append("logs.app", [{"n": number} for number in range(10)])
    db.table("logs.app").tag("v1")
    db.table("logs.app").branch("dev")
    db.table("logs.app").append([{"n": 11}])
    running = Server(lake, "--write", "--timeout", "10s", "--quiet")
    yield running
    running.close()
    assert "Traceback" not in running.text()
    assert "Error:" not in running.text(), running.text()


def check(operation: Any, response: Any) -> None:
    """Check that a status is one that the operation describes."""
    described_statuses = {int(status) for status in operation.definition.raw["responses"]}
    status = response.status_code
    assert status in described_statuses, (operation.label, status, response.text)
    assert status < 500 or status in EXPECTED, (operation.label, status, response.text)
    forms = operation.definition.raw["responses"][str(status)].get("content", {})
    form = response.headers.get("content-type", [""])[0].partition(";")[0]
    if status >= 400 and form == "text/plain":
        assert forms.keys() == {"text/plain"}, (operation.label, status)
    elif status >= 400:
        assert response.headers["content-type"][0] == "application/problem+json"
        assert {"code", "detail", "exit_code", "status"} <= response.json().keys()


@pytest.mark.timeout(max(300, SECONDS * 4))
def test_answers_are_described(server: Server) -> None:
    import hypothesis

    operations = [result.ok() for result in SCHEMA.get_all_operations()]
    assert len(operations) > 30
    until = time.monotonic() + SECONDS
    count, rounds = 0, 0

    def ask(operation: Any, seed: int) -> None:
        @hypothesis.seed(seed)
        @hypothesis.settings(
            max_examples=5,
            database=None,
            deadline=None,
            derandomize=False,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        @hypothesis.given(case=operation.as_strategy())
        def asked(case: Any) -> None:
            nonlocal count
            count += 1
            check(operation, case.call(base_url=server.url, timeout=60))

        asked()

    while time.monotonic() < until or not rounds:
        for operation in operations:
            ask(operation, rounds)
        rounds += 1
    assert count > len(operations)


@pytest.mark.timeout(max(300, SECONDS * 4))
def test_requests_one_after_the_other(server: Server) -> None:
    """Tags and branches are made, asked for and deleted, in any order."""
    import hypothesis

    machine = SCHEMA.as_state_machine()

    class Requests(machine):  # type: ignore[misc, valid-type]
        def get_call_kwargs(self, _case: Any) -> dict[str, Any]:
            return {"base_url": server.url, "timeout": 60}

        def validate_response(self, response: Any, case: Any, **_: Any) -> None:
            check(case.operation, response)

    Requests.run(
        settings=hypothesis.settings(
            max_examples=max(3, int(SECONDS / 6)),
            stateful_step_count=8,
            database=None,
            deadline=None,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
    )
