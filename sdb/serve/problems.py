"""Errors as problem details (RFC 9457), with the texts of the command line."""

from __future__ import annotations

from http import HTTPStatus

import msgspec
from starlette.responses import Response

from sdb import errors
from sdb.table.commit.change import VersionChangedError
from sdb.table.history.merge import MergeConflictError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MEDIA_TYPE = "application/problem+json"

_STATUS: tuple[tuple[type[errors.SdbError], int], ...] = (
    (VersionChangedError, 412),
    (errors.QueryError, 400),
    (errors.UsageError, 400),
    (errors.NotFoundError, 404),
    (errors.ExistsError, 409),
    (errors.ConflictError, 409),
    (errors.InputError, 422),
    (errors.CorruptError, 500),
    (errors.AccessError, 403),
    (errors.UnsupportedError, 501),
    (errors.UncertainError, 503),
    (errors.ExhaustedError, 422),
)


_EXIT_CODES = {401: 7, 403: 7, 404: 3, 409: 5, 412: 5, 500: 1, 501: 8, 503: 1, 504: 1}
_MOST_LISTED = 100


class HttpError(errors.UsageError):
    """A request that is refused with its own status."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        hint: str | None = None,
        code: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.status, self.code, self.headers = status, code, dict(headers or {})


def status_of(error: errors.SdbError) -> int:
    """Return the status of an error."""
    if isinstance(error, HttpError):
        return error.status
    # What is of no class of its own is a store, or a disk, that failed: another attempt may do.
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 503)


def of_system(error: OSError) -> HttpError:
    """Return the error for what the operating system refused, as on a disk that is full."""
    text = error.strerror or type(error).__name__
    message = f"the server cannot read or write: {text[:1].lower()}{text[1:]}"
    return HttpError(503, message, code="storage", headers={"retry-after": "5"})


def exit_code_of(error: errors.SdbError) -> int:
    """Return the exit code that the command line has for an error."""
    if isinstance(error, HttpError):
        return _EXIT_CODES.get(error.status, error.exit_code)
    return error.exit_code


def problem(error: errors.SdbError, *, status: int | None = None) -> dict[str, object]:
    """Return an error as the members of a problem."""
    number = status_of(error) if status is None else status
    name = getattr(error, "code", "") or _code(error)
    answer: dict[str, object] = {
        "type": "about:blank",
        "title": _title(number),
        "status": number,
        "code": name,
        "detail": error.message,
    }
    if error.hint:
        answer["hint"] = error.hint
    if error.expected:
        answer["expected"] = error.expected
    if isinstance(error, errors.QueryError) and error.line is not None:
        answer |= {"line": error.line, "column": error.column}
        answer |= {"length": error.length, "shown": error.underlined()}
    if isinstance(error, MergeConflictError):
        answer["conflicts"] = {
            "packfiles": list(error.packfiles[:_MOST_LISTED]),
            "inputs": list(error.inputs[:_MOST_LISTED]),
            "row_count": error.row_count,
        }
    answer["exit_code"] = exit_code_of(error)
    return answer


def _title(number: int) -> str:
    try:
        return HTTPStatus(number).phrase
    except ValueError:  # 499, which nobody reads
        return "Client Closed Request"


def _code(error: errors.SdbError) -> str:
    """Return the name of an error's class in words: ``not_found`` of NotFoundError."""
    if type(error) is errors.SdbError:
        return "storage"
    name = type(error).__name__.removesuffix("Error") or "Error"
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


def problem_line(error: errors.SdbError) -> bytes:
    """Return the last line of an answer in lines that has no end."""
    return msgspec.json.encode({"$error": problem(error)}) + b"\n"


def response(error: errors.SdbError, *, status: int | None = None) -> Response:
    """Return the response that tells of an error."""
    members = problem(error, status=status)
    headers = {"cache-control": "no-store", **getattr(error, "headers", {})}
    number = int(str(members["status"]))
    body = msgspec.json.encode(members)
    return Response(body, number, headers, MEDIA_TYPE)
