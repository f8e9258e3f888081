"""Writes docs/http-api.md from the operations of the service: `python -m tests.docs.http_api`."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from sdb.serve.described import Operation, members, schema_of
from sdb.serve.openapi import document
from sdb.serve.operations import SECTIONS
from sdb.serve.queries import Body
from tests.examples import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable

PAGE = ROOT / "docs/http-api.md"
HEAD = """\
# Requests of the service

`python -m tests.docs.http_api` writes this page from what checks requests; a test compares them.
`GET /openapi.json` has the same for programs (OpenAPI 3.1).
What it is for, and how to begin, is in [serve.md](serve.md).

    curl http://127.0.0.1:7373/v1/tables/web.gha/versions?limit=3

`{name}` is a table, `web.gha`, or a version of it: `web.gha@57`, `web.gha@-1d`, `web.gha@v1`.
Times are those of `sdb query --since`: `2026-11-01`, `2026-11-01T12:00Z`, `1h` (an hour ago).
Durations are `30s`, `5m`, `1h`, `7d`.
A member that is unknown or given twice is an error.

Every request may be answered {common}; each names what else it may be.
"""


def page() -> str:
    """Return the text of the page."""
    common = set.intersection(*(statuses(each) for each in chain.from_iterable(SECTIONS.values())))
    parts = [HEAD.replace("{common}", named(common))]
    for title, operations in SECTIONS.items():
        parts.append(f"\n## {title}\n")
        parts += [section(operation, common) for operation in operations]
    return "".join(parts)


def statuses(operation: Operation) -> set[str]:
    """Return the statuses that answers to an operation may have."""
    described = document()["paths"][operation.path]
    operation_node = (
        described.get(operation.method.lower())
        or described["x-additional-operations"][operation.method]
    )
    return set(operation_node["responses"])


def named(codes: Iterable[str]) -> str:
    """Return statuses as the page has them."""
    return ", ".join(f"`{code}`" for code in sorted(codes))


def section(operation: Operation, common: set[str]) -> str:
    """Return what the page says of one operation."""
    lines = [f"\n### {operation.method} {operation.path}\n", operation.summary]
    rows = [*_members(operation), *_headers(operation)]
    if rows:
        lines += ["", *rows]
    if operation.bodies:
        kinds = ", ".join(f"`{each}`" for each in operation.bodies)
        lines += ["", f"The body is one of {kinds}."]
    lines += ["", f"Answers {operation.answer}: {named(statuses(operation) - common)}."]
    return "\n".join(lines) + "\n"


def _members(operation: Operation) -> list[str]:
    rows = []
    if operation.name == "query" and operation.method == "GET":
        return ["* `sql`, `p.NAME`, ...: see [serve.md](serve.md#queries)"]
    if operation.body is Body:
        return ["* body: `sql`, `params`, ...: see [serve.md](serve.md#queries)"]
    for where, struct in (("", members(operation)), ("body: ", operation.body)):
        if struct is None:
            continue
        schema = schema_of(struct)
        for name, described in schema["properties"].items():
            text = described.get("description", "")
            if name in schema.get("required", ()):
                text += " (needed)"
            elif described.get("default") and not isinstance(described.get("default"), list | dict):
                text += f" (default: {described['default']})"
            if "maximum" in described:
                text += f"; {described.get('minimum', 0):,} to {described['maximum']:,}"
            rows.append(f"* {where}`{name}`: {text.strip()}")
    return rows


def _headers(operation: Operation) -> list[str]:
    return [f"* header `{name}`: {text.strip()}" for name, text in operation.headers.items()]


if __name__ == "__main__":
    PAGE.write_text(page())
