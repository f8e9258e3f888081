"""Names of the options of the data source: an unknown one is an error, with the nearest name."""

from __future__ import annotations

from sdb.errors import UsageError
from sdb.query.syntax.hints import near

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
    "ignoreCorruptFiles",
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
        "metadata",
        "primitivesAsString",
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
        "partitionBy",
        "checkpointLocation",
        "ifExists",
    )
)
"""Options of `write`."""

_GONE = {
    "pushdown": "since and until read only the blocks of a time, query runs SQL on the packfiles",
}


def check_known(options: Mapping[str, str]) -> None:
    """Check that there is a meaning for each option.

    Raises `UsageError` for an option that nothing reads.
    """
    _check(options, READING | WRITING, "unknown option {!r} of the format zion")


def check_reading(options: Mapping[str, str]) -> None:
    """Check that all options are of reading; see :func:`check_known`."""
    _check(options, READING, "{} is an option of writing, not of reading")


def check_writing(options: Mapping[str, str]) -> None:
    """Check that all options are of writing; see :func:`check_known`."""
    _check(options, WRITING, "{} is an option of reading, not of writing")


def _check(options: Mapping[str, str], names: Iterable[str], flaw: str) -> None:
    """Refuse the first option that is not among some names, and suggest the nearest."""
    spelt = {name.lower(): name for name in names}
    for name in sorted(options):
        if name.lower() not in spelt:
            meant = near(name.lower(), spelt)
            usual = f"the options are {', '.join(sorted(spelt.values()))}"
            hint = _GONE.get(name) or (f"did you mean {spelt[meant]}?" if meant else usual)
            raise UsageError(flaw.format(name), hint=hint)
