"""Compare names of objects, so that no output takes the place of an input."""

from __future__ import annotations

import os
import stat

from sdb.errors import UsageError, text_of
from sdb.store import url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.store.url import Location


def same(one: Location | int, other: Location | int) -> bool:
    """Tell whether two names stand for one file or object.

    Parameters
    ----------
    one, other : path, URL or int
        Links of both kinds are followed; an integer is an open descriptor. `other` may be a pattern
        or, with a slash at its end, a folder, which stand for all that is in them. Devices and
        pipes are never the same.

    Returns
    -------
    bool
        Whether writing to the one changes what the other one reads.
    """
    if _is_local(one) is not _is_local(other):
        return False
    if not isinstance(other, int) and (pattern := _pattern(other)) is not None:
        store = url.store_of(pattern)
        if store.is_remote and not isinstance(one, int):
            return store.matcher(pattern)(os.fspath(one))
        return any(same(one, entry.location) for entry in store.find(pattern))
    if not isinstance(one, int) and not isinstance(other, int) and not _is_local(one):
        return os.fspath(one) == os.fspath(other)
    first, second = _status(one), _status(other)
    if first is not None and second is not None:
        return stat.S_ISREG(first.st_mode) and os.path.samestat(first, second)
    return first is second is None and _real(one) == _real(other)


def check_apart(
    output: Location, inputs: Iterable[Location | int], *, what: str = "the output"
) -> None:
    """Insist on an output not being one of the inputs.

    Parameters
    ----------
    output : path or URL
        What is about to be written.
    inputs : iterable of path, URL or int
        What is read, see :func:`same`; ``-`` is standard input.
    what : str
        What the output is, for the message.

    Raises
    ------
    UsageError
        It is, by this name or another one.
    """
    for given in inputs:
        if same(output, 0 if given == "-" else given):
            name = text_of(output)
            raise UsageError(
                f"{name} is an input, and {what} would take its place",
                path=name,
                hint="write to another file",
            )


def _is_local(place: Location | int) -> bool:
    return isinstance(place, int) or not url.store_of(place).is_remote


def _pattern(place: Location) -> str | None:
    """Give the pattern of what stands for several objects."""
    text = os.fspath(place)
    if text.endswith("/"):
        import glob

        return glob.escape(text) + "*"
    return text if url.is_pattern(text) else None


def _status(place: Location | int) -> os.stat_result | None:
    try:
        return os.stat(place if isinstance(place, int) else _path(place))  # noqa: PTH116
    except (OSError, ValueError):
        return None


def _path(place: Location) -> str:
    return os.fspath(place).removeprefix("file://")


def _real(place: Location | int) -> str | int:
    return place if isinstance(place, int) else os.path.realpath(_path(place))
