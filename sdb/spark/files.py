"""Packfiles of a data source: which they are, and which version of each."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor

from sdb.errors import NotFoundError
from sdb.packfile import counted, manifest
from sdb.packfile.reader import open_packfile
from sdb.store import url
from sdb.store.local.globbing import matching

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sdb.packfile.reader import Packfile
    from sdb.store.url import Reader

_OPENERS = 16
_PATTERN = re.compile(r"[*?\[]")


def listed(paths: Iterable[str]) -> list[str]:
    """Give the packfiles that paths, folders and patterns stand for.

    Parameters
    ----------
    paths : iterable of str
        Paths and URLs: of packfiles, patterns, and folders, which end in ``/`` on S3.

    Returns
    -------
    list of str
        Paths and URLs of packfiles, each one once.

    Raises
    ------
    NotFoundError
        A pattern or folder without any packfile.
    """
    found: dict[str, None] = {}
    for path in paths:
        found.update(dict.fromkeys(_listed(path)))
    return list(found)


def _listed(path: str) -> Sequence[str]:
    if is_folder(path):
        names = manifest.listed(path)
        if not names:
            raise NotFoundError(f"no packfiles in {path}", path=path)
        return names
    if _PATTERN.search(path) is None or (url.is_local(path) and os.path.isfile(path)):  # noqa: PTH113
        return [path]
    if not url.is_local(path):
        return [os.fspath(found) for found in counted.expand([path])]
    names = sorted(counted.visible(matching(path), url.matcher(path)))
    if not names:
        raise NotFoundError(f"no packfile matches {path}", path=path)
    return names


def is_folder(path: str) -> bool:
    """Tell whether a path stands for all packfiles in a folder."""
    return path.endswith("/") or (url.is_local(path) and os.path.isdir(path))  # noqa: PTH112


def version_of(reader: Reader) -> str:
    """Give what tells one version of an object from another: its ETag, if it has one.

    Local files have none: their size, place and time of writing take its part.
    """
    if reader.etag:
        return reader.etag
    status = getattr(reader, "status", None) or os.stat(reader.path)  # noqa: PTH116
    return f"{status.st_size}-{status.st_ino}-{status.st_mtime_ns}"


def looked_at(paths: Sequence[str]) -> list[Packfile]:
    """Read the trailers of packfiles, several at a time.

    Parameters
    ----------
    paths : sequence of str
        Paths and URLs.

    Returns
    -------
    list of Packfile
        The files, which are closed: a folder may have more than a process can open.

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
