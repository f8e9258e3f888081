"""Compare names of objects, so that no output takes the place of an input."""

from __future__ import annotations

import os
import stat

from sdb import notes
from sdb.errors import UsageError, text_of
from sdb.store import url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.store.url import Location


def same(output: Location | int, other: Location | int) -> bool:
    """Return whether two names stand for one file or object.

    * ``output, other``: Links of both kinds are followed; an integer is an open descriptor. `other`
      may be a pattern or, with a slash at its end, a folder, which stand for all that is in them.
      Devices and pipes are never the same.

    Returns: Whether writing to the output changes what the other one reads.
    """
    return _are_same(output, _status(output) if _is_local(output) else None, other)


def _are_same(output: Location | int, status: os.stat_result | None, other: Location | int) -> bool:
    """Return whether two names stand for one; `status` is that of a local output, if it exists."""
    is_local = _is_local(output)
    if is_local is not _is_local(other):
        return False
    if not isinstance(other, int) and (pattern := _pattern(other)) is not None:
        store = url.store_of(pattern)
        if store.is_remote and not isinstance(output, int):
            return store.matcher(pattern)(os.fspath(output))
        return any(_are_same(output, status, entry.location) for entry in store.find(pattern))
    if not isinstance(output, int) and not isinstance(other, int) and not is_local:
        return os.fspath(output) == os.fspath(other)
    second = _status(other)
    if status is not None and second is not None:
        return stat.S_ISREG(status.st_mode) and os.path.samestat(status, second)
    return status is second is None and _real(output) == _real(other)


def check_apart(
    output: Location, inputs: Iterable[Location | int], *, what: str = "the output"
) -> None:
    """Check that an output is not one of the inputs.

    * ``inputs``: What is read, see :func:`same`; ``-`` is standard input.

    Raises `UsageError` if it is, by this name or another one.
    """
    status = _status(output) if _is_local(output) else None
    for source in inputs:
        if _are_same(output, status, 0 if source == "-" else source):
            name = text_of(output)
            raise UsageError(
                f"{name} is an input, and {what} would take its place",
                path=name,
                hint="write to another file",
            )


def warn_repeated(sources: Iterable[Location]) -> None:
    """Warn of sources that stand for a file or object that one before stands for.

    * ``sources``: Paths and URLs, without patterns. Devices and pipes are never the same.
    """
    seen: set[object] = set()
    repeated: dict[str, None] = {}
    for source in sources:
        status = _status(source) if _is_local(source) else None
        if status is not None and not stat.S_ISREG(status.st_mode):
            continue
        mark = os.fspath(source) if status is None else (status.st_dev, status.st_ino)
        if mark in seen:
            repeated[text_of(source)] = None
        seen.add(mark)
    if repeated:
        first, *others = repeated
        also = f", and so {'is 1 other' if len(others) == 1 else f'are {len(others):,} others'}"
        also = also if others else ""
        notes.warn(f"{first} is given more than once{also}: its rows come in as often")


def _is_local(location: Location | int) -> bool:
    return isinstance(location, int) or not url.store_of(location).is_remote


def _pattern(location: Location) -> str | None:
    """Return the pattern of what stands for several objects."""
    text = os.fspath(location)
    if text.endswith("/"):
        import glob

        return glob.escape(text) + "*"
    return text if url.is_pattern(text) else None


def _status(location: Location | int) -> os.stat_result | None:
    try:
        return os.stat(location if isinstance(location, int) else _path(location))  # noqa: PTH116
    except (OSError, ValueError):
        return None


def _path(location: Location) -> str:
    return os.fspath(location).removeprefix("file://")


def _real(location: Location | int) -> str | int:
    return location if isinstance(location, int) else os.path.realpath(_path(location))
