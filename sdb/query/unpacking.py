"""`sdb.unpack`: rows of packfiles, all or those for which a condition of SQL is TRUE.

Only with a condition is what answers queries loaded.
"""

from __future__ import annotations

from sdb import notes
from sdb.errors import UsageError
from sdb.packfile.export.unpack import FORMATS
from sdb.packfile.export.unpack import unpack as unpack_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime
    from typing import Any, BinaryIO

    from sdb.progress import Progress
    from sdb.store.base import Location


def unpack(  # noqa: PLR0913 - the command's options, by name
    paths: Location | Iterable[Location],
    output: BinaryIO,
    *,
    where: str | None = None,
    fmt: str = "json",
    fields: Sequence[str] | None = None,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    time_field: str | Sequence[str] | None = None,
    blocks: str | Sequence[int] | None = None,
    limit: int | None = None,
    threads: int | None = None,
    strict: bool = False,
    indent: bool = False,
    verify: bool = True,
    progress: Progress | None = None,
) -> None:
    """Write the rows of packfiles, in order. This is `sdb.unpack`.

    Parameters
    ----------
    paths : path or str, or iterable of these
        The packfiles; with a condition tables too, as in ``"web.gha"``.
    output : binary file
        Where the rows go; it is not closed.
    where : str, optional
        Only rows for which this condition, in the language of docs/sql.md, is TRUE. Blocks that
        cannot hold one are not read.
    fmt : {"json", "csv", "tsv", "ion", "ion-text", "arrow", "parquet"}
        The format, see :func:`sdb.packfile.export.unpack.unpack`.
    fields, since, until, time_field, limit, threads, strict, indent
        See there.
    blocks, verify, progress
        See there; not possible with a condition.

    Raises
    ------
    QueryError
        The condition is none.
    NotFoundError, AccessError, UsageError, UnsupportedError, CorruptError
        See :func:`sdb.packfile.export.unpack.unpack`.

    Examples
    --------
    >>> with open("rows.ndjson", "wb") as output:       # doctest: +SKIP
    ...     sdb.unpack(["events.zion"], output, where="actor.login = 'octocat'", limit=100)
    """
    choice: dict[str, Any] = {
        "fields": fields,
        "since": since,
        "until": until,
        "time_field": time_field,
        "limit": limit,
        "threads": threads,
        "strict": strict,
    }
    if where is None:
        choice |= {"blocks": blocks, "indent": indent, "verify": verify, "progress": progress}
        unpack_all(paths, output, fmt=fmt, **choice)
        return
    if blocks is not None or not verify or progress is not None:
        raise UsageError("with a condition neither blocks nor progress, and no verify=False")
    if fmt not in FORMATS:
        raise UsageError(f"unknown format {fmt!r}", expected=", ".join(FORMATS))
    from sdb.query.selected import TYPED, selected

    with selected(paths, where, typed=fmt in TYPED, **choice) as result:
        result.write(output, fmt, indent=indent)
        for note in result.notes:
            notes.warn(note)
