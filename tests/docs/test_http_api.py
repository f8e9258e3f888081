"""`docs/http-api.md` follows the descriptions of requests, and `docs/serve.md` names no others."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("uvicorn", reason="the extra serve is not installed")

from sdb.serve.openapi import document
from sdb.serve.queries import Body
from tests.docs import http_api
from tests.examples import ROOT

_NAMES = re.compile(r"`([^`]+)`")


def test_the_page_is_fresh() -> None:
    assert http_api.PAGE.read_text() == http_api.page(), "python -m tests.docs.http_api writes it"


def test_paths_in_serve_md_exist() -> None:
    page = (ROOT / "docs/serve.md").read_text()
    begin = page.index("## What Tarchia and Seafowl promise")  # tests/serve/test_seeds.py has it
    page = page[:begin] + page[page.index("\n## ", begin) :]
    paths = {re.sub(r"\{[^}]*\}", "{}", path) for path in document()["paths"]}
    named = set(re.findall(r"`(?:GET|PUT|POST|DELETE|QUERY) (/v1/[^`? ]+)", page))
    assert len(named) > 10
    assert sorted(each for each in named if re.sub(r"\{[^}]*\}", "{}", each) not in paths) == []


def test_the_members_of_queries_are_those_of_the_page() -> None:
    page = (ROOT / "docs/serve.md").read_text()
    table = page[page.index("| member | means |") : page.index("A query names tables only")]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("|")]
    named = {name for row in rows for name in _NAMES.findall(row)}
    assert {name.partition("=")[0] for name in named} - {"p.NAME"} == set(Body.__struct_fields__)


def test_every_operation_is_described() -> None:
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            for each in operation.get("parameters", ()):
                assert each.get("description") or path == "/v1/query", (path, method, each["name"])
