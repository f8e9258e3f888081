"""Where tables may be, for messages about a root that has none."""

from __future__ import annotations

import os
from contextlib import suppress

from sdb.errors import NotFoundError
from sdb.store.url import store_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.catalog.root import TableRoot

HOW = "sdb create makes a table; --root, SDB_ROOT or root in sdb.toml names another root"
_MOST_LOOKED_AT = 500


def flaw_of_root(root: TableRoot) -> str:
    """Return why a root has no tables: there is no such folder, or no database; empty: it has."""
    path = root.store.path_of(root.location)
    if path is not None and not os.path.isdir(path):  # noqa: PTH112 - a string
        return f"there is no folder {path}"
    return "" if root.databases() else f"the root {shown(root)} has no tables"


def hint_for_root(root: TableRoot) -> str:
    """Return how to name the root that may be meant: one that is near has tables."""
    near = near_root(root.location)
    return f"did you mean --root {near}?" if near else HOW


def check_root(root: TableRoot) -> None:
    """Require a root that has tables, to read from.

    Raises `NotFoundError` if it has none; the hint names one nearby, or tells how to name it.
    """
    if flaw := flaw_of_root(root):
        raise NotFoundError(flaw, path=root.location, hint=hint_for_root(root))


def shown(root: TableRoot) -> str:
    """Return the location of a root; of the current folder its whole path."""
    with suppress(OSError):  # it was removed
        return root.location if root.location != "." else os.getcwd()  # noqa: PTH109
    return root.location


def near_root(location: str) -> str:
    """Return a folder with tables in the one that was named, or above it; or empty.

    The current folder and what is in it count as well, and what is beside a folder that is missing.
    """
    path = store_of(location).path_of(location)
    try:
        return "" if path is None else _near(path)
    except OSError:  # the current folder was removed
        return ""


def _near(path: str) -> str:
    above = os.path.dirname(os.path.abspath(path))  # noqa: PTH100, PTH120
    is_folder = os.path.isdir(path)  # noqa: PTH112
    inside, outside = [path, "."] if is_folder else [".", above], []
    for _ in range(3):
        outside.append(above)
        above = os.path.dirname(above)  # noqa: PTH120
    folders = [folder for inside_folder in inside for folder in _folders(inside_folder)]
    near = next((folder for folder in [".", *folders, *outside] if _has_tables(folder)), "")
    return near and os.path.relpath(near)


def _folders(path: str) -> list[str]:
    """List some folders of a folder, sorted, hidden ones aside."""
    try:
        with os.scandir(path) as entries:
            names = [
                entry.name
                for _, entry in zip(range(_MOST_LOOKED_AT), entries, strict=False)
                if entry.is_dir() and not entry.name.startswith(".")
            ]
    except OSError:
        return []
    return [os.path.join(path, name) for name in sorted(names)]  # noqa: PTH118


def _has_tables(folder: str) -> bool:
    """Return whether a folder has `db`, and in that a folder with one that has a table."""
    return any(
        os.path.exists(os.path.join(table, name))  # noqa: PTH110, PTH118
        for database in _folders(os.path.join(folder, "db"))[:20]  # noqa: PTH118
        for table in _folders(database)[:20]
        for name in ("index", "definition.json")
    )
