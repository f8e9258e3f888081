"""Names of the options of the data source: an unknown one is an error, with the nearest name."""

from __future__ import annotations

from sdb.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_EITHER = ("path", "paths", "root")
_FILES = (
    "pathGlobFilter",
    "recursiveFileLookup",
    "modifiedAfter",
    "modifiedBefore",
    "mergeSchema",
    "ignoreMissingFiles",
)
_STREAMING = (
    "maxRowsPerTrigger",
    "startingVersion",
    "skipChangeCommits",
)
READING = frozenset(
    (
        *_EITHER,
        *_FILES,
        *_STREAMING,
        "at",
        "query",
        "fields",
        "since",
        "until",
        "timeField",
        "partitionBytes",
        "mode",
        "inference",
        "variants",
        "workers",
        "cache",
        "cacheBytes",
    )
)
"""Options of `spark.read` and `spark.readStream`."""

WRITING = frozenset(
    (
        *_EITHER,
        "at",
        "algorithm",
        "level",
        "stats",
        "timeFields",
        "ignoreNullFields",
        "txnId",
        "author",
        "message",
        "partition",
        "ifExists",
    )
)
"""Options of `write`."""

_GONE = {
    "pushdown": "since and until read only the blocks of a time, query runs SQL on the packfiles",
}
_WRITER, _READER = "an option of reading, not of writing", "an option of writing, not of reading"


def check_known(options: Mapping[str, str]) -> None:
    """Check that there is a meaning for each option.

    Raises
    ------
    UsageError
        An option that nothing reads.
    """
    for name in _missing(options, READING | WRITING):
        hint = _GONE.get(name) or _near(name, READING | WRITING)
        raise UsageError(f"unknown option {name!r} of the format zion", hint=hint)


def check_reading(options: Mapping[str, str]) -> None:
    """Check that all options are of reading; see :func:`check_known`."""
    for name in _missing(options, READING):
        raise UsageError(f"{name} is {_READER}", hint=_near(name, READING))


def check_writing(options: Mapping[str, str]) -> None:
    """Check that all options are of writing; see :func:`check_known`."""
    for name in _missing(options, WRITING):
        raise UsageError(f"{name} is {_WRITER}", hint=_near(name, WRITING))


def _missing(options: Mapping[str, str], names: Iterable[str]) -> list[str]:
    known = {name.lower() for name in names}
    return sorted(name for name in options if name.lower() not in known)


def _near(name: str, names: Iterable[str]) -> str:
    from difflib import get_close_matches

    spelt = {known.lower(): known for known in names}
    near = get_close_matches(name.lower(), sorted(spelt), 1, 0.6)
    if near and near[0] != name.lower():
        return f"did you mean {spelt[near[0]]}?"
    return f"the options are {', '.join(sorted(spelt.values()))}"
