"""Tables as a transaction sees them: a version, and what the transaction has changed so far."""

from __future__ import annotations

from sdb.packfile.prune.predicate import Anywhere
from sdb.query.exec.storedtable import StoredTable
from sdb.query.plan.tablescan import IndexSteps
from sdb.table.format.keys import own_key
from sdb.table.packfiles.lazy import OpenObjects, TablePackfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from typing import Self

    from sdb.packfile.prune.predicate import Predicate
    from sdb.packfile.read.reader import Packfile
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.format.descriptor import Descriptor
    from sdb.table.format.keys import TableKeys

_ANYWHERE = Anywhere()


class TableView:
    """The packfiles of a version of a table, less some, and others.

    Parameters
    ----------
    root : TableRoot
        The root that the table is below.
    keys : TableKeys
        Its names.
    handle : TableHandle or None
        The version; None: the table is new, and has no packfiles.

    Attributes
    ----------
    removed : set of str
        Keys of packfiles of the version that are gone.
    added : dict
        Descriptors of packfiles that came in, by their keys.
    """

    def __init__(self, root: TableRoot, keys: TableKeys, handle: TableHandle | None) -> None:
        self.root = root
        self.keys = keys
        self.handle = handle
        self.removed: set[str] = set()
        self.added: dict[str, Descriptor] = {}
        self._made = 0

    def mark(self, commit_id: str) -> str:
        """Give what marks the key of the next new packfile, something else each time.

        Packfiles are named by their content, and two that a transaction makes may be alike: each
        has rows of its own.
        """
        self._made += 1
        return f"{commit_id}-{self._made}"

    @classmethod
    def following(cls, handle: TableHandle, view: TableView) -> Self:
        """Give the view of a later version with what was changed in an earlier one."""
        found = cls(view.root, view.keys, handle)
        found.removed |= view.removed
        found.added |= view.added
        found._made = view._made
        return found

    def replace(self, key: str, new: Iterable[Descriptor]) -> None:
        """Let packfiles take the place of another one."""
        if self.added.pop(key, None) is None:
            self.removed.add(own_key(key))
        self.add(new)

    def add(self, new: Iterable[Descriptor]) -> None:
        """Let packfiles come in."""
        self.added |= {one.key: one for one in new}

    def descriptors(self) -> Iterator[Descriptor]:
        """Go over all packfiles."""
        if self.handle is not None:
            there = self.handle.descriptors()
            yield from (one for one in there if own_key(one.key) not in self.removed)
        yield from self.added.values()

    def table(self, only: Collection[str] | None = None) -> ViewedTable:
        """Give what queries read.

        Parameters
        ----------
        only : collection of str, optional
            Keys of the packfiles that are read; all if not given.
        """
        return ViewedTable(self, None if only is None else frozenset(only))


class ViewedTable(StoredTable):
    """A view, of which as little is read as a query needs; a table for queries.

    Parameters
    ----------
    view : TableView
        The view.
    only : frozenset of str or None
        Keys of the packfiles that are read; None: all.
    """

    def __init__(self, view: TableView, only: frozenset[str] | None) -> None:
        if view.handle is not None:
            super().__init__(view.handle)
        else:
            self._objects = OpenObjects()
        self._view = view
        self._removed = frozenset(view.removed)
        self._added = tuple(view.added.values())
        self._only = only
        self._new: list[Packfile] | None = None

    @property
    def name(self) -> str:
        """Its name with that of the database."""
        return f"{self._view.keys.database}.{self._view.keys.table}"

    def packs(self, test: Predicate = _ANYWHERE) -> list[Packfile]:
        """Give the packfiles that can hold rows for which a condition is TRUE."""
        old = [] if self._view.handle is None else super().packs(test)
        if self._new is None:
            self._new = [
                TablePackfile(self._view.root, one.checked(), self._objects)
                for one in self._added
                if self._only is None or one.key in self._only
            ]
        return [*(one for one in old if self._is_read(key_of(one))), *self._new]

    def _is_read(self, key: str) -> bool:
        return own_key(key) not in self._removed and (self._only is None or key in self._only)

    @property
    def is_whole(self) -> bool:
        """True if all packfiles were looked at."""
        return self._view.handle is None or super().is_whole

    def steps(self, test: Predicate) -> IndexSteps:
        """Tell what the index and its lists rule out by times."""
        count = len(self.packs(test))
        return IndexSteps(0, 0, count, count)


def key_of(pack: Packfile) -> str:
    """Give the key of a packfile of a table."""
    return _of_table(pack).key


def told_of(pack: Packfile) -> Descriptor:
    """Give what the index says of a packfile of a table."""
    return _of_table(pack).told


def _of_table(pack: Packfile) -> TablePackfile:
    if not isinstance(pack, TablePackfile):
        raise TypeError(pack.path)
    return pack
