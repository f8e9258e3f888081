"""Tables as a transaction sees them: a version, and what the transaction has changed so far."""

from __future__ import annotations

from sdb.packfile.prune.predicate import Anywhere
from sdb.query.catalog.storedtable import TableSource
from sdb.query.catalog.tablescan import IndexSteps
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
    from sdb.table.schema.columns import TableSchema

_ANYWHERE = Anywhere()


class TransactionOverlay:
    """The packfiles of a version of a table, less some, and others.

    * ``handle``: The version; None: the table is new, and has no packfiles.
    * ``removed``: Keys of packfiles of the version that are gone.
    * ``added``: Descriptors of packfiles that came in, by their keys.
    * ``is_raw``: Whether conditions name the fields of rows as they are stored, and no columns.
    """

    def __init__(
        self,
        root: TableRoot,
        keys: TableKeys,
        handle: TableHandle | None,
        *,
        is_raw: bool = False,
    ) -> None:
        self.is_raw = is_raw
        self.root = root
        self.keys = keys
        self.handle = handle
        self.removed: set[str] = set()
        self.added: dict[str, Descriptor] = {}
        # Whether all packfiles that were rewritten say which rows their rows were
        self.are_rows_traced = True
        self._made = 0

    @property
    def schema(self) -> TableSchema | None:
        """The schema of the version; None: it has none, or the table is new."""
        return None if self.handle is None or self.handle.is_dropped else self.handle.schema

    def mark(self, commit_id: str) -> str:
        """Return what marks the key of the next new packfile, something else each time.

        Packfiles are named by their content, and two that a transaction makes may be alike: each
        has rows of its own.
        """
        self._made += 1
        return f"{commit_id}-{self._made}"

    @classmethod
    def following(cls, handle: TableHandle, view: TransactionOverlay) -> Self:
        """Return the view of a later version with what was changed in an earlier one."""
        overlay = cls(view.root, view.keys, handle, is_raw=view.is_raw)
        overlay.removed |= view.removed
        overlay.added |= view.added
        overlay.are_rows_traced = view.are_rows_traced
        overlay._made = view._made
        return overlay

    def replace(self, key: str, new: Iterable[Descriptor]) -> None:
        """Replace a packfile by others."""
        if self.added.pop(key, None) is None:
            self.removed.add(own_key(key))
        self.add(new)

    def add(self, new: Iterable[Descriptor]) -> None:
        """Add packfiles."""
        self.added |= {descriptor.key: descriptor for descriptor in new}

    def descriptors(self) -> Iterator[Descriptor]:
        """Iterate over all packfiles."""
        if self.handle is not None:
            there = self.handle.descriptors()
            yield from (
                descriptor for descriptor in there if own_key(descriptor.key) not in self.removed
            )
        yield from self.added.values()

    def table(self, only: Collection[str] | None = None) -> OverlaySource:
        """Return what queries read.

        * ``only``: Keys of the packfiles that are read; all if not given.
        """
        return OverlaySource(self, None if only is None else frozenset(only))


class OverlaySource(TableSource):
    """A view, of which as little is read as a query needs; a table for queries.

    * ``only``: Keys of the packfiles that are read; None: all.
    """

    def __init__(self, view: TransactionOverlay, only: frozenset[str] | None) -> None:
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
        return self._view.keys.name

    @property
    def schema(self) -> TableSchema | None:
        """The schema of its rows."""
        return None if self._view.handle is None or self._view.is_raw else super().schema

    def packs(self, test: Predicate = _ANYWHERE) -> list[Packfile]:
        """Return the packfiles that can hold rows for which a condition is TRUE."""
        old = [] if self._view.handle is None else super().packs(test)
        if self._new is None:
            self._new = [
                TablePackfile(self._view.root, descriptor.checked(), self._objects)
                for descriptor in self._added
                if self._only is None or descriptor.key in self._only
            ]
        return [
            *(descriptor for descriptor in old if self._is_read(key_of(descriptor))),
            *self._new,
        ]

    def _is_read(self, key: str) -> bool:
        return own_key(key) not in self._removed and (self._only is None or key in self._only)

    @property
    def is_whole(self) -> bool:
        """True if all packfiles were looked at."""
        return self._view.handle is None or super().is_whole

    def steps(self, test: Predicate) -> IndexSteps:
        """Report what the index and its lists rule out by times."""
        count = len(self.packs(test))
        return IndexSteps(0, 0, count, count)


def key_of(pack: Packfile) -> str:
    """Return the key of a packfile of a table."""
    return _of_table(pack).key


def told_of(pack: Packfile) -> Descriptor:
    """Return what the index says of a packfile of a table."""
    return _of_table(pack).descriptor


def _of_table(pack: Packfile) -> TablePackfile:
    if not isinstance(pack, TablePackfile):
        raise TypeError(pack.path)
    return pack
