"""ETags of local inputs that were read before, so that a sync of nothing new reads none of them.

A database in the user's cache folder. It may be removed at any time, and where it cannot be used
inputs are read.
"""

from __future__ import annotations

import os
import time

from sdb.errors import SdbError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sqlite3 import Connection
    from types import TracebackType
    from typing import Self

_NAME = "etags.sqlite"
_MOST_ENTRIES = 1_000_000
_YOUNG_NS = 2_000_000_000
"""A file that was written so recently may be written again without looking different."""


class EtagCache:
    """The ETags that are known; a context manager that keeps those that were added."""

    __slots__ = ("_database",)

    def __init__(self) -> None:
        self._database: Connection | None = None

    def __enter__(self) -> Self:
        """Open the database, unless that cannot be done."""
        import sqlite3

        from sdb.store.local import cachefolder

        try:
            path = os.path.join(cachefolder.make(), _NAME)  # noqa: PTH118 - a plain string
            self._database = sqlite3.connect(path, timeout=1)
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS etags (place TEXT PRIMARY KEY, version TEXT, etag TEXT)"
            )
        except (sqlite3.Error, SdbError):
            self._close()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Keep what was added, the newest of it."""
        import sqlite3

        if self._database is not None:
            try:
                self._database.execute(
                    "DELETE FROM etags WHERE rowid <= (SELECT MAX(rowid) FROM etags) - ?",
                    (_MOST_ENTRIES,),
                )
                self._database.commit()
            except sqlite3.Error:
                pass  # it is only slower without
        self._close()

    def get(self, place: str, version: str) -> str | None:
        """Give the ETag of a file; None: it is not known of this version."""
        import sqlite3

        if self._database is None:
            return None
        try:
            asked = self._database.execute(
                "SELECT etag FROM etags WHERE place = ? AND version = ?", (_key(place), version)
            )
            found = asked.fetchone()
        except (sqlite3.Error, UnicodeError):
            self._close()
            return None
        return str(found[0]) if found is not None else None

    def put(self, place: str, version: str, etag: str) -> None:
        """Keep the ETag of a version of a file, unless the file is young."""
        import sqlite3

        modified_ns = int(version.rpartition("-")[2])
        if self._database is None or time.time_ns() - modified_ns < _YOUNG_NS:
            return
        try:
            self._database.execute(
                "INSERT OR REPLACE INTO etags VALUES (?, ?, ?)", (_key(place), version, etag)
            )
        except (sqlite3.Error, UnicodeError):
            self._close()

    def _close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None


def _key(place: str) -> str:
    return os.path.realpath(place)
