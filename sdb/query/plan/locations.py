"""From the names of tables in a query to paths and URLs of packfiles."""

from __future__ import annotations

import glob
import os
import re

from sdb.errors import NotFoundError, UsageError
from sdb.packfile.counted import expand, visible
from sdb.store import url
from sdb.store.local.globbing import matching

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.query.plan.dataset import TableName

_SUFFIX = ".zion"
_PATTERN = re.compile(r"[*?\[]")


def candidates(table: TableName, root: str) -> list[str]:
    """Give the packfiles that a table consists of.

    Parameters
    ----------
    table : TableName
        How the query names it.
    root : str
        Folder or URL that relative paths start at; the current folder when empty.

    Returns
    -------
    list of str
        Paths and URLs, sorted when the name is a pattern.

    Raises
    ------
    NotFoundError
        No file fits a pattern.
    UsageError
        A regular expression that is none.
    """
    match table.kind:
        case "file":
            return _files(table.parts[0], root)
        case "path":
            return _table(table.parts, root)
        case "glob":
            return _matching("/".join(table.parts) + _SUFFIX, root)
        case _:
            *folders, expression = table.parts
            return _fitting(_matching("/".join([*folders, "*" + _SUFFIX]), root), expression)


def _files(path: str, root: str) -> list[str]:
    place = _under(path, root)
    if _PATTERN.search(path) is None or (url.is_local(place) and _exists(place)):
        return _counted(place)
    return _matching(path, root)


def _table(parts: tuple[str, ...], root: str) -> list[str]:
    """Find a table by its path: `a.b` is the file a/b.zion, or one of the very name a.b."""
    names = ["/".join(parts) + _SUFFIX, "/".join(parts)]
    if len(parts) > 1:
        names.append(".".join(parts))
    for name in names:
        if _exists(_under(name, root)):
            return _counted(_under(name, root))
    return _files(names[1] if len(parts) == 1 else names[0], root)


def _fitting(paths: list[str], expression: str) -> list[str]:
    try:
        pattern = re.compile(expression)
    except re.error as error:
        raise UsageError(f"{expression!r} is not a regular expression: {error}") from None
    found = [path for path in paths if pattern.fullmatch(_stem(path))]
    if not found:
        raise NotFoundError(f"no packfile has a name that {expression!r} matches")
    return found


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(_SUFFIX)


def _matching(pattern: str, root: str) -> list[str]:
    place = _under(pattern, glob.escape(root))
    if not url.is_local(place):
        return _counted(place)
    found = visible(matching(url.local_path(place)), url.matcher(place))
    if not found:
        raise NotFoundError(f"no file matches {_under(pattern, root)}", path=pattern)
    return sorted(found)


def _counted(place: str) -> list[str]:
    """Give what a path or URL stands for, without what no job has published."""
    return [os.fspath(path) for path in expand([place])]


def _under(path: str, root: str) -> str:
    return os.fspath(url.under(root, path))


def _exists(place: str) -> bool:
    """Tell whether this is a file; names of remote objects mean what they say."""
    return not url.is_local(place) or os.path.isfile(url.local_path(place))  # noqa: PTH113
