"""From the names of tables in a query to paths and URLs of packfiles."""

from __future__ import annotations

import os
import re

from sdb.errors import NotFoundError, UsageError
from sdb.lake.names import lake_name
from sdb.packfile.read.resolve import resolve
from sdb.records import replace
from sdb.store.base import child
from sdb.store.url import store_of, under

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.lake.names import LakeName
    from sdb.query.catalog.dataset import TableName

_SUFFIX = ".zion"
_PARTS = 2


def candidates(table: TableName, root: str) -> list[str]:
    """Return the packfiles that a table consists of.

    * ``root``: Folder or URL that relative paths start at; the current folder when empty.

    Raises `NotFoundError` if no file fits a pattern and `UsageError` for a regular expression that
    is malformed.
    """
    if (lake := _lake(table)) is not None:
        return [str(replace(lake, location=os.fspath(under(root, lake.location))))]
    match table.kind:
        case "file":
            return _files_or_folder(table.parts[0], root)
        case "path":
            return _table(table.parts, root)
        case "glob":
            return _files("/".join(table.parts) + _SUFFIX, root)
        case _:
            *folders, expression = table.parts
            return _fitting(_files("/".join([*folders, "*" + _SUFFIX]), root), expression)


def database_and_table(table: TableName, root: str) -> tuple[str, str] | None:
    """Return the names of the database and the table below a root that a name may mean.

    * ``table``: How the query names it: as ``db.table``, or so in quotes.

    Returns: The names; None: it has another form, or is the name of a file. What follows an @ in
    quotes is a version, see :func:`version_in_quotes`.
    """
    parts = table.parts
    if _lake(table) is not None:
        return None
    if table.kind == "path" and len(parts) == _PARTS:
        return parts[0], parts[1]
    if table.kind not in {"path", "file"} or len(parts) != 1 or "/" in parts[0]:
        return None
    database, dot, name = parts[0].partition("@")[0].partition(".")
    location = under(root, parts[0])
    # On S3, where it would take a request to know, packfiles are known by their suffix.
    is_file = parts[0].endswith(_SUFFIX) or store_of(location).has(location)
    return (database, name) if dot and not is_file else None


def _lake(table: TableName) -> LakeName | None:
    """Return the Delta or Iceberg table that a name in quotes stands for; None: no such table."""
    is_one = table.kind in {"path", "file"} and len(table.parts) == 1
    return lake_name(table.parts[0]) if is_one else None


def version_in_quotes(table: TableName) -> str:
    """Return version that the name of a table in quotes has, as in ``'db.t@12'``; empty: none."""
    return table.parts[0].partition("@")[2] if len(table.parts) == 1 else ""


def database_and_pattern(table: TableName) -> tuple[str, str] | None:
    """Return the database and the pattern of its tables that a name may mean; None: no pattern."""
    is_pattern = table.kind in {"glob", "pattern"} and len(table.parts) == _PARTS
    return (table.parts[0], table.parts[1]) if is_pattern else None


def may_be_stored(root: str, database: str, table: str) -> bool:
    """Check whether a table is below a root; True where that would take a request."""
    location = child(root or ".", f"db/{database}/{table}/index")
    return store_of(location).has(location) is not False


def packfiles_in(root: str) -> list[str]:
    """Return the names of the packfiles right in a folder, as queries may write them."""
    folder = root or "."
    names = [entry.location.rpartition("/")[2] for entry in store_of(folder).list(folder)]
    return [name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)]


def _files(path: str, root: str, *, folders: bool = True) -> list[str]:
    return [file.location for file in resolve([path], root=root, folders=folders)]


def _files_or_folder(path: str, root: str) -> list[str]:
    """Find packfiles and other files; of a folder without packfiles all files, as `pack` does."""
    located = os.fspath(under(root, path))
    files = _files(path, root)
    if files == [located] and store_of(located).is_folder(located):
        from sdb.packfile.inputs.arguments import folder_files

        return folder_files(located)
    return files


def _table(parts: tuple[str, ...], root: str) -> list[str]:
    """Find a table by its path: `a.b` is the file a/b.zion, or one of the very name a.b."""
    names = ["/".join(parts) + _SUFFIX, "/".join(parts)]
    if len(parts) > 1:
        names.append(".".join(parts))
    for name in names:
        location = under(root, name)
        if store_of(location).has(location) is not False:
            return _files(name, root, folders=False)
    return _files(names[1] if len(parts) == 1 else names[0], root, folders=False)


def _fitting(paths: list[str], expression: str) -> list[str]:
    try:
        pattern = re.compile(expression)
    except re.error as error:
        raise UsageError(f"{expression!r} is not a regular expression: {error}") from None
    fitting = [path for path in paths if pattern.fullmatch(_stem(path))]
    if not fitting:
        raise NotFoundError(f"no packfile has a name that {expression!r} matches")
    return fitting


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(_SUFFIX)
