"""Conditional requests (RFC 9110, section 13)."""

from __future__ import annotations

import hashlib
import re

import msgspec
from starlette.responses import Response

from sdb.serve.hiding import Hiding
from sdb.serve.problems import HttpError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from starlette.requests import Request

_TAG = re.compile(r'\s*(?:(W/)?("[\x21\x23-\x7e\x80-\xff]*")|(\*))\s*(?:,|$)')


def tags(header: str) -> list[str]:
    """Return the tags of a header, ``*`` among them; what is malformed ends the list.

    >>> tags('W/"a", "b"'), tags("*")
    (['W/"a"', '"b"'], ['*'])
    """
    etags, at = [], 0
    while match := _TAG.match(header, at):
        etags.append(match[3] or (match[1] or "") + match[2])
        at = match.end()
        if at >= len(header):
            break
    return etags


def is_known(request: Request, tag: str) -> bool:
    """Return whether the client has the answer of a tag already: weak comparison."""
    if not tag:
        return False
    plain = tag.removeprefix("W/")
    listed = tags(",".join(request.headers.getlist("if-none-match")))
    return any(each == "*" or each.removeprefix("W/") == plain for each in listed)


def matched(request: Request) -> list[str]:
    """Return the tags of If-Match."""
    return tags(",".join(request.headers.getlist("if-match")))


def check_match(request: Request, tag: str, *, needed: bool) -> bool:
    """Check that a request changes what its client has seen: strong comparison.

    Returns: Whether any version will do; else it must be this one when it is changed.
    Raises `HttpError` if it is another one by now (412), or the request does not say (428).
    """
    listed = matched(request)
    if not listed:
        if "if-match" in request.headers:
            raise HttpError(400, "If-Match: it is no list of tags", hint=f"If-Match: {tag}")
        if needed:
            hint = f"If-Match: {tag}, the ETag of what it changes, or * for any version"
            raise HttpError(428, "the request does not say which version it changes", hint=hint)
        return True
    if not any(each in {"*", tag} for each in listed):
        hint = "read the newer version, and decide again"
        raise HttpError(
            412, f"it is version {tag} by now, and no longer {listed[0][:80]}",
            code="version_changed", hint=hint,
        )  # fmt: skip
    return "*" in listed


def with_warnings(request: Request, response: Response, warnings: list[str], root: str) -> Response:
    """Return an answer with the lines that the command line would write to standard error."""
    if warnings:
        lines = Hiding(root, knows=request.state.rights.knows).texts(warnings)
        response.headers["sdb-warnings"] = header_text("; ".join(lines))
    return response


def changed(
    request: Request,
    members: dict[str, object],
    warnings: list[str],
    *,
    status: int = 200,
    headers: dict[str, str] | None = None,
) -> Response:
    """Answer a request that has changed something, with what `members` has as ``version``."""
    version = members.get("version")
    tagged = {} if version is None else {"etag": f'"{version}"'}
    every = {"cache-control": "no-store", **tagged, **(headers or {})}
    response = Response(msgspec.json.encode(members), status, every, "application/json")
    return with_warnings(request, response, warnings, request.app.state.service.root.location)


def header_text(text: str) -> str:
    """Return a text as a header may have it."""
    return text.encode("ascii", "replace").decode()[:4000].replace("\n", " ").replace("\r", " ")


def unchanged(request: Request, tag: str) -> Response | None:
    """Return the answer to a client that has what a tag is of; None: it has not."""
    if request.method in {"GET", "HEAD"} and is_known(request, tag):
        return Response(status_code=304, headers=_headers(tag))
    return None


def _headers(tag: str) -> dict[str, str]:
    return {"etag": tag, "cache-control": "private, no-cache", "vary": "authorization"}


def answered(request: Request, members: dict[str, object], tag: str = "") -> Response:
    """Answer with JSON, or with 304 if the client has it.

    * ``tag``: Its tag; the digest of the answer if not given.
    """
    body = msgspec.json.encode(members)
    tag = tag or f'W/"{hashlib.sha256(body).hexdigest()[:32]}"'
    return unchanged(request, tag) or Response(body, 200, _headers(tag), "application/json")
