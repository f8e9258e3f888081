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
from sdb.serve.tokens import create  # noqa: E402
from tests.amounts import usual  # noqa: E402

from .conftest import ROWS, Server  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.wide

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
# What leads somewhere, by the beginning of paths; the last that fits counts.
KNOWN = {
    "/": {"name": ["web.gha", "logs.app"], "ref": ["v1", "dev", "new"], "q": ["gha"],
          "query": ["SELECT 1", "DELETE FROM logs.app"], "from": ["1"], "version": ["1"],
          "sql": ["SELECT 1 AS x"], "source": ["dev"], "at": ["1"], "If-Match": ["*"],
          "database": ["logs"], "as": ["logs.copy", "logs.copy2"], "to": ["backup"],
          "table": ["logs.app"], "files": [["in/a.json"]], "infer": [True],
          "description": ["rows"], "strategy": ["ours"]},
    "/v1/exec": {"sql": ["DELETE FROM logs.app WHERE n = 1", "UPDATE logs.app SET n = 1"]},
    "/v1/queries/": {"name": ["per_type"]},
    "/v1/views/": {"name": ["web.pushes"]},
    "/v1/databases/": {"database": ["web", "logs", "shop"]},
}  # fmt: skip
ROWS_AS = {"application/json": '[{"n": 1}]', "text/csv": "n\n1\n", "application/ion": "{n: 1}",
           "text/tab-separated-values": "n\n1\n", "application/x-ndjson": '{"n": 1}\n'}  # fmt: skip
LEADS_NOWHERE = {
    "DELETE /v1/running/{id}": "no query runs",
    "POST /upload/{schema}/{table}": "schemathesis makes no file of a form",
    "POST /{database}/upload/{schema}/{table}": "the same",
}


def described(known: dict[str, dict[str, Any]] | None = None) -> dict[str, Any]:
    """Return the document with samples, and without the stream that has no end.

    * ``known``: The samples that are used alone; members that have none, and may lack, do.
    """
    schema = copy.deepcopy(document())
    schema["paths"].pop("/v1/tables/{name}/tail")
    for path, methods in schema["paths"].items():
        samples = None if known is None else {}
        for start in known or ():
            samples |= known[start] if path.startswith(start) else {}
        methods.pop("x-additional-operations", None)
        for operation in methods.values():
            operation["parameters"] = _parameters(operation["parameters"], samples)
            content = operation.get("requestBody", {}).get("content", {})
            for form, body in content.items():
                body["schema"] = _body(body["schema"], form, samples)
    return schema


def _parameters(
    parameters: list[dict[str, Any]], samples: dict[str, Any] | None
) -> list[dict[str, Any]]:
    if samples is None:
        return [each | {"schema": _sampled(each["name"], each["schema"])} for each in parameters]
    return [
        each | {"required": True, "schema": {"enum": samples[each["name"]]}}
        for each in parameters
        if each.get("required") or each["name"] == "If-Match"
        if each["name"] in samples
    ] + [each for each in parameters if each.get("required") and each["name"] not in samples]


def _sampled(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    if name not in SAMPLES:
        return schema
    return {"anyOf": [{"enum": SAMPLES[name]}, schema]}


def _body(schema: dict[str, Any], form: str, samples: dict[str, Any] | None) -> dict[str, Any]:
    if "properties" not in schema and samples is not None:
        return {"enum": [ROWS_AS[form]]} if form in ROWS_AS else schema
    if "properties" not in schema:
        return {"anyOf": [{"enum": list(ROWS_AS.values())}, {"type": "string"}]}
    properties = {name: _sampled(name, each) for name, each in schema["properties"].items()}
    if samples is None:
        return schema | {"properties": properties}
    sampled = {name: {"enum": samples[name]} for name in properties if name in samples}
    return schema | {"properties": sampled, "additionalProperties": False}


SCHEMA = schemathesis.openapi.from_dict(described())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("fuzzed")
    lake = folder / "lake"
    db = sdb.connect(lake)
    db.create("web.gha", "in/*.json")
    db.append("web.gha", ROWS)
    db.create("logs.app", "in/*.json")
    db.append("logs.app", [{"n": number} for number in range(10)])
    db.table("logs.app").tag("v1")
    db.table("logs.app").branch("dev")
    db.append("logs.app@dev", [{"n": 11}])
    db.execute("CREATE VIEW web.pushes AS SELECT * FROM web.gha WHERE type = 'PushEvent'")
    db.store_query("per_type", "SELECT type, COUNT(*) AS n FROM web.gha GROUP BY type")
    (lake / "in").mkdir()
    (lake / "in/a.json").write_text('{"n": 100}\n')
    tokens = folder / "tokens.json"
    everything = create(tokens, "all", ("admin", "write:*.*"), now_us=0)
    few = create(tokens, "few", ("read:web.*", "query:per_type"), now_us=0)
    options = ("--audit", str(folder / "audit.log"), "--push-to", f"backup={folder / 'backup'}")
    running = Server(
        lake, "--write", "--timeout", "10s", "--quiet", "--tokens", str(tokens), *options
    )
    running.rights = {"all": everything, "few": few}  # type: ignore[attr-defined]
    yield running
    running.close()
    assert "Traceback" not in running.text()
    assert "Error:" not in running.text(), running.text()


def bearer(server: Server, name: str) -> dict[str, str]:
    """Return the header with a token."""
    return {"authorization": f"Bearer {server.rights[name]}"}  # type: ignore[attr-defined]


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


def asked_often(server: Server, operation: Any, seed: int, token: str, most: int = 5) -> list[Any]:
    """Make requests of an operation, and return the answers, which are as it describes them."""
    import hypothesis

    answers: list[Any] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=most,
        database=None,
        deadline=None,
        derandomize=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(case=operation.as_strategy())
    def asked(case: Any) -> None:
        answer = case.call(base_url=server.url, timeout=60, headers=bearer(server, token))
        answers.append(answer)
        check(operation, answer)

    asked()
    return answers


@pytest.mark.timeout(max(300, SECONDS * 4))
@pytest.mark.parametrize("token", ["all", "few"])
def test_answers_are_described(server: Server, token: str) -> None:
    operations = [result.ok() for result in SCHEMA.get_all_operations()]
    assert len(operations) > 30
    until = time.monotonic() + SECONDS
    count, rounds = 0, 0
    while time.monotonic() < until or not rounds:
        for operation in operations:
            count += len(asked_often(server, operation, rounds, token))
        rounds += 1
    assert count > len(operations)


@pytest.mark.timeout(max(300, SECONDS * 4))
def test_each_operation_works_on_what_is_there(server: Server) -> None:
    begun = server.post("/v1/transactions", json={}, headers=bearer(server, "all")).json()
    known = KNOWN | {"/v1/transactions/": {"id": [begun["id"]]}}
    schema = schemathesis.openapi.from_dict(described(known))
    operations = [result.ok() for result in schema.get_all_operations()]
    # What deletes comes last, and the end of a transaction before that.
    operations.sort(key=lambda each: (each.method == "delete", "commit" in each.path))
    failed = {}
    for operation in operations:
        answers = asked_often(server, operation, 1, "all", most=12)
        if all(answer.status_code >= 400 for answer in answers):
            failed[operation.label] = answers[0].text
    assert failed.keys() == LEADS_NOWHERE.keys() | {"DELETE /v1/transactions/{id}"}, failed


@pytest.mark.timeout(max(300, SECONDS * 4))
def test_requests_one_after_the_other(server: Server) -> None:
    """Tags and branches are made, asked for and deleted, in any order."""
    import hypothesis

    machine = SCHEMA.as_state_machine()

    class Requests(machine):  # type: ignore[misc, valid-type]
        def get_call_kwargs(self, _case: Any) -> dict[str, Any]:
            return {"base_url": server.url, "timeout": 60, "headers": bearer(server, "all")}

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
