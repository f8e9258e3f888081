"""Objects that a table may lead to: its own, and packfiles that another table keeps for it.

An index says by keys what it consists of. One that names packfiles of another table would be read,
compacted and pushed with their rows, so that the other table must say that it keeps them for it.
"""

from __future__ import annotations

from sdb.errors import CorruptError
from sdb.table.format.keys import TableKeys, folder_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from sdb.table.catalog.root import TableRoot

_HOLD = "fork-"
_MARK_LETTERS = 8
_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
_MOST_KNOWN = 1024


def hold_prefix(keys: TableKeys) -> str:
    """Return what the name of a branch begins with that keeps packfiles for a table."""
    return f"{_HOLD}{keys.database}.{keys.table}-"


def is_hold_name(branch: str, keys: TableKeys) -> bool:
    """Return whether a branch has the name of one that keeps packfiles for a table."""
    mark = branch.removeprefix(hold_prefix(keys))
    return mark != branch and len(mark) == _MARK_LETTERS and _LETTERS.issuperset(mark)


class OwnObjects:
    """The objects that a table may lead to.

    * ``shares``: For each table that it shares packfiles with, the branch that keeps them.
    """

    def __init__(self, root: TableRoot, keys: TableKeys, shares: Mapping[str, str]) -> None:
        self._root = root
        self._keys = keys
        self._shares = shares
        self._above = f"{keys.folder}/"

    def check(self, key: str) -> None:
        """Check that an object is one of them.

        Raises
        ------
        CorruptError
            It is of another table, which does not keep it for this one.
        """
        if key.startswith(self._above) or self._is_shared(key):
            return
        name = f"{self._keys.database}.{self._keys.table}"
        raise CorruptError(
            f"{name} leads to {key}, which is of another table that keeps nothing for it",
            path=key,
            hint=f"sdb log {name} tells who has written it",
        )

    def _is_shared(self, key: str) -> bool:
        folder = folder_of(key)
        for table, branch in self._shares.items():
            holder = TableKeys(*table.split(".", 1))
            if holder.folder == folder and is_hold_name(branch, self._keys):
                return _is_kept(self._root, holder, branch)
        return False


def _is_kept(root: TableRoot, holder: TableKeys, branch: str) -> bool:
    """Return whether a table has a branch; where there is no such table nothing can be read."""
    key = holder.branch(branch)
    known = (root.location, key)
    if known in _KNOWN:
        return True
    if not root.has(key):
        return not root.has(holder.index)
    if len(_KNOWN) >= _MOST_KNOWN:
        _KNOWN.clear()
    _KNOWN.add(known)
    return True


_KNOWN: set[tuple[str, str]] = set()
"""Branches that were seen: over a network each look is a request."""
