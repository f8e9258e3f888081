"""`sdb.unpack`: rows of packfiles, all or those for which a condition of SQL is TRUE.

Only with a condition is what answers queries loaded.
"""

from __future__ import annotations

from sdb import formats
from sdb.errors import UsageError
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
    """Write the rows of packfiles, in order.

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
        The format.
    fields : sequence of str, optional
        Names of the top-level fields to write; all if not given.
    since, until : str or datetime, optional
        Only rows with a time from `since` on and before `until`.
    time_field : str or sequence of str, optional
        Path of that time; without it the obvious one of each file.
    blocks : str or sequence of int, optional
        Only these blocks, as in ``"0,3-5"``; not with a condition.
    limit : int, optional
        Maximum number of rows.
    threads : int, optional
        Number of threads that decode; one for each processor if not given.
    strict : bool
        Whether a field that no row has is an error, as far as packfiles prove it; else a warning.
    indent : bool
        Whether each member has a separate line in ``ion-text``.
    verify : bool
        Whether a wrong checksum is an error; not with a condition.
    progress : Progress, optional
        Called with the compressed bytes that were read, and their total; not with a condition.

    Raises
    ------
    QueryError
        The condition cannot be parsed.
    NotFoundError, AccessError, UsageError, UnsupportedError, CorruptError
        A packfile or table cannot be read, or an option is invalid.

    Examples
    --------
    >>> with open("rows.ndjson", "wb") as output:
    ...     sdb.unpack("events.zion", output, where="actor.login = 'soumith'", fields=["type"])
    >>> sdb.pack("rows.ndjson", "pushes.zion", overwrite=True).rows
    1
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
    formats.check("unpack", fmt)
    from sdb.query.rows.selected import selected

    with selected(paths, where, typed=fmt in formats.TYPED, **choice) as result:
        result.write(output, fmt, indent=indent)
        result._tell()  # noqa: SLF001 - a result of ours
