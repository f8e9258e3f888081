"""Memory for columns that stay decoded between the queries of a process."""

from __future__ import annotations

import os

from sdb import bounds
from sdb.errors import UsageError
from sdb.packfile.read import keptblocks
from sdb.query.exec.freememory import limit_bytes

VARIABLE = "SDB_COLUMN_CACHE"
_MOST_BYTES = 256 << 20
_PART = 8  # of the memory of the machine


def wanted_bytes(limit: int | None) -> int:
    """Return how much memory columns may take in a process that runs many queries.

    * ``limit``: The most that the process may ever take; None: not known.

    Returns: What the environment says; else 256 MiB, or an eighth of the memory if that is less.
    Raises `UsageError` if the environment says something that is no size.
    """
    text = os.environ.get(VARIABLE, "")
    if text:
        try:
            return bounds.COLUMNS.read(text)
        except UsageError as error:
            raise error.within(VARIABLE) from None
    return _MOST_BYTES if limit is None else min(_MOST_BYTES, limit // _PART)


def keep_columns() -> None:
    """Keep decoded columns, and blocks of remote packfiles, for all queries of this process.

    Raises `UsageError` as :func:`wanted_bytes` does.
    """
    keptblocks.keep(wanted_bytes(limit_bytes()))
