"""Times that the rows of all tables of a query must have."""

from __future__ import annotations

from sdb import instants
from sdb.errors import SdbError, UsageError
from sdb.packfile.prune.predicate import between
from sdb.packfile.prune.selection import time_path
from sdb.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Any

    from sdb.packfile.prune.predicate import Both
    from sdb.packfile.read.reader import Packfile
    from sdb.packfile.trailer import sparseindex
    from sdb.table.schema.columns import TableSchema


@record
class Period:
    """A range of times, and where rows have them."""

    # ``start_us <= t < stop_us``, in microseconds since 1970; None leaves that side open
    start_us: int | None
    stop_us: int | None
    # Path of the time; None: the obvious one of each table
    field: str | Sequence[str] | None = None

    def path(self, packs: Sequence[Packfile]) -> sparseindex.Path | None:
        """Return the path of the time in the rows of a table; None: it has no rows.

        Raises `UsageError` if none is obvious, or packfiles differ in it.
        """
        path_files: dict[sparseindex.Path, str] = {}
        for pack in packs:
            if pack.blocks:
                try:
                    path_files.setdefault(time_path(pack.trailer, self.field), pack.path)
                except SdbError as error:
                    raise error.within(pack.path, path=pack.path) from None
        if len(path_files) > 1:
            (path, first), (other_path, second), *_ = path_files.items()
            raise UsageError(
                f"the time is {'.'.join(path)} in {first} and {'.'.join(other_path)} in {second}",
                hint="name one with --time-field",
            )
        return next(iter(path_files), None)

    def under(self, schema: TableSchema) -> Period:
        """Return the same times, at the path where rows of a schema have them.

        Raises `UsageError` if no column has the name.
        """
        if self.field is None:
            return self
        from sdb.table.schema.names import stored_path

        names = self.field.split(".") if isinstance(self.field, str) else self.field
        return replace(self, field=stored_path(schema, tuple(names)))

    def test(self, path: sparseindex.Path) -> Both:
        """Return what metadata is asked."""
        return between(path, self.start_us, self.stop_us)

    def predicate(self, path: sparseindex.Path) -> tuple[Any, ...]:
        """Return what scans decide row by row."""
        sides = ((">=", self.start_us), ("<", self.stop_us))
        return ("and", [("cmp", list(path), op, ("u", us)) for op, us in sides if us is not None])


def period(
    since: str | datetime | None,
    until: str | datetime | None,
    field: str | Sequence[str] | None,
) -> Period | None:
    """Return the times that are asked for; None: all.

    * ``since, until``: First time, and the time that is no longer included; see
      :func:`sdb.instants.parse`.

    Raises `UsageError` if one is no time, or there is a path and no time.
    """
    if since is None and until is None:
        if field is not None:
            raise UsageError("a time field is of use only with since or until")
        return None
    start_us, stop_us = (None if at is None else instants.parse(at) for at in (since, until))
    return Period(start_us, stop_us, field)
