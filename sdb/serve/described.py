"""Descriptions of requests: one source for what checks them, for docs/serve.md and for OpenAPI."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from sdb.errors import UsageError
from sdb.records import field, record
from sdb.serve.bodies import bounded
from sdb.serve.problems import HttpError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from starlette.requests import Request

    AnyStruct = TypeVar("AnyStruct", bound=msgspec.Struct)

_SHOWN = 40
_TYPES = {"boolean": "true or false", "object": "an object", "array": "a list"}
_MEMBER = re.compile(r" - at `\$\.?([A-Za-z_]*)")


class NoMembers(msgspec.Struct, forbid_unknown_fields=True):
    """A request without members."""


@record
class Operation:
    """An operation: a method of a path."""

    method: str
    path: str
    name: str  # of the handler, and the operationId
    summary: str
    answer: str  # what the answer with status 200, or `status`, is
    status: int = 200
    params: type[msgspec.Struct] | None = NoMembers  # of the URL; None: the handler reads them
    body: type[msgspec.Struct] | None = None  # as JSON
    bodies: tuple[str, ...] = ()  # media types of bodies that are no struct
    forms: tuple[str, ...] = ("application/json",)  # media types of the answer
    headers: dict[str, str] = field(default_factory=dict)  # of the request that count
    errors: tuple[int, ...] = ()  # statuses besides those that all have
    leads_to: tuple[str, ...] = ()  # operations that have the same path parameters, by operationId
    has_plain_errors: bool = False  # whether errors are texts, as clients of Seafowl expect
    is_open: bool = False  # whether it needs no token


def members(operation: Operation) -> type[msgspec.Struct]:
    """Return the struct of the members that the URL of a request has."""
    return operation.params or NoMembers


def params_of(request: Request, kind: type[AnyStruct]) -> AnyStruct:
    """Read the members of a URL.

    Raises `UsageError` if one is unknown, given twice, or not what it has to be.
    """
    values: dict[str, str | list[str]] = {}
    names = kind.__struct_encode_fields__
    several = _lists(kind)
    for name, text in request.query_params.multi_items():
        if name not in names:
            expected = ", ".join(names) or "none"
            raise UsageError(f"there is no member {name[:_SHOWN]!r}", expected=expected)
        if name in several:
            listed = values.setdefault(name, [])
            assert isinstance(listed, list)  # noqa: S101 - it was made here
            listed += [part for part in text.split(",") if part]
        elif name in values:
            raise UsageError(f"{name!r} is given twice")
        else:
            values[name] = text
    return _converted(values, kind)


@lru_cache
def _lists(kind: type[msgspec.Struct]) -> set[str]:
    """Return the members that may be given several times, and have commas between texts."""
    properties = schema_of(kind)["properties"]
    return {name for name, schema in properties.items() if schema.get("type") == "array"}


def _converted(values: dict[str, Any], kind: type[AnyStruct]) -> AnyStruct:
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        raise flaw(error, values, kind) from None


def flaw(error: Exception, values: object, kind: type[msgspec.Struct]) -> UsageError:
    """Return what is wrong with a member, in plain words."""
    text = str(error)
    match = _MEMBER.search(text)
    name = match[1] if match else ""
    if text.startswith("Object missing required field"):
        missing = text.split("`")[1]
        return UsageError(f"{missing} is missing", expected=described_type(kind, missing))
    if text.startswith("Object contains unknown field"):
        unknown = text.split("`")[1]
        return UsageError(
            f"there is no member {unknown[:_SHOWN]!r}",
            expected=", ".join(kind.__struct_encode_fields__),
        )
    if not name or not isinstance(values, dict) or name not in kind.__struct_encode_fields__:
        return UsageError(f"it cannot be read: {text}")
    value = values.get(name, "")
    shown = repr(value if isinstance(value, str) else msgspec.json.encode(value).decode())
    return UsageError(
        f"{name}: {shown[: _SHOWN + 2]} is not {described_type(kind, name)}",
        expected=described_type(kind, name),
    )


def described_type(kind: type[msgspec.Struct], name: str) -> str:
    """Return what a member may be, in words."""
    schema = schema_of(kind)["properties"].get(name, {})
    if "anyOf" in schema:
        schema = next((each for each in schema["anyOf"] if each.get("type") != "null"), {})
    if "enum" in schema:
        return "one of " + ", ".join(str(each) for each in schema["enum"])
    if schema.get("type") == "integer":
        upper = f"to {schema['maximum']:,}" if "maximum" in schema else "on"
        return f"a number from {schema.get('minimum', 0):,} {upper}"
    return _TYPES.get(str(schema.get("type")), "a text")


@lru_cache
def schema_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON schema of a struct."""
    (schema,), parts = msgspec.json.schema_components(
        [kind], schema_hook=lambda _: {"description": "any value"}, ref_template="#/{name}"
    )
    values = parts[schema["$ref"].removeprefix("#/")]
    assert isinstance(values, dict)  # noqa: S101 - a struct is an object
    return values


async def body_of(request: Request, kind: type[AnyStruct], most_bytes: int) -> AnyStruct:
    """Read the members of a body.

    Raises `HttpError` if it is no JSON by its type, or too large; `UsageError` if it is not what it
    has to be.
    """
    said = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if said != "application/json":
        hint = "Content-Type: application/json"
        raise HttpError(415, f"the body is no {said[:_SHOWN] or 'type'} that is read", hint=hint)
    data = await bounded(request, most_bytes)
    try:
        values = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise UsageError(f"the body is no JSON: {error}") from None
    if not isinstance(values, dict):
        raise UsageError("the body is no object", expected=", ".join(kind.__struct_encode_fields__))
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise flaw(error, values, kind) from None
