"""Names of tables of other systems: ``delta:PATH@3`` in queries, ``delta+s3://...`` as inputs."""

from __future__ import annotations

from sdb.errors import UsageError
from sdb.records import record

DELTA = "delta"
ICEBERG = "iceberg"
LAKES = (f"{DELTA}:", f"{DELTA}+", f"{ICEBERG}:", f"{ICEBERG}+")
"""The beginnings of names."""

_INPUTS = (f"{DELTA}+", f"{ICEBERG}+")
_SCHEMES = ("file://", "s3://")
_MAGIC = frozenset("*?[{\\")
_LOG = {DELTA: "_delta_log", ICEBERG: "metadata"}
_FILE = "file://"


@record
class LakeName:
    """The name of a table, or of one of its versions."""

    kind: str  # ``delta`` or ``iceberg``
    location: str  # path or URL of the folder; of Iceberg also of a metadata file
    version: int | None = None  # the version of Delta, or the id of the snapshot of Iceberg

    def __str__(self) -> str:
        """Return the name as queries have it."""
        at = "" if self.version is None else f"@{self.version}"
        return f"{self.kind}:{self.location}{at}"


def lake_name(text: str) -> LakeName | None:
    """Read a name as queries have it; None: it is that of something else.

    >>> lake_name("delta:s3://logs/web@3")
    LakeName(kind='delta', location='s3://logs/web', version=3)
    """
    if not text.startswith(LAKES):
        return None
    kind = DELTA if text.startswith(DELTA) else ICEBERG
    mark, rest = text[len(kind)], text[len(kind) + 1 :]
    if not rest or (mark == "+" and not rest.startswith(_SCHEMES)):
        return None
    location, _, version = rest.rpartition("@")
    is_pinned = bool(location) and version.isdecimal() and version.isascii()
    location = (location if is_pinned else rest).removeprefix(_FILE).rstrip("/") or "/"
    return LakeName(kind, location, int(version) if is_pinned else None)


def is_lake_input(pattern: str) -> bool:
    """Return whether a pattern or the URI of an input is one of a table of another system."""
    return pattern.startswith(_INPUTS) and "://" in pattern


def lake_input(pattern: str) -> tuple[str, str]:
    """Return the kind of a table that a pattern of inputs names, and the URI of its folder.

    Raises `UsageError` if it has wildcards: a pattern names one table.
    """
    kind, _, uri = pattern.partition("+")
    if not is_lake_input(pattern):
        raise UsageError(f"bad pattern {pattern!r}", expected="delta+s3://bucket/table")
    if not _MAGIC.isdisjoint(uri):
        hint = "write one rule for each table"
        message = f"bad pattern {pattern!r}: a table of {kind.title()} has no wildcards"
        raise UsageError(message, hint=hint)
    return kind, uri.rstrip("/")


def position_uri(pattern: str) -> str:
    """Return the key under which an inputs tree has the version of a table that was taken."""
    kind, uri = lake_input(pattern)
    return f"{kind}+{uri}/{_LOG[kind]}"


def is_position_uri(uri: str) -> bool:
    """Return whether an entry of an inputs tree is the version of a table that was taken."""
    return is_lake_input(uri) and uri.endswith(f"/{_LOG[uri.partition('+')[0]]}")


def file_uri(pattern: str, path: str) -> str:
    """Return the URI by which an inputs tree knows a file of a table.

    * ``path``: Its path below the table, or its own URI if it is elsewhere.
    """
    return f"{pattern.rstrip('/')}/{path}"
