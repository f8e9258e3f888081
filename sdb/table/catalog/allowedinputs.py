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


def allowed_places(locations: Location | Iterable[Location] = ()) -> tuple[str, ...]:
    """Return the places besides the root that inputs may be read from.

    They are those of a call or command and those of `VARIABLE`. Whatever else shall allow some, as
    a file with settings of the one who runs it, adds them here.

    * ``locations``: Folders, files or URLs; relative paths start at the current folder.

    Raises
    ------
    UsageError
        One is empty, or a URL of no store.
    """
    if isinstance(locations, str | os.PathLike):
        locations = (locations,)
    # A colon separates paths, and is a part of URLs.
    known = re.split(rf"{re.escape(os.pathsep)}(?!//)", os.environ.get(VARIABLE, ""))
    allowed = []
    for location in (*[os.fspath(location) for location in locations], *filter(None, known)):
        path = location.removeprefix(_FILE)
        if not path or "\0" in path:
            raise UsageError(
                f"{location!r} is no place of inputs", expected="a folder, or s3://bucket"
            )
        check_scheme(path)
        allowed.append(absolute(path))
    return tuple(allowed)


def is_below(location: str, bounds: Iterable[str]) -> bool:
    """Return whether a place, behind all symbolic links, is at or below one of others."""
    real = real_place(location)
    above = [bound.rstrip("/") for bound in bounds]
    return any(real.rstrip("/") == bound or real.startswith(f"{bound}/") for bound in above)


def real_place(location: str) -> str:
    """Return the path behind all symbolic links; URLs of other stores stand for themselves."""
    path = store_of(location).path_of(location)
    return location if path is None or "\0" in path else os.path.realpath(path)
