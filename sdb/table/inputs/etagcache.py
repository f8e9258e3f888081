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
_TABLES = (
    """
CREATE TABLE IF NOT EXISTS files
    (folder TEXT, name TEXT, version TEXT, etag TEXT, PRIMARY KEY (folder, name))
""",
    "CREATE TABLE IF NOT EXISTS settled (name TEXT PRIMARY KEY, digest BLOB)",
)
YOUNG_NS = 2_000_000_000
"""A file that was written so recently may be written again without looking different."""


class EtagCache:
    """The ETags that are known; a context manager that keeps those that were added.

    Those of a folder are read at once, since syncs go folder by folder.
    """

    __slots__ = ("_above", "_database", "_folder", "_known")

    def __init__(self) -> None:
        self._database: Connection | None = None
        self._above: str | None = None
        self._folder = ""
        self._known: dict[str, tuple[str, str]] = {}

    def __enter__(self) -> Self:
        """Open the database, unless that cannot be done."""
        import sqlite3

        from sdb.store.local import cachefolder

        try:
            path = os.path.join(cachefolder.make(), _NAME)  # noqa: PTH118 - a plain string
            self._database = sqlite3.connect(path, timeout=1)
            for statement in _TABLES:
                self._database.execute(statement)
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
                    "DELETE FROM files WHERE rowid <= (SELECT MAX(rowid) FROM files) - ?",
                    (_MOST_ENTRIES,),
                )
                self._database.commit()
            except sqlite3.Error:
                pass  # it is only slower without
        self._close()

    def get(self, location: str, version: str) -> str | None:
        """Return the ETag of a file; None: it is not known of this version."""
        above, _, name = location.rpartition("/")
        if above != self._above:
            self._load_folder(above)
        cached = self._known.get(name)
        return cached[1] if cached is not None and cached[0] == version else None

    def put(self, location: str, version: str, etag: str) -> None:
        """Keep the ETag of a version of a file, unless the file is young."""
        import sqlite3

        above, _, name = location.rpartition("/")
        if above != self._above:
            self._load_folder(above)
        modified_ns = int(version.rpartition("-")[2])
        if self._database is None or time.time_ns() - modified_ns < YOUNG_NS:
            return
        try:
            self._database.execute(
                "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)",
                (self._folder, name, version, etag),
            )
        except (sqlite3.Error, UnicodeError):
            self._close()

    def settled(self, name: str) -> bytes | None:
        """Return the digest of the listing in which a sync has found nothing to do."""
        import sqlite3

        if self._database is None:
            return None
        try:
            statement = "SELECT digest FROM settled WHERE name = ?"
            row = self._database.execute(statement, (name,)).fetchone()
        except (sqlite3.Error, UnicodeError):
            return None
        return row[0] if row is not None and isinstance(row[0], bytes) else None

    def settle(self, name: str, digest: bytes) -> None:
        """Keep the digest of a listing in which a sync has found nothing to do."""
        import sqlite3

        if self._database is None:
            return
        try:
            self._database.execute("INSERT OR REPLACE INTO settled VALUES (?, ?)", (name, digest))
        except (sqlite3.Error, UnicodeError):
            self._close()

    def _load_folder(self, above: str) -> None:
        """Read what is known of the files of a folder."""
        import sqlite3

        self._above, self._known = above, {}
        self._folder = os.path.realpath(above or "/")
        if self._database is None:
            return
        try:
            rows = self._database.execute(
                "SELECT name, version, etag FROM files WHERE folder = ?", (self._folder,)
            )
            self._known = {name: (version, etag) for name, version, etag in rows}
        except (sqlite3.Error, UnicodeError):
            self._close()

    def _close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None
