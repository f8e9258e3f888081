"""Packfiles of a data source: which they are, and which version of each."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from sdb.packfile.read.reader import open_packfile
from sdb.packfile.read.resolve import resolve
from sdb.store.base import child
from sdb.store.url import store_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sdb.packfile.read.reader import Packfile

_OPENERS = 16


def listed(paths: Iterable[str]) -> list[str]:
    """Return the packfiles that paths, folders and patterns stand for.

    * ``paths``: Paths and URLs: of packfiles, patterns, and folders, which end in ``/`` on S3.

    Raises
    ------
    NotFoundError
        A pattern or folder without any packfile.
    """
    # The path of a folder stands for what is in it, and is no mistake even where that is nothing.
    named = [child(path, "") if store_of(path).is_folder(path) else path for path in paths]
    return list(dict.fromkeys(reference.location for reference in resolve(named)))


def looked_at(paths: Sequence[str]) -> list[Packfile]:
    """Read the trailers of packfiles, several at a time.

    Returns: The files, which are closed: a folder may have more than a process can open.

    Raises
    ------
    NotFoundError, AccessError, CorruptError
        The first that cannot be opened.
    """
    with ThreadPoolExecutor(max(1, min(_OPENERS, len(paths)))) as pool:
        return list(pool.map(_looked_at, paths))


def _looked_at(path: str) -> Packfile:
    with open_packfile(path) as pack:
        return pack
