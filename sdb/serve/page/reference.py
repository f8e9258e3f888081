"""The reference of requests as a page: what the OpenAPI document says, for people."""

from __future__ import annotations

from functools import cache

from sdb.serve.openapi import document
from sdb.serve.operations import SECTIONS
from sdb.view.document import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.serve.openapi import Node

_INTRODUCTION = (
    '<p class="note"><code>{name}</code> is a table, <code>web.gha</code>, or a version of it: '
    "<code>web.gha@57</code>, <code>web.gha@-1d</code>. Times are <code>2026-11-01</code>, "
    "<code>2026-11-01T12:00Z</code> or <code>1h</code> (an hour ago); durations <code>30s</code>, "
    "<code>7d</code>. A member that is unknown or given twice is an error. "
    'For programs: <a href="/openapi.json">/openapi.json</a>.</p>\n'
)


@cache
def reference() -> str:
    """Write the reference: no script is needed to read it."""
    parts = [_INTRODUCTION]
    paths = document()["paths"]
    for title, operations in SECTIONS.items():
        parts.append(f"<section>\n<h2>{text(title)}</h2>\n")
        for operation in operations:
            at = paths[operation.path]
            more = at.get("x-additional-operations", {})
            node = at.get(operation.method.lower()) or more[operation.method]
            parts.append(_operation(operation.method, operation.path, node))
        parts.append("</section>\n")
    return "".join(parts)


def _operation(method: str, path: str, node: Node) -> str:
    rows = "".join(_rows(node))
    head = "".join(
        f'<th scope="col">{name}</th>' for name in ("member", "where", "may be", "means")
    )
    table = (
        f'<div class="wide" tabindex="0" role="region" aria-label="Members of {text(path)}">'
        f"<table><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table></div>\n"
        if rows
        else ""
    )
    answers = "".join(
        f"<li><code>{text(status)}</code> {text(answer['description'])}</li>"
        for status, answer in node["responses"].items()
    )
    forms = sorted(
        {form for answer in node["responses"].values() for form in answer.get("content", ())}
    )
    return (
        f'<details class="operation" id="{text(node["operationId"])}"><summary>'
        f"<code><b>{text(method)}</b> {text(path)}</code> {text(node['summary'])}</summary>\n"
        f"{table}"
        f"<p>It answers with {text(', '.join(forms) or 'no body')}.</p>\n"
        f'<ul class="statuses">{answers}</ul></details>\n'
    )


def _rows(node: Node) -> Iterator[str]:
    for each in node["parameters"]:
        yield _row(
            each["name"],
            each["in"],
            each["schema"],
            each.get("description", ""),
            is_needed=each.get("required", False),
        )
    for media_type, content in node.get("requestBody", {}).get("content", {}).items():
        schema = content["schema"]
        for name, member in schema.get("properties", {}).items():
            is_needed = name in schema.get("required", ())
            yield _row(name, "body", member, member.get("description", ""), is_needed=is_needed)
        if "properties" not in schema:
            yield _row(media_type, "body", schema, "the whole body", is_needed=False)


def _row(name: str, where: str, schema: Node, means: str, *, is_needed: bool) -> str:
    needed = " <small>needed</small>" if is_needed else ""
    cells = "".join(f"<td>{text(cell)}</td>" for cell in (where, _kind(schema), means))
    return f'<tr><th scope="row"><code>{text(name)}</code>{needed}</th>{cells}</tr>\n'


def _kind(schema: Node) -> str:
    """Return what a member may be, in words."""
    if "anyOf" in schema:
        schema = next((each for each in schema["anyOf"] if each.get("type") != "null"), {})
    if "enum" in schema:
        return ", ".join("(empty)" if each == "" else str(each) for each in schema["enum"])
    kind = {"array": "texts, with commas"}.get(
        schema.get("type", ""), schema.get("type", "any value")
    )
    bounds = [
        f"{word} {schema[name]:,}"
        for name, word in (("minimum", "from"), ("maximum", "to"))
        if name in schema
    ]
    default = schema.get("default")
    words = [kind, *bounds, *([f"else {default}"] if default not in (None, "", [], {}) else [])]
    return " ".join(map(str, words)).replace(" else", "; else")
