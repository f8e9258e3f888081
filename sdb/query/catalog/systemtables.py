"""Tables about tables, as packfiles that are made for a query and vanish with it."""

from __future__ import annotations

import io

from sdb import notes
from sdb.errors import NotFoundError, UsageError
from sdb.packfile.read.reader import Packfile, open_packfile
from sdb.packfile.write.pack import pack
from sdb.store.local.scratch import Scratch
from sdb.table.catalog.handle import open_table
from sdb.table.catalog.root import table_root
from sdb.table.format.versionref import split_reference
from sdb.table.inspect.systemtables import ABOUT_ALL, rows_of_all, system_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import Visible

_LEVEL = 1


def system_table(
    root: str,
    parts: tuple[str, ...],
    *,
    at: str = "",
    pinned: Mapping[str, TableHandle],
    visible: Visible | None = None,
) -> Packfile:
    """Make a system table.

    * ``root``: The root; the current folder when empty.
    * ``parts``: Its name, and the name of the table that it tells of, with or without a version.
    * ``at``: The version when the name has none; the newest when empty.
    * ``visible``: The tables that it may tell of; all if not given.

    Raises `UsageError` if it takes another number of names; `NotFoundError` if there is no such
    table, or version; `CorruptError` if what it tells of is damaged.
    """
    kind, *names = parts
    text = f"sdb.{kind}({', '.join(map(repr, names))})"
    if kind in ABOUT_ALL:
        if names:
            raise UsageError(f"{text}: it takes no name", expected=f"sdb.{kind}()")
        return _packed(rows_of_all(kind, table_root(root), visible), text)
    if len(names) != 1:
        raise UsageError(f"{text}: it takes the name of a table", expected=f"sdb.{kind}('db.t')")
    table, reference = split_reference(names[0])
    database, dot, name = table.partition(".")
    if not dot:
        raise UsageError(f"{text}: {table!r} is no table", expected=f"sdb.{kind}('db.t')")
    if visible is not None and not visible(database, name):
        raise NotFoundError(f"there is no table {table}")
    handle = None if reference else pinned.get(table)
    if handle is None:
        handle = open_table(table_root(root), database, name, at=reference or at)
    return _packed(system_rows(kind, handle), text)


def _packed(rows: Iterator[dict[str, Any]], name: str) -> Packfile:
    """Pack rows into a file that vanishes when it is closed."""
    listed = list(rows)
    with Scratch() as folder:
        path = f"{folder.path}/packed"
        with notes.unheard():  # there may be no rows
            pack(listed or io.BytesIO(), path, level=_LEVEL, format=None if listed else "json")
        return open_packfile(path, name=name)
