"""Packfiles of a data source: which they are, and which version of each."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from sdb.packfile.read.reader import open_packfile
from sdb.packfile.read.resolve import resolve
from sdb.store.base import child
from sdb.store.url import store_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sdb.errors import SdbError
    from sdb.packfile.read.reader import Packfile
    from sdb.spark.options.files import FileChoice

_OPENERS = 16
_BELOW = "**/*.zion"
_log = logging.getLogger("sdb.spark")


def listed(paths: Iterable[str], files: FileChoice) -> list[str]:
    """Return the packfiles that paths, folders and patterns stand for.

    * ``paths``: Paths and URLs: of packfiles, patterns, and folders, which end in ``/`` on S3.
    * ``files``: Which of them count.

    Raises `NotFoundError` for a pattern or folder without any packfile.
    """
    # The path of a folder stands for what is in it, and is no mistake even where that is nothing.
    inside = _BELOW if files.is_deep else ""
    named = [child(path, inside) if store_of(path).is_folder(path) else path for path in paths]
    return files.chosen(dict.fromkeys(reference.location for reference in resolve(named)))


def looked_at(paths: Sequence[str], left_out: tuple[type[SdbError], ...] = ()) -> list[Packfile]:
    """Read the trailers of packfiles, several at a time.

    * ``left_out``: Errors for which a packfile is left out, and logged.

    Returns: The files, which are closed: a folder may have more than a process can open.
    Raises `NotFoundError`, `AccessError` or `CorruptError` for the first that cannot be opened.
    """
    with ThreadPoolExecutor(max(1, min(_OPENERS, len(paths)))) as pool:
        packs = pool.map(partial(_looked_at, left_out=left_out), paths)
        return [pack for pack in packs if pack is not None]


def _looked_at(path: str, left_out: tuple[type[SdbError], ...]) -> Packfile | None:
    try:
        with open_packfile(path) as pack:
            return pack
    except left_out as error:
        _log.warning("left out, as ignoreMissingFiles and ignoreCorruptFiles say: %s", error)
        return None
