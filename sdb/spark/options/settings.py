"""Options of the data source, from the texts that Spark passes on.

=====================  ===========================================================================
option                 meaning, and what holds without it
=====================  ===========================================================================
``path``, ``paths``    what `load` and `save` were given
``fields``             which fields become columns, as in ``type,actor.login``; all
``partitionBytes``     decompressed bytes of a partition; ``128MiB``
``mode``               ``FAILFAST``: a value that its column cannot hold is an error;
                       ``PERMISSIVE``: it is null; ``FAILFAST``
``variants``           what columns with values of several kinds are: ``string``, their texts, or
                       ``variant``; ``string``
``inference``          ``summary``: types from the trailers alone; ``rows``: from all rows;
                       ``summary``
``since``, ``until``   only rows with a time from the one on and before the other; all
``timeField``          path of that time, as in ``payload.at``; the one that is indexed
``query``              SQL of sdb whose rows are read, instead of a path; none
``metadata``           ``true``: a column ``_metadata`` says in which packfile a row is; ``false``
``primitivesAsString`` ``true``: what is inferred to be no struct or list is a text; ``false``
``workers``            number of executors that partitions are grouped for; not grouped
``cache``              folder on each executor that keeps blocks of S3; none is kept
``cacheBytes``         most that the folder may hold; ``10GiB``
``maxRowsPerTrigger``  most rows of a micro-batch of a stream; no limit
``pathGlobFilter``     and the other options of Spark's file sources, see
                       :mod:`sdb.spark.options.files`
=====================  ===========================================================================
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from sdb import bounds, sizes
from sdb.errors import UsageError
from sdb.spark.options.files import FileChoice, truth
from sdb.spark.options.namedtable import NamedTable
from sdb.store.schemes import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sdb.packfile.trailer.sparseindex import Path

_PARTITION = "128MiB"
_CACHE = "10GiB"
_ALL_FILES = FileChoice()


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options of reading packfiles."""

    paths: tuple[str, ...]  # paths, URLs, folders and patterns; or the name of a table
    table: NamedTable | None = None  # the table; None: it is packfiles that are read
    files: FileChoice = _ALL_FILES  # which packfiles of folders and patterns are read
    fields: tuple[Path, ...] | None = None  # the columns that are wanted, as paths; None: all
    partition_bytes: int = sizes.parse(_PARTITION)  # decompressed size of a partition in bytes
    lenient: bool = False  # whether a value that does not fit its column is null, and not an error
    has_variants: bool = False  # whether a column of several kinds is VARIANT, not their texts
    from_rows: bool = False  # whether types come from the rows, and not from the trailers alone
    # Times that the rows must have
    since: str | None = None
    until: str | None = None
    time_field: str | Path | None = None  # where these times are
    workers: int = 0  # number of executors that partitions are grouped for; 0: they are not
    cache: str | None = None  # folder for blocks
    cache_bytes: int = sizes.parse(_CACHE)  # most that it may hold
    max_rows: int | None = None  # most rows of a micro-batch
    # Where a stream of a table begins; None: before its first row
    starting_version: str | None = None
    # Whether a last column says of each row in which packfile it is
    has_metadata: bool = False
    is_text: bool = False  # whether types that are inferred are texts, where they have no parts
    skip_changes: bool = False  # whether a stream passes over versions that change or remove rows


def read_options(options: Mapping[str, str]) -> ReadOptions:
    """Read the options of `spark.read` or `spark.readStream`.

    * ``options``: Texts by name; case does not matter in the mapping of Spark.

    Raises `UsageError` if there is no path, or a value makes no sense.
    """
    return ReadOptions(
        paths=() if "query" in options else paths(options),
        table=None if "query" in options else NamedTable.of(options),
        fields=_fields(options.get("fields")),
        partition_bytes=bounds.PARTITION.read(options.get("partitionBytes", _PARTITION)),
        lenient=_choice(options, "mode", ("FAILFAST", "PERMISSIVE")) == "PERMISSIVE",
        has_variants=_choice(options, "variants", ("STRING", "VARIANT")) == "VARIANT",
        from_rows=_choice(options, "inference", ("SUMMARY", "ROWS")) == "ROWS",
        since=options.get("since"),
        until=options.get("until"),
        time_field=options.get("timeField"),
        files=FileChoice.of(options),
        workers=_number(options, "workers", bounds.WORKERS) or 0,
        cache=options.get("cache"),
        cache_bytes=bounds.CACHE.read(options.get("cacheBytes", _CACHE)),
        max_rows=_number(options, "maxRowsPerTrigger", bounds.TRIGGER_ROWS),
        starting_version=options.get("startingVersion"),
        has_metadata=truth(options, "metadata"),
        is_text=truth(options, "primitivesAsString"),
        skip_changes=truth(options, "skipChangeCommits"),
    )


def paths(options: Mapping[str, str]) -> tuple[str, ...]:
    """Return what `load` or `save` was given. Raises `UsageError` if no path was given."""
    names = [options["path"]] if "path" in options else []
    if "paths" in options:
        names += json.loads(options["paths"])
    if not names:
        raise UsageError("no path", hint='spark.read.format("zion").load("folder/*.zion")')
    # Spark and Hadoop write file:/folder and s3a://bucket; keys have one spelling each.
    return tuple(map(_plain, names))


def _plain(path: str) -> str:
    if path.startswith("file:") and not path.startswith("file://"):
        return path.removeprefix("file:")
    return plain(path.removeprefix("file://"))


def _fields(text: str | None) -> tuple[Path, ...] | None:
    if text is None:
        return None
    names = tuple(tuple(name.strip().split(".")) for name in text.split(",") if name.strip())
    if not names or not all(map(all, names)):
        raise UsageError(
            f"invalid fields {text!r}: not a list of names", expected="as in type,actor.login"
        )
    return names


def _number(options: Mapping[str, str], name: str, allowed: bounds.Bounds) -> int | None:
    text = options.get(name)
    return None if text is None else allowed.count(text)


def _choice(options: Mapping[str, str], name: str, choices: Sequence[str]) -> str:
    text = options.get(name, choices[0]).upper()
    if text not in choices:
        raise UsageError(f"invalid {name} {options[name]!r}: expected one of {', '.join(choices)}")
    return text
