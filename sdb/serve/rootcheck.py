"""Looks whether the root is there: where a volume was unmounted, no table is the wrong answer."""

from __future__ import annotations

import os
import shutil

from sdb import sizes
from sdb.errors import SdbError
from sdb.serve.problems import HttpError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.catalog.root import TableRoot

_AGAIN_SECONDS = "5"


class RootCheck:
    """Knows a root that is gone from one that has no tables.

    A root that has had tables has their folder for ever: tables that are dropped stay in it. So a
    folder without it is the place where a volume was mounted. Where nobody may write, it is one
    from the start: there is nothing to serve yet.

    * ``min_free_bytes``: Free space that its disk must have for rows to come in.
    * ``may_write``: Whether requests make tables, so that an empty root may be a new one.
    """

    def __init__(self, root: TableRoot, min_free_bytes: int, *, may_write: bool) -> None:
        self._root, self._min_free_bytes, self._may_write = root, min_free_bytes, may_write
        self._path = root.store.path_of(root.location)
        self._had_tables = False

    def quick(self) -> None:
        """Check a root that is a folder. Raises `HttpError` if it is gone."""
        if self._path is None:
            return
        if os.path.isdir(os.path.join(self._path, "db")):  # noqa: PTH112, PTH118 - of each request
            self._had_tables = True
        elif self._had_tables:
            raise gone("the tables are gone: the folder of the root is empty")
        elif not os.path.isdir(self._path):  # noqa: PTH112 - the same
            raise gone("the root is gone: there is no such folder")
        elif not self._may_write:
            raise gone("the root has no tables", code="root_empty")

    def whole(self) -> None:
        """Check the root, wherever it is; over a network that is a request.

        Raises `HttpError` if it is gone, or does not answer.
        """
        self.quick()
        try:
            has_tables = bool(self._root.databases())
        except SdbError as error:
            raise gone(f"the root does not answer: {error.message}") from None
        if not has_tables and not self._may_write:
            raise gone("the root has no tables", code="root_empty")

    def room(self) -> None:
        """Check that there is room for more rows. Raises `HttpError` if the disk is nearly full."""
        if self._path is None:
            return
        folder = self._path if os.path.isdir(self._path) else os.path.dirname(self._path)  # noqa: PTH112, PTH120
        free = shutil.disk_usage(folder or ".").free
        if free < self._min_free_bytes:
            has = f"{sizes.human(free)} are free on the disk of the root"
            raise HttpError(
                503,
                f"{has}, and {sizes.human(self._min_free_bytes)} are needed for changes",
                code="disk_full",
                hint="free some, or start the server with another --min-free",
                headers={"retry-after": "30"},
            )


def gone(message: str, code: str = "root_gone") -> HttpError:
    """Return the error for a root that is not there."""
    return HttpError(
        503,
        message,
        code=code,
        hint="is its volume mounted? requests are answered again as soon as it is",
        headers={"retry-after": _AGAIN_SECONDS},
    )
