"""Places of inputs: below the root of the tables, and where the user of a command allows.

A definition is an object of the root, which other programs may have written. What its patterns
find is read with the rights of the user who runs a sync, so that a pattern alone must not reach
any further.
"""

from __future__ import annotations

import os

from sdb.errors import AccessError
from sdb.store.url import store_of
from sdb.table.catalog.root import VARIABLE, is_below, real_place
from sdb.table.format import keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.table.catalog.root import TableRoot

_FILE = "file://"
_UP = "../"
_HOW = f"--allow-inputs (or {VARIABLE}) allows a place"
_DOTS = frozenset({".", ".."})


class OutsideError(AccessError):
    """A pattern or an input that leads out of the root, to a place that is not allowed."""


class InputBounds:
    """The places that the inputs of a root may be in."""

    def __init__(self, root: TableRoot) -> None:
        self._root = root
        self._bounds = [real_place(location) for location in (root.location, *root.allowed_inputs)]

    def has(self, location: str) -> bool:
        """Return whether a place is within the bounds, behind all symbolic links."""
        if "\0" in location:
            return False
        if store_of(location).path_of(location) is None and not _DOTS.isdisjoint(
            location.split("/")
        ):
            return False  # which some servers resolve
        return is_below(location, self._bounds)

    def check(self, pattern: str, location: str) -> None:
        """Check that a pattern may find inputs at a place.

        Raises `OutsideError` if it leads out of the root, and the place is not allowed.
        """
        if not self.has(location):
            raise self.refusal(f"the pattern {pattern!r}", location)

    def refusal(self, what: str, location: str) -> OutsideError:
        """Return the error for what finds an input at a place outside."""
        where = f"the root {self._root.location}, to {real_place(location)}"
        return OutsideError(f"{what} leads out of {where}; {_HOW}", path=location)

    def check_file(self, pattern: str, location: str) -> None:
        """Check a file of a folder that was checked: only a symbolic link can lead out of that."""
        path = store_of(location).path_of(location)
        if path is not None and os.path.islink(path):  # noqa: PTH114 - a string
            self.check(pattern, location)


def place_of_input(root: TableRoot, uri: str) -> str:
    """Return where to read an input, by its URI; empty where there cannot be one."""
    if not uri.startswith(_FILE):
        return uri
    key = uri.removeprefix(_FILE)
    rest = key
    while rest.startswith(_UP):  # which may be allowed
        rest = rest.removeprefix(_UP)
    return "" if keys.flaw_of_key(rest) else root.place(key)
