"""The OpenAPI document of the service, made from the descriptions that check requests."""

from __future__ import annotations

import re
from functools import lru_cache
from http import HTTPStatus

import msgspec

from sdb.serve.described import Operation, members, schema_of
from sdb.serve.operations import OPERATIONS
from sdb.serve.problems import MEDIA_TYPE
from sdb.serve.queries import Body
from sdb.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]

_IN_PATH = re.compile(r"\{(\w+)\}")
_PATHS = {
    "query": "the SHA-256 of a query in hexadecimal digits, with any suffix, or the query itself",
    "name": "a table, `db.table`, or a version of it, `db.table@57`",
    "version": "the number of a version, or a reference such as `-1`",
    "ref": "the name",
    "id": "the id of a query, which its header Sdb-Query-Id has, or of a transaction",
    "database": "the database; before `/q` and `/upload` that of tables without one",
    "schema": "the database of the table; `public` is that of the path, if it has one",
    "table": "the table, without its database",
}
_EXAMPLES = {
    "query": "SELECT 1 AS n",
    "name": "web.gha",
    "version": "1",
    "ref": "v1",
    "id": "0" * 32,
    "database": "web",
    "schema": "web",
    "table": "gha",
}
_OPEN = (414, 421, 500, 501, 503)
_ALL = (401, *_OPEN)
_STANDARD = frozenset({"GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"})
_PROBLEM: Node = {
    "type": "object",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "what kind of error it is, for programs"},
        "detail": {"type": "string", "description": "the text of the command line"},
        "hint": {"type": "string", "description": "what to do about it"},
        "expected": {"type": "string", "description": "what would have been right"},
        "exit_code": {"type": "integer", "description": "that of the command line"},
    },
    "required": ["type", "title", "status", "code", "detail", "exit_code"],
}


@lru_cache
def document() -> Node:
    """Return the document."""
    paths: Node = {}
    for operation in OPERATIONS:
        path = paths.setdefault(operation.path, {})
        described = _operation(operation)
        if operation.method in _STANDARD:
            path[operation.method.lower()] = described
        else:  # OpenAPI 3.1 has no place for other methods
            path.setdefault("x-additional-operations", {})[operation.method] = described
    schemas = {"Problem": _PROBLEM}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "sdb",
            "version": VERSION,
            "description": "Tables over HTTP: queries, versions, changes.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}, {"basic": []}, {}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "basic": {"type": "http", "scheme": "basic"},
            },
        },
    }


def _operation(operation: Operation) -> Node:
    node: Node = {
        "operationId": _id(operation),
        "summary": operation.summary,
        "parameters": [*_in_path(operation.path), *_in_url(operation), *_in_headers(operation)],
        "responses": _responses(operation),
    }
    if operation.is_open:
        node["security"] = []
    if operation.body is not None:
        node["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _plain(schema_of(operation.body))}},
        }
    elif operation.bodies:
        node["requestBody"] = {
            "required": True,
            "content": {each: {"schema": {"type": "string"}} for each in operation.bodies},
        }
    return node


def _id(operation: Operation) -> str:
    method = f"{operation.method.lower()}_"
    where = "_in_database" if operation.path.startswith("/{database}/") else ""
    return method + operation.name.removeprefix(method) + where


def _in_path(path: str) -> list[Node]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": _PATHS[name],
            "schema": {"type": "string", "minLength": 1},
            "example": _EXAMPLES[name],
        }
        for name in _IN_PATH.findall(path)
    ]


def _in_url(operation: Operation) -> list[Node]:
    """Return the members of a URL; those of queries are read by what reads their bodies, too."""
    is_query = operation.name == "query" and operation.method == "GET"
    schema = schema_of(Body if is_query else members(operation))
    required = schema.get("required", ())
    node: list[Node] = []
    for name, described in schema["properties"].items():
        if is_query and name == "params":
            continue
        parameter: Node = {"name": name, "in": "query", "schema": _plain(described)}
        if name in required:
            parameter["required"] = True
        if "description" in described:
            parameter["description"] = parameter["schema"].pop("description")
        if described.get("type") == "array":
            parameter |= {"style": "form", "explode": False}
        node.append(parameter)
    return node


def _in_headers(operation: Operation) -> list[Node]:
    return [
        {"name": name, "in": "header", "description": text, "schema": {"type": "string"}}
        for name, text in operation.headers.items()
    ]


def _responses(operation: Operation) -> Node:
    content = {form: {"schema": {} if form != "application/json" else {"type": "object"}}
               for form in operation.forms}  # fmt: skip
    done: Node = {"description": operation.answer}
    if operation.leads_to:
        names = _IN_PATH.findall(operation.path)
        parameters = {name: f"$request.path.{name}" for name in names}
        done["links"] = {
            each: {"operationId": each, "parameters": parameters} for each in operation.leads_to
        }
    if operation.status not in {202, 204}:
        done["content"] = content
    node = {str(operation.status): done}
    if operation.status == 201:  # noqa: PLR2004 - what is there already is not made
        node["200"] = done | {"description": f"{operation.answer}; nothing had to change"}
    if operation.method == "GET" and not operation.is_open:
        node["304"] = {"description": "the client has the answer"}
    if operation.path == "/v1/query":
        node["206"] = done | {"description": "a range of a Parquet file"}
    statuses = (*operation.errors, *(_OPEN if operation.is_open else _ALL))
    for status in sorted({*statuses, 405}):
        node[str(status)] = {
            "description": HTTPStatus(status).phrase,
            "content": _error(operation),
        }
    return node


def _error(operation: Operation) -> Node:
    """Return the form of errors."""
    if operation.has_plain_errors:
        return {"text/plain": {"schema": {"type": "string"}}}
    return {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}


def _plain(schema: Node) -> Node:
    """Return a schema without what is there for Python alone."""
    node: Node = msgspec.json.decode(msgspec.json.encode(schema))
    for name in ("title",):
        node.pop(name, None)
    return node
