"""Many small inputs of a query: runs of them are packed, and kept, as one packfile.

A packfile for each would take longer than its rows. What is in a run is known by its contents.
"""

from __future__ import annotations

import os
import stat

from sdb.errors import from_os
from sdb.records import record
from sdb.store.url import store_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SMALL_BYTES = 64 << 10
_SUFFIX = ".zion"
_LEAST_FILES = 17
# So that one file that has changed does not have all of them packed again.
_MOST_FILES = 1000


@record
class Contents:
    """The marks of the inputs of a run, equal while they are the same."""

    digest: bytes  # of their names and contents
    size_bytes: int


def runs_of(paths: list[str], *, apart: bool) -> list[tuple[str, ...]]:
    """Cut inputs into runs, each of which becomes one packfile; most are of a single input.

    * ``apart``: Whether each input is to be a packfile, since the query asks for names of files.
    """
    if apart or len(paths) < _LEAST_FILES:
        return [(path,) for path in paths]
    runs: list[tuple[str, ...]] = []
    small: list[str] = []
    for path in paths:
        if _is_small(path):
            small.append(path)
        else:
            runs += [*_cut(small), (path,)]
            small = []
    return [*runs, *_cut(small)]


def _cut(paths: list[str]) -> Iterator[tuple[str, ...]]:
    if len(paths) < _LEAST_FILES:
        yield from ((path,) for path in paths)
        return
    for first in range(0, len(paths), _MOST_FILES):
        yield tuple(paths[first : first + _MOST_FILES])


def _is_small(location: str) -> bool:
    path = None if location.endswith(_SUFFIX) else store_of(location).path_of(location)
    if path is None:
        return False
    try:
        status = os.stat(path)  # noqa: PTH116 - a plain string
    except OSError:  # the error is for who opens it
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size <= SMALL_BYTES


def contents(run: Iterable[str]) -> Contents:
    """Read the inputs of a run, and return what tells them from others.

    Raises `SdbError` if one cannot be read.
    """
    import hashlib

    digest, size = hashlib.sha256(), 0
    for location in run:
        content = _content(location)
        digest.update(f"{len(os.fsencode(location))},{len(content)}:".encode())
        digest.update(os.fsencode(location))
        digest.update(content)
        size += len(content)
    return Contents(digest.digest(), size)


def _content(location: str) -> bytes:
    path = store_of(location).path_of(location)
    try:
        with open(path or location, "rb") as file:  # noqa: PTH123
            return file.read()
    except OSError as error:
        raise from_os(error, "reading", location) from error


def name_of(run: tuple[str, ...]) -> str:
    """Return what a run is called in messages.

    >>> name_of(("in/1.json", "in/2.json", "in/3.json"))
    'in/1.json and 2 more'
    """
    return f"{run[0]} and {len(run) - 1} more"
