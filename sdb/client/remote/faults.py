"""Problems that a server answers, as the errors that the same call raises on a folder."""

from __future__ import annotations

import json

from sdb import errors
from sdb.table.commit.change import VersionChangedError
from sdb.table.format.versionref import BeforeFirstError, ExpiredError, UnknownReferenceError
from sdb.table.history.merge import MergeConflictError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BY_CODE: dict[str, type[errors.SdbError]] = {
    "usage": errors.UsageError,
    "query": errors.QueryError,
    "not_found": errors.NotFoundError,
    "before_first": BeforeFirstError,
    "expired": ExpiredError,
    "unknown_reference": UnknownReferenceError,
    "exists": errors.ExistsError,
    "conflict": errors.ConflictError,
    "version_changed": VersionChangedError,
    "merge_conflict": MergeConflictError,
    "corrupt": errors.CorruptError,
    "input": errors.InputError,
    "access": errors.AccessError,
    "forbidden": errors.AccessError,
    "token": errors.AccessError,
    "unsupported": errors.UnsupportedError,
    "uncertain": errors.UncertainError,
}
_BY_EXIT_CODE: dict[int, type[errors.SdbError]] = {
    kind.exit_code: kind
    for kind in (
        errors.SdbError,
        errors.UsageError,
        errors.NotFoundError,
        errors.ExistsError,
        errors.ConflictError,
        errors.CorruptError,
        errors.AccessError,
        errors.UnsupportedError,
        errors.UncertainError,
    )
}
_SHOWN = 200


def error_of(status: int, reason: str, body: bytes, query: str | None = None) -> errors.SdbError:
    """Return the error that a server answers.

    * ``query``: The statement that was sent, if it was one.
    """
    try:
        problem = json.loads(body)
        detail, code = str(problem["detail"]), str(problem["code"])
    except (ValueError, TypeError, KeyError):
        text = body[:_SHOWN].decode("utf-8", "replace").strip()
        return errors.SdbError(f"the server answers {status} {reason}: {text or 'nothing'}")
    kind = _BY_CODE.get(code)
    if kind is None:
        kind = _BY_EXIT_CODE.get(problem.get("exit_code", 1), errors.SdbError)
    hint = problem.get("hint")
    if code == "token":
        hint = "SDB_TOKEN, or token= of sdb.connect"
    error = kind(detail, hint=hint, expected=problem.get("expected"))
    if isinstance(error, errors.QueryError) and "line" in problem:
        _point(error, problem, query)
    if isinstance(error, MergeConflictError) and isinstance(problem.get("conflicts"), dict):
        conflicts = problem["conflicts"]
        error.packfiles = tuple(conflicts.get("packfiles", ()))
        error.inputs = tuple(conflicts.get("inputs", ()))
        error.row_count = int(conflicts.get("row_count", 0))
    return error


def _point(error: errors.QueryError, problem: dict[str, Any], query: str | None) -> None:
    error.query, error.line, error.column = query, problem["line"], problem["column"]
    error.length = problem.get("length", error.length)


def refused(what: str, why: str = "", hint: str = "") -> errors.UnsupportedError:
    """Return the error for what cannot be done through a server."""
    reason = why or "it works on the objects of the table themselves"
    return errors.UnsupportedError(
        f"{what} cannot be done through a server: {reason}",
        hint=hint or "run it where the folder or bucket is",
    )


class Refused:
    """A member that a server does not have: reading it says why, and what to do instead.

    * ``what``: What cannot be done; ``{name}`` is the table.
    """

    def __init__(self, what: str, why: str = "", hint: str = "") -> None:
        self._what, self._why, self._hint = what, why, hint

    def __get__(self, holder: Any, kind: type | None = None) -> Any:  # noqa: ANN401 - any member
        """Refuse."""
        if holder is None:
            return self
        what = self._what.format(name=getattr(holder, "name", ""))
        raise refused(what, self._why, self._hint)
