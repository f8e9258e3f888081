"""Places besides the root where patterns of definitions may find inputs, as they are allowed."""

from __future__ import annotations

import os
import re

from sdb.errors import UsageError
from sdb.store.url import absolute, check_scheme, store_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sdb.store.base import Location

VARIABLE = "SDB_ALLOW_INPUTS"
_FILE = "file://"


def allowed_places(given: Location | Iterable[Location] = ()) -> tuple[str, ...]:
    """Return the places besides the root that inputs may be read from.

    They are those of a call or command and those of `VARIABLE`. Whatever else shall allow some, as
    a file with settings of the one who runs it, adds them here.

    Parameters
    ----------
    given : path or str, or iterable of these
        Folders, files or URLs; relative paths start at the current folder.

    Returns
    -------
    tuple of str
        Absolute paths and URLs.

    Raises
    ------
    UsageError
        One is empty, or a URL of no store.
    """
    if isinstance(given, str | os.PathLike):
        given = (given,)
    # A colon separates paths, and is a part of URLs.
    known = re.split(rf"{re.escape(os.pathsep)}(?!//)", os.environ.get(VARIABLE, ""))
    found = []
    for one in (*[os.fspath(one) for one in given], *filter(None, known)):
        place = one.removeprefix(_FILE)
        if not place or "\0" in place:
            raise UsageError(f"{one!r} is no place of inputs", expected="a folder, or s3://bucket")
        check_scheme(place)
        found.append(absolute(place))
    return tuple(found)


def is_below(place: str, bounds: Iterable[str]) -> bool:
    """Return whether a place, behind all symbolic links, is at or below one of others."""
    real = real_place(place)
    above = [one.rstrip("/") for one in bounds]
    return any(real.rstrip("/") == one or real.startswith(f"{one}/") for one in above)


def real_place(place: str) -> str:
    """Return the path behind all symbolic links; URLs of other stores stand for themselves."""
    path = store_of(place).path_of(place)
    return place if path is None or "\0" in path else os.path.realpath(path)
